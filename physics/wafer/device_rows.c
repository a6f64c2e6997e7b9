// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/device_rows.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/wafer/response/device_rows_kernels.h"
#include "physics/wafer/response/factor_solve.h"

#include <math.h>

static const bb_kernel gather_kernel = {.name = "device_rows_gather",
                                        .grain = 1,
                                        .run[BB_DEVICE_CUDA] =
                                            BB_CUDA_TWIN(bb_device_rows_gather_cuda)};
static const bb_kernel radial_kernel = {.name = "device_rows_radial",
                                        .grain = 1,
                                        .run[BB_DEVICE_CUDA] =
                                            BB_CUDA_TWIN(bb_device_rows_radial_cuda)};

enum {
    MOST_OF_PANEL = 544, // right-hand sides solved at once
    NEIGHBOURS = 9,      // neighbours of a node, including itself
};

// A sparse matrix on the device.
typedef struct sparse {
    bb_index rows;
    void *start, *column, *value;
} sparse;

// Positions of the nodes' unknowns in the factor, and which of them have a load.
typedef struct load_layout {
    const bb_disc_mesh *mesh;
    const int64_t *place;
    const double *load; // [4 unknowns][4] for the element
    int unknowns;       // per node
    int first, count;   // unknowns of a node that have a load
} load_layout;

struct bb_device_rows {
    bb_device *device;
    const bb_wafer_problem *problem;
    bb_factor_solve *solve; // NULL: rows from the closed-form kernel only
    load_layout layout;
    sparse load, moment;     // G', by node; `moment` of two modes
    sparse restriction;      // nodes to cells
    void *solution;          // [unknowns][panel]
    void *nodal, *moments;   // [nodes][panel]
    void *area;              // [cells]
    void *membrane, *height; // terms of the closed-form kernel's tables, near and far
    void *near_membrane, *near_height;
};

const char *bb_device_rows_absent(const bb_wafer_problem *problem)
{
    if (problem->plate == NULL && problem->membrane == NULL && problem->response == NULL) {
        return "rows from a file are read on the host";
    }
    if (problem->membrane != NULL && bb_membrane_is_soft(problem->membrane)) {
        return "rigid motions of a wafer on soft springs are removed from the rows on the host";
    }
    return NULL;
}

bool bb_device_rows_planned(const bb_wafer_config *config)
{
    return config->response->generator != (int)BB_GENERATOR_FILE &&
           (config->response->generator != (int)BB_GENERATOR_FEM ||
            !bb_membrane_would_be_soft(config->wafer, config->clamp));
}

static bb_status upload_sparse(bb_device *device, const bb_csr *matrix, sparse *out)
{
    bb_status status = BB_OK;
    const size_t count = (size_t)matrix->row_start[matrix->rows];
    out->rows = matrix->rows;
    BB_TRY(bb_device_allocate_copy(device, matrix->row_start,
                                   (size_t)(matrix->rows + 1) * sizeof *matrix->row_start,
                                   &out->start));
    BB_TRY(bb_device_allocate_copy(device, matrix->column, count * sizeof *matrix->column,
                                   &out->column));
    BB_TRY(
        bb_device_allocate_copy(device, matrix->value, count * sizeof *matrix->value, &out->value));
    BB_TRY(bb_device_wait(device));
done:
    return status;
}

static void release_sparse(bb_device *device, sparse *matrix)
{
    bb_device_release(device, &matrix->start);
    bb_device_release(device, &matrix->column);
    bb_device_release(device, &matrix->value);
}

typedef struct load_task {
    const load_layout *layout;
    bb_csr *out;
} load_task;

// Computes a node's row of G': forces of its temperature on the unknowns at its cells' corners.
static bb_status fill_load(void *context, bb_index begin, bb_index end)
{
    static const int corner[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    const load_task *task = context;
    const load_layout *layout = task->layout;
    const bb_disc_mesh *mesh = layout->mesh;
    const bb_index width = NEIGHBOURS * layout->count;
    for (bb_index node = begin; node < end; ++node) {
        double *values = task->out->value + node * width;
        int32_t *columns = task->out->column + node * width;
        for (bb_index i = 0; i < width; ++i) {
            values[i] = 0.0;
            columns[i] = 0;
        }
        for (int l = 0; l < 4; ++l) {
            const bb_index cell = bb_disc_mesh_cell_at(mesh, mesh->node_column[node] - corner[l][0],
                                                       mesh->node_row[node] - corner[l][1]);
            for (int k = 0; k < 4 && cell >= 0; ++k) {
                const int32_t other = mesh->cell_nodes[4 * cell + k];
                const int place =
                    3 * (corner[k][1] - corner[l][1] + 1) + corner[k][0] - corner[l][0] + 1;
                for (int c = 0; c < layout->count; ++c) {
                    const int unknown = layout->first + c;
                    columns[place * layout->count + c] =
                        (int32_t)layout->place[layout->unknowns * (bb_index)other + unknown];
                    values[place * layout->count + c] +=
                        layout->load[4 * (layout->unknowns * k + unknown) + l];
                }
            }
        }
    }
    return BB_OK;
}

static bb_status upload_load(bb_device *device, const load_layout *layout, sparse *out)
{
    bb_status status = BB_OK;
    const bb_index nodes = layout->mesh->node_count;
    const bb_index width = NEIGHBOURS * layout->count;
    bb_csr matrix = {.rows = nodes};
    BB_TRY(BB_ALLOCATE(nodes + 1, &matrix.row_start));
    BB_TRY(BB_ALLOCATE(nodes * width, &matrix.column));
    BB_TRY(BB_ALLOCATE(nodes * width, &matrix.value));
    for (bb_index i = 0; i <= nodes; ++i) {
        matrix.row_start[i] = i * width;
    }
    load_task task = {layout, &matrix};
    BB_TRY(bb_thread_ranges(nodes, 1024, fill_load, &task));
    BB_TRY(upload_sparse(device, &matrix, out));
done:
    bb_csr_release(&matrix);
    return status;
}

// Computes A_j W_ji / m_i: rows by cell from rows by node.
static bb_status upload_restriction(const bb_wafer_problem *problem, bb_device *device, sparse *out)
{
    bb_status status = BB_OK;
    const bb_temperature_grid *grid = problem->grid;
    const bb_csr *restriction = &grid->restriction;
    bb_csr scaled = *restriction;
    scaled.value = NULL;
    BB_TRY(BB_ALLOCATE(restriction->row_start[restriction->rows], &scaled.value));
    for (bb_index j = 0; j < restriction->rows; ++j) {
        for (bb_index i = restriction->row_start[j]; i < restriction->row_start[j + 1]; ++i) {
            scaled.value[i] = grid->area[j] * (restriction->value[i] /
                                               problem->mesh->node_area[restriction->column[i]]);
        }
    }
    BB_TRY(upload_sparse(device, &scaled, out));
done:
    BB_RELEASE(&scaled.value);
    return status;
}

static bb_index panel_width(bb_index points)
{
    const bb_index panels = (points + MOST_OF_PANEL - 1) / MOST_OF_PANEL;
    return (points + panels - 1) / panels;
}

static bb_status create_solver(bb_device_rows *rows)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = rows->problem;
    const bb_coupled_plate *plate = problem->plate;
    const bb_plate_factor *factor =
        plate != NULL ? plate->factor : bb_membrane_factor(problem->membrane);
    const size_t row_bytes = (size_t)panel_width(problem->slit.field_points) * sizeof(double);
    const size_t nodes = (size_t)problem->mesh->node_count;
    rows->layout = (load_layout){
        .mesh = problem->mesh,
        .place = bb_plate_factor_places(factor),
        .load = plate != NULL ? &plate->element.load[0][0]
                              : &bb_membrane_element_of(problem->membrane)->load[0][0],
        .unknowns = plate != NULL ? BB_PLATE_UNKNOWNS : 2,
        .count = 2,
    };
    BB_TRY(bb_factor_solve_create(rows->device, bb_plate_factor_supernodes(factor), &rows->solve));
    BB_TRY(upload_load(rows->device, &rows->layout, &rows->load));
    BB_TRY(upload_restriction(problem, rows->device, &rows->restriction));
    BB_TRY(bb_device_allocate(rows->device, (size_t)rows->layout.unknowns * nodes * row_bytes,
                              &rows->solution));
    BB_TRY(bb_device_allocate(rows->device, nodes * row_bytes, &rows->nodal));
    if (problem->input_blocks > 1 && plate != NULL) {
        load_layout bending = rows->layout;
        bending.load = &plate->element.moment[0][0];
        bending.first = 2;
        bending.count = BB_PLATE_UNKNOWNS - 2;
        BB_TRY(upload_load(rows->device, &bending, &rows->moment));
        BB_TRY(bb_device_allocate(rows->device, nodes * row_bytes, &rows->moments));
    }
done:
    return status;
}

static bb_status upload_table(bb_device *device, const bb_radial_table *table, void **out)
{
    return bb_device_allocate_copy(
        device, table->terms, (size_t)(BB_RADIAL_TERMS * table->intervals) * sizeof *table->terms,
        out);
}

static bb_status create_kernel(bb_device_rows *rows)
{
    bb_status status = BB_OK;
    const bb_response *response = rows->problem->response;
    const bb_temperature_grid *grid = rows->problem->grid;
    BB_TRY(bb_device_allocate_copy(rows->device, grid->area,
                                   (size_t)grid->cell_count * sizeof *grid->area, &rows->area));
    BB_TRY(upload_table(rows->device, &response->membrane.integrand.far, &rows->membrane));
    BB_TRY(upload_table(rows->device, &response->membrane.integrand.smooth, &rows->near_membrane));
    BB_TRY(upload_table(rows->device, &response->height.integrand.far, &rows->height));
    BB_TRY(upload_table(rows->device, &response->height.integrand.smooth, &rows->near_height));
    BB_TRY(bb_device_wait(rows->device));
done:
    return status;
}

bb_status bb_device_rows_create(const bb_wafer_problem *problem, bb_device *device,
                                bb_device_rows **out)
{
    bb_status status = BB_OK;
    bb_device_rows *rows = NULL;
    const char *absent = bb_device_rows_absent(problem);
    *out = NULL;
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "response rows on a GPU: %s", absent);
    BB_REQUIRE(bb_device_kind_of(device) == BB_DEVICE_CUDA, BB_UNSUPPORTED,
               "response rows on device %s, expected cuda",
               bb_device_names[bb_device_kind_of(device)]);
    BB_TRY(BB_ZEROED(1, &rows));
    rows->device = device;
    rows->problem = problem;
    if (problem->plate != NULL || problem->membrane != NULL) {
        BB_TRY(create_solver(rows));
    }
    if (problem->response != NULL) {
        BB_TRY(create_kernel(rows));
    }
    *out = rows;
    rows = NULL;
done:
    bb_device_rows_destroy(&rows);
    return status;
}

bb_need bb_device_rows_need(const bb_wafer_config *config, double nodes, double points)
{
    const bool plate = config->response->generator == (int)BB_GENERATOR_PLATE;
    const double unknowns = (plate ? BB_PLATE_UNKNOWNS : 2.0) * nodes;
    const double values =
        (plate ? bb_coupled_plate_resident(nodes) : bb_membrane_resident(nodes)).host_bytes /
        sizeof(double);
    const double width = (double)panel_width((bb_index)points);
    const double gathered = nodes * width * sizeof(double);
    if (config->response->generator == (int)BB_GENERATOR_KERNEL) {
        return (bb_need){0};
    }
    bb_need need = bb_factor_solve_need(values, unknowns, width);
    need.device_bytes += (plate ? 2.0 : 1.0) * gathered;
    return need;
}

void bb_device_rows_destroy(bb_device_rows **rows)
{
    bb_device_rows *device_rows = *rows;
    if (device_rows != NULL) {
        void **const blocks[] = {&device_rows->solution,      &device_rows->nodal,
                                 &device_rows->moments,       &device_rows->area,
                                 &device_rows->membrane,      &device_rows->height,
                                 &device_rows->near_membrane, &device_rows->near_height};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
            bb_device_release(device_rows->device, blocks[i]);
        }
        release_sparse(device_rows->device, &device_rows->load);
        release_sparse(device_rows->device, &device_rows->moment);
        release_sparse(device_rows->device, &device_rows->restriction);
        bb_factor_solve_destroy(&device_rows->solve);
        BB_RELEASE(rows);
    }
}

// Slit points of a field, from `first` on.
typedef struct points {
    const bb_slit_grid *slit;
    const bb_field *field;
    bb_index first, count;
    int axis;
} points;

static double point_x(const points *panel, bb_index p)
{
    return bb_slit_grid_x(panel->slit, panel->field, panel->first + p);
}

static double point_y(const points *panel, bb_index p)
{
    return bb_slit_grid_y(panel->slit, panel->field, panel->first + p);
}

// Adds `height` T(p), T bilinear between the centres of live cells.
static bb_status list_local(const bb_temperature_grid *grid, double height, double x, double y,
                            bb_index p, bb_triplets *out)
{
    bb_status status = BB_OK;
    bb_index cell[4];
    double weight[4];
    const double sum = bb_temperature_grid_weights(grid, x, y, cell, weight);
    for (int k = 0; k < 4; ++k) {
        if (weight[k] > 0.0) {
            BB_TRY(bb_triplets_add(out, p, cell[k], height * weight[k] / sum));
        }
    }
done:
    return status;
}

// Lists for a panel: right-hand sides by unknown, and the local part of z, by node and by cell.
typedef struct panel_lists {
    bb_triplets right, nodes, cells;
} panel_lists;

static bb_status list_plate(const bb_device_rows *rows, const points *panel, panel_lists *out)
{
    bb_status status = BB_OK;
    const bb_coupled_plate *plate = rows->problem->plate;
    const double height =
        panel->axis == (int)BB_AXIS_Z ? bb_plate_local_height(&plate->plate) : 0.0;
    bb_plate_sample sample;
    for (bb_index p = 0; p < panel->count; ++p) {
        bb_plate_sample_make(rows->problem->mesh, &plate->plate, point_x(panel, p),
                             point_y(panel, p), panel->axis, &sample);
        for (int i = 0; i < sample.count; ++i) {
            BB_TRY(bb_triplets_add(&out->right, p, rows->layout.place[sample.unknown[i]],
                                   sample.weight[i]));
        }
        // Moves the part of z that uses cell centres away from the nodes.
        for (int k = 0; k < 4 && panel->axis == (int)BB_AXIS_Z; ++k) {
            BB_TRY(bb_triplets_add(&out->nodes, p, sample.node[k],
                                   (sample.growth - height) * sample.bilinear[k]));
        }
        if (panel->axis == (int)BB_AXIS_Z) {
            BB_TRY(list_local(rows->problem->grid, height, sample.x, sample.y, p, &out->cells));
        }
    }
done:
    return status;
}

static bb_status list_membrane(const bb_device_rows *rows, const points *panel, panel_lists *out)
{
    bb_status status = BB_OK;
    for (bb_index p = 0; p < panel->count; ++p) {
        const int32_t *node = NULL;
        double weight[4];
        bb_membrane_weights(rows->problem->mesh, point_x(panel, p), point_y(panel, p), &node,
                            weight);
        for (int k = 0; k < 4; ++k) {
            BB_TRY(bb_triplets_add(&out->right, p,
                                   rows->layout.place[2 * (bb_index)node[k] + panel->axis],
                                   weight[k]));
        }
    }
done:
    return status;
}

// Adds listed entries (point, place) to `out`.
static bb_status add_listed(bb_device *device, bb_index count, bb_index places,
                            const bb_triplets *list, bb_index point_stride, bb_index place_stride,
                            double *out)
{
    bb_status status = BB_OK;
    bb_csr entries = {0};
    if (list->count == 0) {
        return BB_OK;
    }
    BB_TRY(bb_csr_assemble(count, places, list, &entries));
    BB_TRY(bb_factor_solve_add(device, &entries, point_stride, place_stride, out));
done:
    bb_csr_release(&entries);
    return status;
}

static bb_status gather(const bb_device_rows *rows, const sparse *matrix, const void *x,
                        bb_index width, double *out, bb_index stride, bool transposed)
{
    bb_gather_task task = {.start = matrix->start,
                           .column = matrix->column,
                           .value = matrix->value,
                           .x = x,
                           .width = width,
                           .stride = stride,
                           .out = out,
                           .transposed = transposed};
    return bb_device_launch(rows->device, &gather_kernel, matrix->rows, &task);
}

// Computes rows of the finite elements: `out` is at the panel's first row.
static bb_status solve_panel(bb_device_rows *rows, const points *panel, double *out)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = rows->problem;
    const bb_index width = panel->count;
    const bb_index stride = problem->input_count;
    panel_lists lists = {{0}, {0}, {0}};
    bb_csr right = {0};
    BB_TRY(problem->plate != NULL ? list_plate(rows, panel, &lists)
                                  : list_membrane(rows, panel, &lists));
    BB_TRY(bb_csr_assemble(width, rows->layout.unknowns * problem->mesh->node_count, &lists.right,
                           &right));
    BB_TRY(bb_factor_solve_run(rows->solve, &right, rows->solution));
    BB_TRY(gather(rows, &rows->load, rows->solution, width, rows->nodal, width, false));
    BB_TRY(add_listed(rows->device, width, problem->mesh->node_count, &lists.nodes, 1, width,
                      rows->nodal));
    BB_TRY(gather(rows, &rows->restriction, rows->nodal, width, out, stride, true));
    if (rows->moments != NULL) {
        BB_TRY(gather(rows, &rows->moment, rows->solution, width, rows->moments, width, false));
        BB_TRY(gather(rows, &rows->restriction, rows->moments, width,
                      out + problem->grid->cell_count, stride, true));
    }
    BB_TRY(add_listed(rows->device, width, problem->input_count, &lists.cells, stride, 1, out));
done:
    bb_csr_release(&right);
    bb_triplets_release(&lists.right);
    bb_triplets_release(&lists.nodes);
    bb_triplets_release(&lists.cells);
    return status;
}

static bb_status solve_field(bb_device_rows *rows, points *field, double *out)
{
    bb_status status = BB_OK;
    const bb_index all = field->count;
    const bb_index width = panel_width(rows->problem->slit.field_points);
    for (field->first = 0; field->first < all; field->first += width) {
        field->count = all - field->first < width ? all - field->first : width;
        BB_TRY(solve_panel(rows, field, out + field->first * rows->problem->input_count));
    }
done:
    return status;
}

static bb_radial_integrand on_device(const bb_radial_integrand *integrand, void *smooth, void *far)
{
    bb_radial_integrand out = *integrand;
    out.smooth.terms = smooth;
    out.far.terms = far;
    return out;
}

static bb_status integrate_field(bb_device_rows *rows, const points *field, double *out)
{
    bb_status status = BB_OK;
    const bb_response *response = rows->problem->response;
    const bb_temperature_grid *grid = rows->problem->grid;
    const bool height = field->axis == (int)BB_AXIS_Z;
    double *place = NULL; // x [points], y [points], m
    void *device_place = NULL;
    bb_triplets cells = {0};
    BB_TRY(BB_ALLOCATE(2 * field->count, &place));
    for (bb_index p = 0; p < field->count; ++p) {
        place[p] = point_x(field, p);
        place[field->count + p] = point_y(field, p);
        if (height) {
            BB_TRY(list_local(grid, response->local_height, place[p], place[field->count + p], p,
                              &cells));
        }
    }
    BB_TRY(bb_device_allocate_copy(rows->device, place, 2 * (size_t)field->count * sizeof *place,
                                   &device_place));
    bb_radial_rows_task task = {
        .integrand =
            height ? on_device(&response->height.integrand, rows->near_height, rows->height)
                   : on_device(&response->membrane.integrand, rows->near_membrane, rows->membrane),
        .axis = field->axis,
        .columns = grid->columns,
        .rows = grid->rows,
        .origin_x = grid->origin_x,
        .origin_y = grid->origin_y,
        .cell_width = grid->cell_width,
        .cell_height = grid->cell_height,
        .area = rows->area,
        .scale = height ? 1.0 : response->in_plane,
        .x = device_place,
        .y = (double *)device_place + field->count,
        .out = out,
    };
    BB_TRY(bb_device_launch(rows->device, &radial_kernel, field->count, &task));
    BB_TRY(
        add_listed(rows->device, field->count, grid->cell_count, &cells, grid->cell_count, 1, out));
    BB_TRY(bb_device_wait(rows->device));
done:
    bb_device_release(rows->device, &device_place);
    bb_triplets_release(&cells);
    BB_RELEASE(&place);
    return status;
}

bb_status bb_device_rows_fill(bb_device_rows *rows, bb_index index, int axis, double *out)
{
    bb_status status = BB_OK;
    bb_wafer_rows host;
    points field = {.slit = &rows->problem->slit,
                    .field = bb_wafer_problem_field(rows->problem, index),
                    .count = rows->problem->slit.field_points,
                    .axis = axis};
    BB_TRY(bb_wafer_problem_rows(rows->problem, index, axis, &host)); // fails for unavailable rows
    BB_TRY(host.source == &host.kernel.source ? integrate_field(rows, &field, out)
                                              : solve_field(rows, &field, out));
    BB_TRY(bb_device_wait(rows->device));
done:
    return status;
}

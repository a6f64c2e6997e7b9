// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/coupled_plate.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/portable.h"
#include "physics/wafer/response/plate_assembly.h"

#include <math.h>
#include <string.h>

static void add(bb_plate_sample *out, int64_t node, int component, double weight)
{
    out->unknown[out->count] = BB_PLATE_UNKNOWNS * node + component;
    out->weight[out->count++] = weight;
}

// Adds `factor` times the mean of div u0 at a node over the cells around it.
static void add_divergence(const bb_disc_mesh *mesh, bb_index node, double factor,
                           bb_plate_sample *out)
{
    bb_index cell[4];
    int cells = 0;
    for (int k = 0; k < 4; ++k) {
        cell[k] = bb_disc_mesh_cell_at(mesh, mesh->node_column[node] - bb_plate_corner[k][0],
                                       mesh->node_row[node] - bb_plate_corner[k][1]);
        cells += cell[k] >= 0;
    }
    for (int k = 0; k < 4; ++k) {
        if (cell[k] < 0) {
            continue;
        }
        bb_plate_shapes shapes;
        bb_plate_shapes_at(bb_plate_corner[k][0], bb_plate_corner[k][1], mesh->spacing, &shapes);
        const int32_t *corner = mesh->cell_nodes + 4 * cell[k];
        for (int l = 0; l < 4; ++l) {
            add(out, corner[l], 0, factor * shapes.q_x[l] / cells);
            add(out, corner[l], 1, factor * shapes.q_y[l] / cells);
        }
    }
}

static void sample_plane(const bb_plate *plate, const bb_plate_shapes *shapes, const int32_t *node,
                         int axis, bb_plate_sample *out)
{
    const double *slope = axis == (int)BB_AXIS_X ? shapes->w_x : shapes->w_y;
    for (int k = 0; k < 4; ++k) {
        add(out, node[k], axis, shapes->q[k]);
        for (int m = 0; m < 4; ++m) {
            add(out, node[k], 2 + m, -0.5 * plate->thickness * slope[4 * k + m]);
        }
    }
}

static void sample_height(const bb_disc_mesh *mesh, const bb_plate *plate,
                          const bb_plate_shapes *shapes, const int32_t *node, bb_plate_sample *out)
{
    double shrink = plate->contraction * plate->thickness;
    out->growth = plate->expansion * plate->thickness * (1.0 + 2.0 * plate->contraction);
    for (int k = 0; k < 4; ++k) {
        for (int m = 0; m < 4; ++m) {
            add(out, node[k], 2 + m, shapes->w[4 * k + m]);
        }
        add_divergence(mesh, node[k], -shrink * shapes->q[k], out);
    }
}

void bb_plate_sample_make(const bb_disc_mesh *mesh, const bb_plate *plate, double x, double y,
                          int axis, bb_plate_sample *out)
{
    bb_plate_shapes shapes;
    bb_index cell = bb_disc_mesh_nearest(mesh, &x, &y);
    const int32_t *node = mesh->cell_nodes + 4 * cell;
    double a = (x - bb_disc_mesh_x(mesh, node[0])) / mesh->spacing;
    double b = (y - bb_disc_mesh_y(mesh, node[0])) / mesh->spacing;
    bb_plate_shapes_at(a, b, mesh->spacing, &shapes);
    memset(out, 0, sizeof *out);
    out->x = x;
    out->y = y;
    memcpy(out->node, node, sizeof out->node);
    memcpy(out->bilinear, shapes.q, sizeof out->bilinear);
    if (axis == (int)BB_AXIS_Z) {
        sample_height(mesh, plate, &shapes, node, out);
    } else {
        sample_plane(plate, &shapes, node, axis, out);
    }
}

enum { U = BB_PLATE_UNKNOWNS };

bb_status bb_coupled_plate_key(const bb_disc_mesh *mesh, const bb_plate_element *element,
                               const double *springs, char out[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    int64_t *order = NULL;
    bb_digest *digest = NULL;
    const int64_t shape[4] = {mesh->columns, mesh->rows, mesh->periodic, springs != NULL};
    BB_TRY(BB_ALLOCATE(U * mesh->node_count, &order));
    BB_TRY(bb_plate_order(mesh, order));
    BB_TRY(bb_digest_create(&digest));
    bb_digest_add(digest, shape, sizeof shape);
    bb_digest_add(digest, mesh->cell_at,
                  (size_t)(mesh->columns * mesh->rows) * sizeof *mesh->cell_at);
    bb_digest_add(digest, element->elastic, sizeof element->elastic);
    bb_digest_add(digest, element->springs, sizeof element->springs);
    bb_digest_add(digest, order, (size_t)(U * mesh->node_count) * sizeof *order);
    if (springs != NULL) {
        bb_digest_add_values(digest, springs, mesh->cell_count);
    }
    bb_digest_text(digest, out);
done:
    bb_digest_destroy(&digest);
    BB_RELEASE(&order);
    return status;
}

static bb_status factor_plate(const bb_disc_mesh *mesh, const bb_plate_element *element,
                              const double *springs, bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_upper_triangle matrix = {0};
    int64_t *order = NULL;
    double begin = bb_clock_seconds();
    BB_TRY(BB_ALLOCATE(U * mesh->node_count, &order));
    BB_TRY(bb_plate_order(mesh, order));
    BB_TRY(bb_plate_assemble(mesh, element, springs, &matrix));
    BB_TRY(bb_plate_factor_create(&matrix, order, out));
    bb_log_detail(
        "plate of %lld unknowns: %lld values in the factor, %.1f s", (long long)matrix.unknowns,
        (long long)bb_plate_factor_supernodes(*out)->value_count, bb_clock_seconds() - begin);
done:
    bb_upper_triangle_release(&matrix);
    BB_RELEASE(&order);
    return status;
}

// Reads the factor from the folder, or computes and stores it there. A failure to store it is not
// an error.
static bb_status find_factor(const bb_disc_mesh *mesh, const bb_plate_element *element,
                             const double *springs, const char *folder, bb_plate_factor **out)
{
    bb_status status = BB_OK;
    char key[BB_DIGEST_BYTES];
    BB_TRY(bb_coupled_plate_key(mesh, element, springs, key));
    BB_TRY(bb_plate_factor_load(folder, key, U * (int64_t)mesh->node_count, out));
    if (*out != NULL) {
        bb_log_info("factor of the plate read from '%s'", folder);
        goto done;
    }
    BB_TRY(factor_plate(mesh, element, springs, out));
    bb_status kept = bb_plate_factor_store(*out, folder, key);
    if (kept == BB_IO) {
        bb_log_warning("cannot store the factor of the plate: %s", bb_status_message());
        bb_status_clear();
    } else {
        BB_TRY(kept);
    }
done:
    return status;
}

bb_status bb_coupled_plate_create(const bb_disc_mesh *mesh, const bb_plate *plate,
                                  const double *springs, const char *cache_folder,
                                  bb_coupled_plate **out)
{
    bb_status status = BB_OK;
    bb_coupled_plate *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    BB_TRY(bb_workspace_pool_create(BB_PLATE_BATCH * U * mesh->node_count, &made->right_sides));
    BB_TRY(bb_workspace_pool_create(BB_PLATE_BATCH * mesh->node_count, &made->nodal_rows));
    made->mesh = mesh;
    made->plate = *plate;
    bb_plate_element_make(plate, mesh->spacing, &made->element);
    if (cache_folder != NULL) {
        BB_TRY(find_factor(mesh, &made->element, springs, cache_folder, &made->factor));
    } else {
        BB_TRY(factor_plate(mesh, &made->element, springs, &made->factor));
    }
    *out = made;
    made = NULL;
done:
    bb_coupled_plate_destroy(&made);
    return status;
}

static const double per_unknown = 17.5; // as measured at 1 and 0.5 mm, see plate_factor.h

bb_need bb_coupled_plate_resident(double nodes)
{
    return bb_plate_factor_resident(U * nodes, per_unknown);
}

bb_need bb_coupled_plate_need(double nodes)
{
    return bb_plate_factor_need(U * nodes, per_unknown, bb_plate_matrix_values(nodes));
}

void bb_coupled_plate_load(const bb_coupled_plate *plate, const double *temperature,
                           const double *tau, double *right)
{
    const bb_disc_mesh *mesh = plate->mesh;
    const bb_plate_element *element = &plate->element;
    memset(right, 0, (size_t)(U * mesh->node_count) * sizeof *right);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *node = mesh->cell_nodes + 4 * cell;
        for (int i = 0; i < BB_PLATE_ELEMENT; ++i) {
            double sum = 0.0;
            for (int l = 0; l < 4; ++l) {
                sum += element->load[i][l] * temperature[node[l]];
                sum += tau == NULL ? 0.0 : element->moment[i][l] * tau[node[l]];
            }
            right[U * node[i / U] + i % U] += sum;
        }
    }
}

bb_status bb_coupled_plate_solve(const bb_coupled_plate *plate, const double *right, double *x)
{
    bb_status status = BB_OK;
    const bb_supernodes *factor = bb_plate_factor_supernodes(plate->factor);
    const int64_t *place = bb_plate_factor_places(plate->factor);
    double *placed = NULL;
    BB_TRY(BB_ALLOCATE(factor->unknowns, &placed));
    for (int64_t i = 0; i < factor->unknowns; ++i) {
        placed[place[i]] = right[i];
    }
    BB_TRY(bb_supernodes_solve(factor, 1, 0, NULL, placed));
    for (int64_t i = 0; i < factor->unknowns; ++i) {
        x[i] = placed[place[i]];
    }
done:
    BB_RELEASE(&placed);
    return status;
}

double bb_coupled_plate_at(const bb_coupled_plate *plate, const double *unknowns,
                           const double *temperature, double x, double y, int axis)
{
    bb_plate_sample sample;
    double sum = 0.0;
    bb_plate_sample_make(plate->mesh, &plate->plate, x, y, axis, &sample);
    for (int i = 0; i < sample.count; ++i) {
        sum += sample.weight[i] * unknowns[sample.unknown[i]];
    }
    for (int k = 0; k < 4; ++k) {
        sum += sample.growth * sample.bilinear[k] * temperature[sample.node[k]];
    }
    return sum;
}

// Adds G' of one cell: forces of a temperature act on u and v only.
BB_CLONES static void add_cell(const bb_plate_element *element, const int32_t *node,
                               const int64_t *place, const double *adjoint, double *rows)
{
    for (int k = 0; k < 4; ++k) {
        for (int c = 0; c < 2; ++c) {
            const double *source = adjoint + place[U * node[k] + c] * BB_PLATE_BATCH;
            for (int l = 0; l < 4; ++l) {
                double force = element->load[U * k + c][l];
                double *target = rows + (bb_index)node[l] * BB_PLATE_BATCH;
                for (int p = 0; p < BB_PLATE_BATCH; ++p) {
                    target[p] += force * source[p];
                }
            }
        }
    }
}

// Adds the cell as add_cell, for tau: moments act on w and its derivatives only.
BB_CLONES static void add_moment(const bb_plate_element *element, const int32_t *node,
                                 const int64_t *place, const double *adjoint, double *rows)
{
    for (int k = 0; k < 4; ++k) {
        for (int c = 2; c < U; ++c) {
            const double *source = adjoint + place[U * node[k] + c] * BB_PLATE_BATCH;
            for (int l = 0; l < 4; ++l) {
                double force = element->moment[U * k + c][l];
                double *target = rows + (bb_index)node[l] * BB_PLATE_BATCH;
                for (int p = 0; p < BB_PLATE_BATCH; ++p) {
                    target[p] += force * source[p];
                }
            }
        }
    }
}

static void apply_moment(const bb_coupled_plate *plate, const double *adjoint, double *rows)
{
    const bb_disc_mesh *mesh = plate->mesh;
    const int64_t *place = bb_plate_factor_places(plate->factor);
    memset(rows, 0, (size_t)(BB_PLATE_BATCH * mesh->node_count) * sizeof *rows);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        add_moment(&plate->element, mesh->cell_nodes + 4 * cell, place, adjoint, rows);
    }
}

static void apply_load(const bb_coupled_plate *plate, const double *adjoint, double *rows)
{
    const bb_disc_mesh *mesh = plate->mesh;
    const int64_t *place = bb_plate_factor_places(plate->factor);
    memset(rows, 0, (size_t)(BB_PLATE_BATCH * mesh->node_count) * sizeof *rows);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        add_cell(&plate->element, mesh->cell_nodes + 4 * cell, place, adjoint, rows);
    }
}

bb_status bb_coupled_plate_rows(const bb_coupled_plate *plate, int axis, bb_index count,
                                const double *x, const double *y, double *rows, double *moments)
{
    bb_status status = BB_OK;
    const bb_supernodes *factor = bb_plate_factor_supernodes(plate->factor);
    const int64_t *place = bb_plate_factor_places(plate->factor);
    bb_plate_sample *samples = NULL; // [count]
    int64_t *touched = NULL;
    double *adjoint = NULL;
    bb_index touches = 0;
    BB_REQUIRE(count >= 0 && count <= BB_PLATE_BATCH, BB_INVALID,
               "%td plate rows at once, expected 0..%d", count, (int)BB_PLATE_BATCH);
    BB_REQUIRE(axis >= BB_AXIS_X && axis <= BB_AXIS_Z, BB_INVALID, "axis %d, expected 0..2", axis);
    BB_TRY(BB_ALLOCATE(count, &samples));
    BB_TRY(BB_ALLOCATE(count * BB_PLATE_SAMPLE, &touched));
    BB_TRY(bb_workspace_pool_acquire(plate->right_sides, &adjoint));
    memset(adjoint, 0, (size_t)(BB_PLATE_BATCH * factor->unknowns) * sizeof *adjoint);
    for (bb_index p = 0; p < count; ++p) {
        bb_plate_sample_make(plate->mesh, &plate->plate, x[p], y[p], axis, &samples[p]);
        for (int i = 0; i < samples[p].count; ++i) {
            int64_t index = place[samples[p].unknown[i]];
            adjoint[index * BB_PLATE_BATCH + p] += samples[p].weight[i];
            touched[touches++] = index;
        }
    }
    BB_TRY(
        bb_narrow_factor_solve(plate->narrow, factor, BB_PLATE_BATCH, touches, touched, adjoint));
    apply_load(plate, adjoint, rows);
    if (moments != NULL) {
        apply_moment(plate, adjoint, moments);
    }
    for (bb_index p = 0; p < count; ++p) {
        for (int k = 0; k < 4; ++k) {
            rows[(bb_index)samples[p].node[k] * BB_PLATE_BATCH + p] +=
                samples[p].growth * samples[p].bilinear[k];
        }
    }
done:
    BB_RELEASE(&samples);
    BB_RELEASE(&touched);
    bb_workspace_pool_release(plate->right_sides, &adjoint);
    return status;
}

bb_status bb_coupled_plate_narrow(const bb_coupled_plate *plate, bb_operand_rounding round,
                                  bb_coupled_plate **out)
{
    bb_status status = BB_OK;
    bb_coupled_plate *narrow = NULL;
    *out = NULL;
    BB_TRY(BB_ALLOCATE(1, &narrow));
    *narrow = *plate;
    narrow->narrow = NULL;
    BB_TRY(
        bb_narrow_factor_create(bb_plate_factor_supernodes(plate->factor), round, &narrow->narrow));
    *out = narrow;
    narrow = NULL;
done:
    bb_coupled_plate_narrow_destroy(&narrow);
    return status;
}

void bb_coupled_plate_narrow_destroy(bb_coupled_plate **narrow)
{
    if (*narrow != NULL) {
        bb_narrow_factor_destroy(&(*narrow)->narrow);
        BB_RELEASE(narrow);
    }
}

void bb_coupled_plate_destroy(bb_coupled_plate **plate)
{
    if (plate == NULL || *plate == NULL) {
        return;
    }
    bb_plate_factor_destroy(&(*plate)->factor);
    bb_workspace_pool_destroy(&(*plate)->right_sides);
    bb_workspace_pool_destroy(&(*plate)->nodal_rows);
    BB_RELEASE(plate);
}

enum { BATCH = BB_PLATE_BATCH };
_Static_assert((int)BATCH == (int)BB_GRID_BATCH, "rows are made and gathered in the same batches");

// Requested part of a batch: its rows [begin, end) go to `out` from row `first_row` on.
typedef struct wanted {
    int begin, end;
    bb_index first_row;
    bb_index column;
    bb_view out;
} wanted;

// `moments` are for the second block of columns, NULL without one.
static void restrict_rows(const bb_plate_response *plate, const double *nodal,
                          const double *moments, const wanted *part)
{
    const bb_temperature_grid *grid = plate->grid;
    for (bb_index j = 0; j < part->out.shape[1]; ++j) {
        double sum[BATCH];
        const bool second = moments != NULL && part->column + j >= grid->cell_count;
        bb_index cell = part->column + j - (second ? grid->cell_count : 0);
        bb_temperature_grid_gather(grid, cell, plate->plate->mesh->node_area,
                                   second ? moments : nodal, sum);
        for (int p = part->begin; p < part->end; ++p) {
            bb_view_row(part->out, part->first_row + p - part->begin)[j] = sum[p];
        }
    }
}

// Moves the local part of a row of z from nodes to cell centres.
static void localise(const bb_plate_response *plate, const bb_plate_sample *sample, int p,
                     double *nodal)
{
    double height = bb_plate_local_height(&plate->plate->plate);
    for (int k = 0; k < 4; ++k) {
        nodal[(bb_index)sample->node[k] * BATCH + p] -= height * sample->bilinear[k];
    }
}

static void add_local(const bb_plate_response *plate, const bb_plate_sample *sample,
                      bb_index column, bb_index count, double *out)
{
    bb_index cell[4];
    double weight[4];
    double height = bb_plate_local_height(&plate->plate->plate);
    double sum = bb_temperature_grid_weights(plate->grid, sample->x, sample->y, cell, weight);
    for (int k = 0; k < 4; ++k) {
        if (weight[k] > 0.0 && cell[k] >= column && cell[k] < column + count) {
            out[cell[k] - column] += height * weight[k] / sum;
        }
    }
}

// Computes the rows of the batch that starts at point `first`.
static bb_status fill_batch(const bb_plate_response *plate, bb_index first, const wanted *part,
                            double *nodal, double *moments)
{
    bb_status status = BB_OK;
    double x[BATCH] = {0.0};
    double y[BATCH] = {0.0};
    bb_plate_sample sample;
    bool height = plate->axis == (int)BB_AXIS_Z;
    const bb_disc_mesh *mesh = plate->plate->mesh;
    bb_index count = plate->slit.field_points - first;
    count = count < BATCH ? count : BATCH;
    for (bb_index i = 0; i < count; ++i) {
        x[i] = bb_slit_grid_x(&plate->slit, &plate->field, first + i);
        y[i] = bb_slit_grid_y(&plate->slit, &plate->field, first + i);
    }
    BB_TRY(bb_coupled_plate_rows(plate->plate, plate->axis, count, x, y, nodal, moments));
    for (int p = part->begin; height && p < part->end; ++p) {
        bb_plate_sample_make(mesh, &plate->plate->plate, x[p], y[p], plate->axis, &sample);
        localise(plate, &sample, p, nodal);
    }
    restrict_rows(plate, nodal, moments, part);
    for (int p = part->begin; height && p < part->end; ++p) {
        bb_plate_sample_make(mesh, &plate->plate->plate, x[p], y[p], plate->axis, &sample);
        add_local(plate, &sample, part->column, part->out.shape[1],
                  bb_view_row(part->out, part->first_row + p - part->begin));
    }
done:
    return status;
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    const bb_plate_response *plate = source->context;
    double *nodal = NULL;   // [node_count][BATCH]
    double *moments = NULL; // [node_count][BATCH]
    bb_index last = row + out.shape[0];
    BB_TRY(bb_workspace_pool_acquire(plate->plate->nodal_rows, &nodal));
    if (plate->modes > 1) {
        BB_TRY(bb_workspace_pool_acquire(plate->plate->nodal_rows, &moments));
    }
    for (bb_index first = row - row % BATCH; first < last; first += BATCH) {
        wanted part = {.begin = (int)(row > first ? row - first : 0),
                       .end = (int)(last - first < BATCH ? last - first : BATCH),
                       .first_row = first > row ? first - row : 0,
                       .column = column,
                       .out = out};
        BB_TRY(fill_batch(plate, first, &part, nodal, moments));
    }
done:
    bb_workspace_pool_release(plate->plate->nodal_rows, &nodal);
    bb_workspace_pool_release(plate->plate->nodal_rows, &moments);
    return status;
}

void bb_plate_response_make(const bb_coupled_plate *plate, const bb_temperature_grid *grid,
                            const bb_slit_grid *slit, const bb_field *field, int axis,
                            bb_index modes, bb_plate_response *out)
{
    static const char *const names[] = {"C_x", "C_y", "C_z"};
    *out = (bb_plate_response){
        .source = {.rows = slit->field_points,
                   .columns = modes * grid->cell_count,
                   .name = names[axis],
                   .unit = "m/K",
                   .fill = fill,
                   .context = out},
        .plate = plate,
        .grid = grid,
        .slit = *slit,
        .field = *field,
        .axis = axis,
        .modes = modes,
    };
}

bb_need bb_plate_response_need(double nodes, double modes, double rows, double threads)
{
    static const double values_per_second = 8.5e9; // of the factor, on one core, per row
    const double batches = fmin(threads, ceil(rows / BATCH));
    const double values = bb_coupled_plate_resident(nodes).host_bytes / sizeof(double);
    const bb_need batch = {
        .host_bytes = BATCH * ((BB_PLATE_UNKNOWNS + modes) * nodes * sizeof(double) +
                               sizeof(bb_plate_sample) + BB_PLATE_SAMPLE * sizeof(int64_t))};
    bb_need need = bb_need_copies(
        bb_need_together(batch, bb_supernodes_solve_need(nodes, BB_PLATE_UNKNOWNS, BATCH)),
        batches);
    need.seconds = rows * values / (values_per_second * threads);
    return need;
}

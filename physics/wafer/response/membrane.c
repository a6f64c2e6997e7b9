// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/membrane.h"

#include "core/memory.h"
#include "core/portable.h"
#include "physics/wafer/response/plate_assembly.h"
#include "physics/wafer/response/workspace_pool.h"

#include <math.h>
#include <string.h>

// Rigid motions of a wafer on uniform springs, two shifts and a rotation, r = e_x, e_y and (-y, x)
// about the centre of area. They have no strain, so that K r = k_s M r with M = int phi phi: they
// are decoupled, and a temperature, whose load does no work on them, does not excite them. On soft
// springs the factor amplifies its own rounding errors in them, by 1/(k_s area). Projection of
// loads and displacements,
//     f - M r (r' f)/(r' M r),   u - r (r' M u)/(r' M r),
// removes only these. Limits: uniform springs and in-plane unknowns only.

// Read-only to users.
typedef struct rigid_modes {
    bb_index node_count;
    double area;      // r' M r of a shift, m2
    double polar;     // r' M r of the rotation, m4
    double *node;     // [node_count][2] x, y from the centre of area, m
    double *weight;   // [node_count] int phi, m2
    double *weight_x; // [node_count] int phi x, m3
    double *weight_y;
} rigid_modes;

enum { MODES = 3, WIDEST = 32 };

// Consistent masses of a square: int phi_k phi_l over its area, times 36.
static const double MASS[4][4] = {
    {4.0, 2.0, 1.0, 2.0}, {2.0, 4.0, 2.0, 1.0}, {1.0, 2.0, 4.0, 2.0}, {2.0, 1.0, 2.0, 4.0}};

static void add_cells(const bb_disc_mesh *mesh, rigid_modes *out)
{
    const double unit = mesh->spacing * mesh->spacing / 36.0;
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *corner = mesh->cell_nodes + 4 * cell;
        for (int k = 0; k < 4; ++k) {
            for (int l = 0; l < 4; ++l) {
                out->weight[corner[k]] += unit * MASS[k][l];
                out->weight_x[corner[k]] += unit * MASS[k][l] * out->node[2 * corner[l]];
                out->weight_y[corner[k]] += unit * MASS[k][l] * out->node[2 * corner[l] + 1];
            }
        }
    }
}

static void rigid_modes_release(rigid_modes *modes)
{
    BB_RELEASE(&modes->node);
    BB_RELEASE(&modes->weight);
    BB_RELEASE(&modes->weight_x);
    BB_RELEASE(&modes->weight_y);
}

static bb_status rigid_modes_create(const bb_disc_mesh *mesh, rigid_modes *out)
{
    bb_status status = BB_OK;
    double centre[2] = {0.0, 0.0};
    *out = (rigid_modes){.node_count = mesh->node_count};
    BB_TRY(BB_ALLOCATE(2 * mesh->node_count, &out->node));
    BB_TRY(BB_ZEROED(mesh->node_count, &out->weight));
    BB_TRY(BB_ZEROED(mesh->node_count, &out->weight_x));
    BB_TRY(BB_ZEROED(mesh->node_count, &out->weight_y));
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        centre[0] += mesh->node_area[i] * bb_disc_mesh_x(mesh, i);
        centre[1] += mesh->node_area[i] * bb_disc_mesh_y(mesh, i);
        out->area += mesh->node_area[i];
    }
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        out->node[2 * i] = bb_disc_mesh_x(mesh, i) - centre[0] / out->area;
        out->node[2 * i + 1] = bb_disc_mesh_y(mesh, i) - centre[1] / out->area;
    }
    add_cells(mesh, out);
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        out->polar += out->node[2 * i] * out->weight_x[i] + out->node[2 * i + 1] * out->weight_y[i];
    }
done:
    if (status != BB_OK) {
        rigid_modes_release(out);
    }
    return status;
}

// Components of a node in each mode, in x and in y.
typedef struct share {
    double x[MODES], y[MODES];
} share;

static share of_motion(const rigid_modes *modes, bb_index i)
{
    return (share){.x = {1.0, 0.0, -modes->node[2 * i + 1]}, .y = {0.0, 1.0, modes->node[2 * i]}};
}

static share of_load(const rigid_modes *modes, bb_index i)
{
    return (share){.x = {modes->weight[i], 0.0, -modes->weight_y[i]},
                   .y = {0.0, modes->weight[i], modes->weight_x[i]}};
}

typedef share (*sharing)(const rigid_modes *modes, bb_index i);

// Subtracts the part (test' v)/(r' M r) from v, for the three modes and all columns.
BB_CLONES static void project(const rigid_modes *modes, const int64_t *place, int width,
                              sharing test, sharing what, double *v)
{
    double sum[MODES][WIDEST] = {{0.0}};
    const double norm[MODES] = {modes->area, modes->area, modes->polar};
    for (bb_index i = 0; i < modes->node_count; ++i) {
        const share node = test(modes, i);
        const double *x = v + place[2 * i] * width;
        const double *y = v + place[2 * i + 1] * width;
        for (int m = 0; m < MODES; ++m) {
            for (int p = 0; p < width; ++p) {
                sum[m][p] += node.x[m] * x[p] + node.y[m] * y[p];
            }
        }
    }
    for (bb_index i = 0; i < modes->node_count; ++i) {
        const share node = what(modes, i);
        double *x = v + place[2 * i] * width;
        double *y = v + place[2 * i + 1] * width;
        for (int m = 0; m < MODES; ++m) {
            for (int p = 0; p < width; ++p) {
                x[p] -= node.x[m] * sum[m][p] / norm[m];
                y[p] -= node.y[m] * sum[m][p] / norm[m];
            }
        }
    }
}

// Removes the resultants from `width` <= 32 loads, f[place[2 node + axis] * width + column], N.
static void rigid_modes_unload(const rigid_modes *modes, const int64_t *place, int width, double *f)
{
    project(modes, place, width, of_motion, of_load, f);
}

// Removes the rigid motions from `width` <= 32 displacements of the same layout, m.
static void rigid_modes_remove(const rigid_modes *modes, const int64_t *place, int width, double *u)
{
    project(modes, place, width, of_load, of_motion, u);
}

static const double CORNER[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};

// Computes shape functions and their gradients at (a, b) of [-1, 1]^2.
static void shapes(double a, double b, double side, double value[4], double gradient[4][2])
{
    for (int k = 0; k < 4; ++k) {
        double in_a = 1.0 + CORNER[k][0] * a;
        double in_b = 1.0 + CORNER[k][1] * b;
        value[k] = 0.25 * in_a * in_b;
        gradient[k][0] = 0.5 * CORNER[k][0] * in_b / side;
        gradient[k][1] = 0.5 * CORNER[k][1] * in_a / side;
    }
}

// Plane stress: N11 = N22 = B, N12 = nu B, N66 = B (1 - nu) / 2, or those of a cubic crystal.
static void add_stretch(const bb_plate *plate, const double (*gradient)[2], double weight,
                        double stiffness[8][8])
{
    double along = plate->membrane * weight;
    double across = plate->poisson * along;
    double shear = plate->shear * along;
    for (int k = 0; k < 4; ++k) {
        for (int l = 0; l < 4; ++l) {
            double xx = gradient[k][0] * gradient[l][0];
            double yy = gradient[k][1] * gradient[l][1];
            double xy = gradient[k][0] * gradient[l][1];
            double yx = gradient[k][1] * gradient[l][0];
            stiffness[2 * k][2 * l] += along * xx + shear * yy;
            stiffness[2 * k][2 * l + 1] += across * xy + shear * yx;
            stiffness[2 * k + 1][2 * l] += across * yx + shear * xy;
            stiffness[2 * k + 1][2 * l + 1] += along * yy + shear * xx;
        }
    }
}

void bb_membrane_element_make(const bb_plate *plate, double side, bb_membrane_element *out)
{
    memset(out, 0, sizeof *out);
    double weight = 0.25 * side * side;
    for (int point = 0; point < 4; ++point) {
        double value[4];
        double gradient[4][2];
        shapes(CORNER[point][0] / sqrt(3.0), CORNER[point][1] / sqrt(3.0), side, value, gradient);
        add_stretch(plate, (const double(*)[2])gradient, weight, out->stiffness);
        for (int k = 0; k < 4; ++k) {
            for (int l = 0; l < 4; ++l) {
                double spring = plate->tangential * weight * value[k] * value[l];
                out->stiffness[2 * k][2 * l] += spring;
                out->stiffness[2 * k + 1][2 * l + 1] += spring;
                for (int c = 0; c < 2; ++c) {
                    out->load[2 * k + c][l] += plate->thermal * weight * gradient[k][c] * value[l];
                }
            }
        }
    }
}

// Returns whether rigid motions are removed from rows: the ratio of their compliance, 1/(k_s A), to
// that of a strain, 1/B, exceeds a limit. The removal makes the right-hand sides dense, an
// unnecessary cost for stiffer springs, whose rows change by less than 1e-12.
static bool is_soft(const bb_plate *plate, double area)
{
    static const double least = 1e4;
    return plate->membrane > least * plate->tangential * area;
}

// Up to 9 neighbours per node, two unknowns each: the upper triangle of their blocks and the node's
// own.
enum { MOST_OF_NODE = 2 * 2 * 9 / 2 + 2, LEAF = 3, BATCH = BB_MEMBRANE_BATCH };

struct bb_membrane {
    const bb_disc_mesh *mesh;
    bb_membrane_element element;
    bb_plate_factor *factor;
    bb_narrow_factor *narrow; // for rows; NULL: fp64
    rigid_modes rigid;
    bool soft;                      // rigid motions are far more compliant than strains
    bb_workspace_pool *right_sides; // [unknowns][BATCH]
    bb_workspace_pool *nodal_rows;  // [node_count][BATCH], for callers of _rows
};

// Stiffness between a node and its neighbours: block[dy + 1][dx + 1], each 2 x 2.
static void gather(const bb_membrane *membrane, bb_index node, double block[9][2][2])
{
    static const int corner_x[4] = {0, 1, 1, 0};
    static const int corner_y[4] = {0, 0, 1, 1};
    const bb_disc_mesh *mesh = membrane->mesh;
    memset(block, 0, 9 * sizeof *block);
    for (int k = 0; k < 4; ++k) {
        bb_index column = mesh->node_column[node] - corner_x[k];
        bb_index row = mesh->node_row[node] - corner_y[k];
        if (!bb_disc_mesh_has_cell(mesh, column, row)) {
            continue;
        }
        for (int l = 0; l < 4; ++l) {
            int index = 3 * (corner_y[l] - corner_y[k] + 1) + corner_x[l] - corner_x[k] + 1;
            for (int c = 0; c < 4; ++c) {
                block[index][c / 2][c % 2] +=
                    membrane->element.stiffness[2 * k + c / 2][2 * l + c % 2];
            }
        }
    }
}

// Column 2 node + axis of the upper triangle: rows up to the diagonal, ascending.
static void fill_column(const bb_disc_mesh *mesh, bb_index node, int axis,
                        const double (*block)[2][2], bb_upper_triangle *matrix)
{
    int64_t next = matrix->start[2 * node + axis];
    for (int k = 0; k < 9; ++k) {
        bb_index x = mesh->node_column[node] + k % 3 - 1;
        bb_index y = mesh->node_row[node] + k / 3 - 1;
        if (x < 0 || y < 0 || x >= mesh->node_columns || y >= mesh->node_rows) {
            continue;
        }
        int32_t other = mesh->node_at[y * mesh->node_columns + x];
        for (int c = 0; c < 2 && other >= 0; ++c) {
            if (2 * (bb_index)other + c <= 2 * node + axis) {
                matrix->row[next] = 2 * (int64_t)other + c;
                matrix->value[next++] = block[k][axis][c];
            }
        }
    }
    matrix->start[2 * node + axis + 1] = next;
}

static bb_status assemble(const bb_membrane *membrane, bb_upper_triangle *out)
{
    bb_status status = BB_OK;
    const bb_disc_mesh *mesh = membrane->mesh;
    out->unknowns = 2 * (int64_t)mesh->node_count;
    BB_TRY(BB_ALLOCATE(out->unknowns + 1, &out->start));
    BB_TRY(BB_ALLOCATE(MOST_OF_NODE * mesh->node_count, &out->row));
    BB_TRY(BB_ALLOCATE(MOST_OF_NODE * mesh->node_count, &out->value));
    out->start[0] = 0;
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        double block[9][2][2];
        gather(membrane, node, block);
        fill_column(mesh, node, 0, (const double(*)[2][2])block, out);
        fill_column(mesh, node, 1, (const double(*)[2][2])block, out);
    }
done:
    return status;
}

static bb_status make_order(const bb_disc_mesh *mesh, int64_t **out)
{
    bb_status status = BB_OK;
    int32_t *nodes = NULL;
    BB_TRY(BB_ALLOCATE(mesh->node_count, &nodes));
    BB_TRY(BB_ALLOCATE(2 * mesh->node_count, out));
    bb_plate_dissect(mesh, LEAF, nodes);
    for (bb_index i = 0; i < 2 * mesh->node_count; ++i) {
        (*out)[i] = 2 * (int64_t)nodes[i / 2] + i % 2;
    }
done:
    BB_RELEASE(&nodes);
    return status;
}

bb_status bb_membrane_create(const bb_disc_mesh *mesh, const bb_wafer_material_config *wafer,
                             const bb_clamp_config *clamp, bb_membrane **out)
{
    bb_status status = BB_OK;
    bb_membrane *membrane = NULL;
    int64_t *order = NULL;
    bb_upper_triangle matrix = {0};
    bb_plate plate = bb_plate_make(wafer, clamp);
    BB_REQUIRE(!mesh->periodic, BB_INVALID, "a periodic mesh has no membrane");
    BB_TRY(BB_ZEROED(1, &membrane));
    membrane->mesh = mesh;
    bb_membrane_element_make(&plate, mesh->spacing, &membrane->element);
    BB_TRY(rigid_modes_create(mesh, &membrane->rigid));
    membrane->soft = is_soft(&plate, membrane->rigid.area);
    BB_TRY(bb_workspace_pool_create(BATCH * 2 * mesh->node_count, &membrane->right_sides));
    BB_TRY(bb_workspace_pool_create(BATCH * mesh->node_count, &membrane->nodal_rows));
    BB_TRY(make_order(mesh, &order));
    BB_TRY(assemble(membrane, &matrix));
    BB_TRY(bb_plate_factor_create(&matrix, order, &membrane->factor));
    *out = membrane;
    membrane = NULL;
done:
    bb_upper_triangle_release(&matrix);
    BB_RELEASE(&order);
    bb_membrane_destroy(&membrane);
    return status;
}

static const double per_unknown = 7.5; // doubles, over log2 of the unknowns; see plate_factor.h

// Nodes and weights of the rigid modes.
static bb_need modes_need(double nodes)
{
    return (bb_need){.host_bytes = sizeof(bb_membrane) +
                                   nodes * (2.0 * sizeof(int64_t) + 3.0 * sizeof(double))};
}

bb_need bb_membrane_resident(double nodes)
{
    return bb_need_together(modes_need(nodes), bb_plate_factor_resident(2.0 * nodes, per_unknown));
}

bb_need bb_membrane_need(double nodes)
{
    return bb_need_together(modes_need(nodes),
                            bb_plate_factor_need(2.0 * nodes, per_unknown, MOST_OF_NODE * nodes));
}

bb_need bb_membrane_rows_need(double nodes, double rows, double threads)
{
    static const double values_per_second = 4.0e9; // of the factor, on one core, per row
    const double batches = fmin(threads, ceil(rows / BATCH));
    const double values = bb_plate_factor_resident(2.0 * nodes, per_unknown).host_bytes / 8.0;
    const bb_need batch = {.host_bytes = BATCH * 3.0 * nodes * sizeof(double)};
    bb_need need = bb_need_copies(
        bb_need_together(batch, bb_supernodes_solve_need(nodes, 2.0, BATCH)), batches);
    need.seconds = rows * values / (values_per_second * threads);
    return need;
}

bb_status bb_membrane_solve(const bb_membrane *membrane, const double *temperature, double *u)
{
    bb_status status = BB_OK;
    const bb_disc_mesh *mesh = membrane->mesh;
    const bb_index unknowns = 2 * mesh->node_count;
    const int64_t *place = bb_plate_factor_places(membrane->factor);
    double *right = NULL;
    BB_TRY(BB_ZEROED(unknowns, &right));
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *node = mesh->cell_nodes + 4 * cell;
        for (int i = 0; i < 8; ++i) {
            for (int l = 0; l < 4; ++l) {
                right[place[2 * node[i / 2] + i % 2]] +=
                    membrane->element.load[i][l] * temperature[node[l]];
            }
        }
    }
    rigid_modes_unload(&membrane->rigid, place, 1, right);
    BB_TRY(bb_supernodes_solve(bb_plate_factor_supernodes(membrane->factor), 1, 0, NULL, right));
    rigid_modes_remove(&membrane->rigid, place, 1, right);
    for (bb_index i = 0; i < unknowns; ++i) {
        u[i] = right[place[i]];
    }
done:
    BB_RELEASE(&right);
    return status;
}

void bb_membrane_weights(const bb_disc_mesh *mesh, double x, double y, const int32_t **node,
                         double weight[4])
{
    bb_index cell = bb_disc_mesh_nearest(mesh, &x, &y);
    *node = mesh->cell_nodes + 4 * cell;
    double a = (x - bb_disc_mesh_x(mesh, (*node)[0])) / mesh->spacing;
    double b = (y - bb_disc_mesh_y(mesh, (*node)[0])) / mesh->spacing;
    weight[0] = (1.0 - a) * (1.0 - b);
    weight[1] = a * (1.0 - b);
    weight[2] = a * b;
    weight[3] = (1.0 - a) * b;
}

double bb_membrane_at(const bb_membrane *membrane, const double *u, double x, double y, int axis)
{
    const int32_t *node = NULL;
    double weight[4];
    double sum = 0.0;
    bb_membrane_weights(membrane->mesh, x, y, &node, weight);
    for (int k = 0; k < 4; ++k) {
        sum += weight[k] * u[2 * node[k] + axis];
    }
    return sum;
}

// Adds G' of one cell to the rows of a batch.
BB_CLONES static void add_cell(const bb_membrane_element *element, const int32_t *node,
                               const int64_t *place, const double *adjoint, double *rows)
{
    for (int i = 0; i < 8; ++i) {
        const double *source = adjoint + place[2 * node[i / 2] + i % 2] * BATCH;
        for (int l = 0; l < 4; ++l) {
            const double force = element->load[i][l];
            double *sums = rows + (bb_index)node[l] * BATCH;
            for (int p = 0; p < BATCH; ++p) {
                sums[p] += force * source[p];
            }
        }
    }
}

bb_status bb_membrane_rows(const bb_membrane *membrane, int axis, bb_index count, const double *x,
                           const double *y, double *rows)
{
    bb_status status = BB_OK;
    const bb_disc_mesh *mesh = membrane->mesh;
    const bb_supernodes *factor = bb_plate_factor_supernodes(membrane->factor);
    const int64_t *place = bb_plate_factor_places(membrane->factor);
    int64_t touched[4 * BATCH];
    double *adjoint = NULL;
    BB_REQUIRE(count >= 0 && count <= BATCH, BB_INVALID,
               "%td membrane rows at once, expected 0..%d", count, (int)BATCH);
    BB_REQUIRE(axis == BB_AXIS_X || axis == BB_AXIS_Y, BB_UNSUPPORTED,
               "the membrane has axes x and y only: z needs a bending plate; use generator: plate "
               "or kernel");
    BB_TRY(bb_workspace_pool_acquire(membrane->right_sides, &adjoint));
    memset(adjoint, 0, (size_t)(BATCH * factor->unknowns) * sizeof *adjoint);
    for (bb_index p = 0; p < count; ++p) {
        const int32_t *node = NULL;
        double weight[4];
        bb_membrane_weights(mesh, x[p], y[p], &node, weight);
        for (int k = 0; k < 4; ++k) {
            touched[4 * p + k] = place[2 * node[k] + axis];
            adjoint[touched[4 * p + k] * BATCH + p] = weight[k];
        }
    }
    if (membrane->soft) {
        rigid_modes_unload(&membrane->rigid, place, BATCH, adjoint);
    }
    BB_TRY(bb_narrow_factor_solve(membrane->narrow, factor, BATCH, membrane->soft ? 0 : 4 * count,
                                  membrane->soft ? NULL : touched, adjoint));
    if (membrane->soft) {
        rigid_modes_remove(&membrane->rigid, place, BATCH, adjoint);
    }
    memset(rows, 0, (size_t)(BATCH * mesh->node_count) * sizeof *rows);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        add_cell(&membrane->element, mesh->cell_nodes + 4 * cell, place, adjoint, rows);
    }
done:
    bb_workspace_pool_release(membrane->right_sides, &adjoint);
    return status;
}

bb_status bb_membrane_acquire_rows(const bb_membrane *membrane, double **rows)
{
    return bb_workspace_pool_acquire(membrane->nodal_rows, rows);
}

void bb_membrane_release_rows(const bb_membrane *membrane, double **rows)
{
    bb_workspace_pool_release(membrane->nodal_rows, rows);
}

bb_index bb_membrane_factor_values(const bb_membrane *membrane)
{
    return (bb_index)bb_plate_factor_supernodes(membrane->factor)->value_count;
}

const bb_plate_factor *bb_membrane_factor(const bb_membrane *membrane)
{
    return membrane->factor;
}

const bb_membrane_element *bb_membrane_element_of(const bb_membrane *membrane)
{
    return &membrane->element;
}

bool bb_membrane_is_soft(const bb_membrane *membrane)
{
    return membrane->soft;
}

bool bb_membrane_would_be_soft(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    const double radius = 0.5e-3 * wafer->diameter_mm;
    const bb_plate plate = bb_plate_make(wafer, clamp);
    return is_soft(&plate, M_PI * radius * radius);
}

bb_status bb_membrane_narrow(const bb_membrane *membrane, bb_operand_rounding round,
                             bb_membrane **out)
{
    bb_status status = BB_OK;
    bb_membrane *narrow = NULL;
    *out = NULL;
    BB_TRY(BB_ALLOCATE(1, &narrow));
    *narrow = *membrane;
    narrow->narrow = NULL;
    BB_TRY(bb_narrow_factor_create(bb_plate_factor_supernodes(membrane->factor), round,
                                   &narrow->narrow));
    *out = narrow;
    narrow = NULL;
done:
    bb_membrane_narrow_destroy(&narrow);
    return status;
}

void bb_membrane_narrow_destroy(bb_membrane **narrow)
{
    if (*narrow != NULL) {
        bb_narrow_factor_destroy(&(*narrow)->narrow);
        BB_RELEASE(narrow);
    }
}

void bb_membrane_destroy(bb_membrane **membrane)
{
    if (membrane == NULL || *membrane == NULL) {
        return;
    }
    bb_plate_factor_destroy(&(*membrane)->factor);
    rigid_modes_release(&(*membrane)->rigid);
    bb_workspace_pool_destroy(&(*membrane)->right_sides);
    bb_workspace_pool_destroy(&(*membrane)->nodal_rows);
    BB_RELEASE(membrane);
}

_Static_assert((int)BATCH == (int)BB_GRID_BATCH, "rows are made and gathered in the same batches");

// Rows of the aligned batch that starts at `first`, those within `out` (which starts at `row`),
// from its nodal rows.
static void restrict_rows(const bb_fem_response *fem, const double *nodal, bb_index first,
                          bb_index row, bb_index column, bb_view out)
{
    const bb_index begin = row > first ? row - first : 0;
    const bb_index last = row + out.shape[0] - first;
    const bb_index end = last < BATCH ? last : BATCH;
    for (bb_index j = 0; j < out.shape[1]; ++j) {
        double sum[BATCH];
        bb_temperature_grid_gather(fem->grid, column + j, fem->mesh->node_area, nodal, sum);
        for (bb_index p = begin; p < end; ++p) {
            bb_view_row(out, first + p - row)[j] = sum[p];
        }
    }
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    const bb_fem_response *fem = source->context;
    double *nodal = NULL; // [node_count][BATCH]
    BB_TRY(bb_membrane_acquire_rows(fem->membrane, &nodal));
    for (bb_index first = row - row % BATCH; first < row + out.shape[0]; first += BATCH) {
        double x[BATCH] = {0.0};
        double y[BATCH] = {0.0};
        const bb_index more = fem->slit.field_points - first;
        const bb_index count = more < BATCH ? more : BATCH;
        for (bb_index p = 0; p < count; ++p) {
            x[p] = bb_slit_grid_x(&fem->slit, &fem->field, first + p);
            y[p] = bb_slit_grid_y(&fem->slit, &fem->field, first + p);
        }
        BB_TRY(bb_membrane_rows(fem->membrane, fem->axis, count, x, y, nodal));
        restrict_rows(fem, nodal, first, row, column, out);
    }
done:
    bb_membrane_release_rows(fem->membrane, &nodal);
    return status;
}

bb_status bb_fem_response_make(const bb_disc_mesh *mesh, const bb_membrane *membrane,
                               const bb_temperature_grid *grid, const bb_slit_grid *slit,
                               const bb_field *field, int axis, bb_fem_response *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(axis == BB_AXIS_X || axis == BB_AXIS_Y, BB_UNSUPPORTED,
               "axis z needs generator plate: a membrane has no bending");
    *out = (bb_fem_response){
        .source = {.rows = slit->field_points,
                   .columns = grid->cell_count,
                   .name = axis == BB_AXIS_X ? "C_x" : "C_y",
                   .unit = "m/K",
                   .fill = fill,
                   .context = out},
        .mesh = mesh,
        .membrane = membrane,
        .grid = grid,
        .slit = *slit,
        .field = *field,
        .axis = axis,
    };
done:
    return status;
}

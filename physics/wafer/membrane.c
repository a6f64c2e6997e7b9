// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/membrane.h"

#include "core/memory.h"
#include "physics/wafer/cholmod_status.h"
#include "physics/wafer/dissection.h"
#include "physics/wafer/membrane_element.h"

#include <string.h>

// At most 9 neighbours a node, two unknowns each, lower triangle.
enum { MOST_IN_COLUMN = 18, LEAF = 8 };

struct bb_membrane {
    const bb_disc_mesh *mesh;
    bb_membrane_element element;
    cholmod_common common;
    cholmod_factor *factor;
};

// Stiffness between node and its neighbours: block[dy + 1][dx + 1], each 2 x 2.
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
            int at = 3 * (corner_y[l] - corner_y[k] + 1) + corner_x[l] - corner_x[k] + 1;
            for (int c = 0; c < 4; ++c) {
                block[at][c / 2][c % 2] +=
                    membrane->element.stiffness[2 * k + c / 2][2 * l + c % 2];
            }
        }
    }
}

// Column 2 node + axis of the upper triangle: rows up to the diagonal, ascending.
static void fill_column(const bb_disc_mesh *mesh, bb_index node, int axis,
                        const double (*block)[2][2], cholmod_sparse *matrix)
{
    SuiteSparse_long *start = matrix->p;
    SuiteSparse_long *row = matrix->i;
    double *value = matrix->x;
    SuiteSparse_long at = start[2 * node + axis];
    for (int k = 0; k < 9; ++k) {
        bb_index x = mesh->node_column[node] + k % 3 - 1;
        bb_index y = mesh->node_row[node] + k / 3 - 1;
        if (x < 0 || y < 0 || x >= mesh->node_columns || y >= mesh->node_rows) {
            continue;
        }
        int32_t other = mesh->node_at[y * mesh->node_columns + x];
        for (int c = 0; c < 2 && other >= 0; ++c) {
            if (2 * (bb_index)other + c <= 2 * node + axis) {
                row[at] = 2 * (SuiteSparse_long)other + c;
                value[at++] = block[k][axis][c];
            }
        }
    }
    start[2 * node + axis + 1] = at;
}

static bb_status assemble(bb_membrane *membrane, cholmod_sparse **out)
{
    bb_status status = BB_OK;
    const bb_disc_mesh *mesh = membrane->mesh;
    size_t unknowns = 2 * (size_t)mesh->node_count;
    cholmod_sparse *matrix =
        cholmod_l_allocate_sparse(unknowns, unknowns, MOST_IN_COLUMN * unknowns / 2 + unknowns, 1,
                                  1, 1, CHOLMOD_REAL, &membrane->common);
    BB_TRY(bb_cholmod_status(&membrane->common, "assembly", "membrane"));
    ((SuiteSparse_long *)matrix->p)[0] = 0;
    for (bb_index node = 0; node < mesh->node_count; ++node) {
        double block[9][2][2];
        gather(membrane, node, block);
        fill_column(mesh, node, 0, (const double(*)[2][2])block, matrix);
        fill_column(mesh, node, 1, (const double(*)[2][2])block, matrix);
    }
    *out = matrix;
done:
    return status;
}

static bb_status make_permutation(const bb_disc_mesh *mesh, SuiteSparse_long **out)
{
    bb_status status = BB_OK;
    int32_t *order = NULL;
    SuiteSparse_long *permutation = NULL;
    BB_TRY(BB_ALLOCATE(mesh->node_count, &order));
    BB_TRY(BB_ALLOCATE(2 * mesh->node_count, &permutation));
    bb_dissection_order(mesh, LEAF, order);
    for (bb_index i = 0; i < 2 * mesh->node_count; ++i) {
        permutation[i] = 2 * (SuiteSparse_long)order[i / 2] + i % 2;
    }
    *out = permutation;
done:
    BB_RELEASE(&order);
    return status;
}

static void settings(cholmod_common *common)
{
    (void)cholmod_l_start(common);
    common->supernodal = CHOLMOD_SUPERNODAL;
    common->nmethods = 1;
    common->method[0].ordering = CHOLMOD_GIVEN;
    common->print = 0;
}

bb_status bb_membrane_create(const bb_disc_mesh *mesh, const bb_wafer_material_config *wafer,
                             const bb_clamp_config *clamp, bb_membrane **out)
{
    bb_status status = BB_OK;
    bb_membrane *membrane = NULL;
    SuiteSparse_long *permutation = NULL;
    cholmod_sparse *matrix = NULL;
    bb_plate plate = bb_plate_make(wafer, clamp);
    BB_REQUIRE(!mesh->periodic, BB_INVALID, "a periodic mesh has no membrane");
    BB_TRY(BB_ZEROED(1, &membrane));
    membrane->mesh = mesh;
    settings(&membrane->common);
    bb_membrane_element_make(&plate, mesh->spacing, &membrane->element);
    BB_TRY(make_permutation(mesh, &permutation));
    BB_TRY(assemble(membrane, &matrix));
    membrane->factor = cholmod_l_analyze_p(matrix, permutation, NULL, 0, &membrane->common);
    BB_TRY(bb_cholmod_status(&membrane->common, "analysis", "membrane"));
    (void)cholmod_l_factorize(matrix, membrane->factor, &membrane->common);
    BB_TRY(bb_cholmod_status(&membrane->common, "factorisation", "membrane"));
    *out = membrane;
    membrane = NULL;
    (void)cholmod_l_free_sparse(&matrix, &(*out)->common);
done:
    if (membrane != NULL) {
        (void)cholmod_l_free_sparse(&matrix, &membrane->common);
    }
    BB_RELEASE(&permutation);
    bb_membrane_destroy(&membrane);
    return status;
}

// Solves K x = right in a CHOLMOD of its own, so that threads do not meet; column-major.
static bb_status solve(const bb_membrane *membrane, double *right, size_t columns, double *x)
{
    bb_status status = BB_OK;
    cholmod_common common;
    size_t unknowns = 2 * (size_t)membrane->mesh->node_count;
    cholmod_dense side = {.nrow = unknowns,
                          .ncol = columns,
                          .nzmax = unknowns * columns,
                          .d = unknowns,
                          .x = right,
                          .xtype = CHOLMOD_REAL,
                          .dtype = CHOLMOD_DOUBLE};
    settings(&common);
    cholmod_dense *answer = cholmod_l_solve(CHOLMOD_A, membrane->factor, &side, &common);
    BB_TRY(bb_cholmod_status(&common, "solution", "membrane"));
    memcpy(x, answer->x, unknowns * columns * sizeof *x);
done:
    (void)cholmod_l_free_dense(&answer, &common);
    (void)cholmod_l_finish(&common);
    return status;
}

bb_status bb_membrane_solve(const bb_membrane *membrane, const double *temperature, double *u)
{
    bb_status status = BB_OK;
    const bb_disc_mesh *mesh = membrane->mesh;
    double *right = NULL;
    BB_TRY(BB_ZEROED(2 * mesh->node_count, &right));
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *node = mesh->cell_nodes + 4 * cell;
        for (int i = 0; i < 8; ++i) {
            for (int l = 0; l < 4; ++l) {
                right[2 * node[i / 2] + i % 2] +=
                    membrane->element.load[i][l] * temperature[node[l]];
            }
        }
    }
    BB_TRY(solve(membrane, right, 1, u));
done:
    BB_RELEASE(&right);
    return status;
}

// Nodes around a point, of the edge for a point off the mesh, and their bilinear weights.
static void weigh(const bb_disc_mesh *mesh, double x, double y, const int32_t **node,
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
    weigh(membrane->mesh, x, y, &node, weight);
    for (int k = 0; k < 4; ++k) {
        sum += weight[k] * u[2 * node[k] + axis];
    }
    return sum;
}

// row = G' adjoint.
static void apply_load(const bb_membrane *membrane, const double *adjoint, double *row)
{
    const bb_disc_mesh *mesh = membrane->mesh;
    memset(row, 0, (size_t)mesh->node_count * sizeof *row);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *node = mesh->cell_nodes + 4 * cell;
        for (int l = 0; l < 4; ++l) {
            double sum = 0.0;
            for (int i = 0; i < 8; ++i) {
                sum += membrane->element.load[i][l] * adjoint[2 * node[i / 2] + i % 2];
            }
            row[node[l]] += sum;
        }
    }
}

bb_status bb_membrane_rows(const bb_membrane *membrane, int axis, bb_index count, const double *x,
                           const double *y, double *rows)
{
    bb_status status = BB_OK;
    const bb_disc_mesh *mesh = membrane->mesh;
    bb_index unknowns = 2 * mesh->node_count;
    double *right = NULL;
    double *adjoint = NULL;
    BB_REQUIRE(count >= 0 && count <= BB_MEMBRANE_BATCH, BB_INVALID,
               "%td membrane rows at once, expected 0..%d", count, (int)BB_MEMBRANE_BATCH);
    BB_REQUIRE(axis == BB_AXIS_X || axis == BB_AXIS_Y, BB_UNSUPPORTED,
               "the membrane has axes x and y only: z needs a bending plate, which generator fem "
               "does not have; use generator: plate or kernel");
    BB_TRY(BB_ZEROED(BB_MEMBRANE_BATCH * unknowns, &right));
    BB_TRY(BB_ALLOCATE(BB_MEMBRANE_BATCH * unknowns, &adjoint));
    for (bb_index i = 0; i < count; ++i) {
        const int32_t *node = NULL;
        double weight[4];
        weigh(mesh, x[i], y[i], &node, weight);
        for (int k = 0; k < 4; ++k) {
            right[i * unknowns + 2 * node[k] + axis] = weight[k];
        }
    }
    BB_TRY(solve(membrane, right, BB_MEMBRANE_BATCH, adjoint));
    for (bb_index i = 0; i < count; ++i) {
        apply_load(membrane, adjoint + i * unknowns, rows + i * mesh->node_count);
    }
done:
    BB_RELEASE(&right);
    BB_RELEASE(&adjoint);
    return status;
}

bb_index bb_membrane_factor_values(const bb_membrane *membrane)
{
    return (bb_index)membrane->factor->xsize;
}

void bb_membrane_destroy(bb_membrane **membrane)
{
    if (membrane == NULL || *membrane == NULL) {
        return;
    }
    (void)cholmod_l_free_factor(&(*membrane)->factor, &(*membrane)->common);
    (void)cholmod_l_finish(&(*membrane)->common);
    BB_RELEASE(membrane);
}

// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/fem_response.h"

enum { BATCH = BB_MEMBRANE_BATCH };
_Static_assert((int)BATCH == (int)BB_GRID_BATCH, "rows are made and gathered in the same batches");

// Rows of the aligned batch that starts at `first`, as far as `out` (which starts at `row`) holds
// them, from its nodal rows.
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
    BB_TRY(bb_membrane_take_rows(fem->membrane, &nodal));
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
    bb_membrane_give_rows(fem->membrane, &nodal);
    return status;
}

bb_status bb_fem_response_make(const bb_disc_mesh *mesh, const bb_membrane *membrane,
                               const bb_temperature_grid *grid, const bb_slit_grid *slit,
                               const bb_field *field, int axis, bb_fem_response *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(axis == BB_AXIS_X || axis == BB_AXIS_Y, BB_UNSUPPORTED,
               "axis z needs the bending plate, which a membrane does not have");
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

// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/fem_response.h"

#include "core/memory.h"

typedef struct batch_task {
    const bb_fem_response *fem;
    double *nodal; // [BB_MEMBRANE_BATCH][node_count]
    double *cells; // [cell_count]
} batch_task;

// Turns nodal rows into rows of S, for the columns that are wanted.
static bb_status restrict_row(const batch_task *task, double *nodal, bb_index column,
                              bb_index count, double *out)
{
    const bb_disc_mesh *mesh = task->fem->mesh;
    const bb_temperature_grid *grid = task->fem->grid;
    for (bb_index i = 0; i < mesh->node_count; ++i) {
        nodal[i] /= mesh->node_area[i];
    }
    BB_RETURN_IF_FAILED(bb_csr_multiply(&grid->restriction, nodal, task->cells));
    for (bb_index j = 0; j < count; ++j) {
        out[j] = grid->area[column + j] * task->cells[column + j];
    }
    return BB_OK;
}

// Rows of the aligned batch that starts at `first`, as far as `out` (which starts at `row`) holds
// them.
static bb_status fill_batch(const batch_task *task, bb_index first, bb_index row, bb_index column,
                            bb_view out)
{
    bb_status status = BB_OK;
    const bb_fem_response *fem = task->fem;
    double x[BB_MEMBRANE_BATCH] = {0.0};
    double y[BB_MEMBRANE_BATCH] = {0.0};
    bb_index count = fem->slit.field_points - first;
    count = count < BB_MEMBRANE_BATCH ? count : BB_MEMBRANE_BATCH;
    for (bb_index i = 0; i < count; ++i) {
        x[i] = bb_slit_grid_x(&fem->slit, &fem->field, first + i);
        y[i] = bb_slit_grid_y(&fem->slit, &fem->field, first + i);
    }
    BB_TRY(bb_membrane_rows(fem->membrane, fem->axis, count, x, y, task->nodal));
    for (bb_index i = 0; i < count; ++i) {
        bb_index at = first + i - row;
        if (at >= 0 && at < out.shape[0]) {
            BB_TRY(restrict_row(task, task->nodal + i * fem->mesh->node_count, column, out.shape[1],
                                bb_view_row(out, at)));
        }
    }
done:
    return status;
}

static bb_status fill(const bb_matrix_source *source, bb_index row, bb_index column, bb_view out)
{
    bb_status status = BB_OK;
    const bb_fem_response *fem = source->context;
    batch_task task = {.fem = fem};
    BB_TRY(BB_ALLOCATE(BB_MEMBRANE_BATCH * fem->mesh->node_count, &task.nodal));
    BB_TRY(BB_ALLOCATE(fem->grid->cell_count, &task.cells));
    bb_index first = row - row % BB_MEMBRANE_BATCH;
    for (; first < row + out.shape[0]; first += BB_MEMBRANE_BATCH) {
        BB_TRY(fill_batch(&task, first, row, column, out));
    }
done:
    BB_RELEASE(&task.nodal);
    BB_RELEASE(&task.cells);
    return status;
}

bb_status bb_fem_response_make(const bb_disc_mesh *mesh, const bb_membrane *membrane,
                               const bb_temperature_grid *grid, const bb_slit_grid *slit,
                               const bb_field *field, int axis, bb_fem_response *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(axis == BB_AXIS_X || axis == BB_AXIS_Y, BB_UNSUPPORTED,
               "response.axes: z needs the bending plate, which response.generator fem does not "
               "have; take x and y only, or generator: plate or kernel");
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

// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_response.h"

#include "core/memory.h"
#include "core/portable.h"
#include "physics/wafer/response/plate_sample.h"

#include <math.h>
#include <string.h>

enum { BATCH = BB_PLATE_BATCH };
_Static_assert((int)BATCH == (int)BB_GRID_BATCH, "rows are made and gathered in the same batches");

// Part of a batch that is wanted: its rows [begin, end) go to `out` from row `first_row` on.
typedef struct wanted {
    int begin, end;
    bb_index first_row;
    bb_index column;
    bb_view out;
} wanted;

// `moments` are those of the second block of columns, NULL without one.
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

// What row `point` of z takes from the centres of cells, it no longer takes from nodes.
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
    double sum = bb_temperature_grid_weigh(plate->grid, sample->x, sample->y, cell, weight);
    for (int k = 0; k < 4; ++k) {
        if (weight[k] > 0.0 && cell[k] >= column && cell[k] < column + count) {
            out[cell[k] - column] += height * weight[k] / sum;
        }
    }
}

// Rows of the batch that starts at point `first`.
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
    double *moments = NULL; // the same
    bb_index last = row + out.shape[0];
    BB_TRY(bb_workspace_pool_take(plate->plate->nodal_rows, &nodal));
    if (plate->modes > 1) {
        BB_TRY(bb_workspace_pool_take(plate->plate->nodal_rows, &moments));
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
    bb_workspace_pool_give(plate->plate->nodal_rows, &nodal);
    bb_workspace_pool_give(plate->plate->nodal_rows, &moments);
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
    static const double values_per_second = 8.5e9; // of the factor, of one core, for a row
    const double batches = fmin(threads, ceil(rows / BATCH));
    const double values = bb_coupled_plate_held(nodes).host_bytes / sizeof(double);
    const bb_need batch = {
        .host_bytes = BATCH * ((BB_PLATE_UNKNOWNS + modes) * nodes * sizeof(double) +
                               sizeof(bb_plate_sample) + BB_PLATE_SAMPLE * sizeof(int64_t))};
    bb_need need = bb_need_copies(
        bb_need_together(batch, bb_supernodes_solve_need(nodes, BB_PLATE_UNKNOWNS, BATCH)),
        batches);
    need.seconds = rows * values / (values_per_second * threads);
    return need;
}

// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/rounding_sweep.h"

#include "core/memory.h"
#include "solvers/factor/rounding_engine.h"
#include "solvers/factor/tiles/tile_matrix.h"

#include <cblas.h>
#include <math.h>

static const double rounding_seconds = 1.2e-8; // time per value for a codec, on one core
// Time per value and column of its panel for the feedback, on one core.
static const double panel_seconds = 2.5e-10;
static const double library_bytes = 1.0e8; // memory of a cuBLAS handle

// Panels are the factor's columns of tiles.
typedef struct tiles {
    const bb_tile_matrix *factor;
    double *fed;    // [m][n] sum over later columns j of E_j L_jk
    double *errors; // [m][tile_size] E of the tile's columns
} tiles;

static bb_status begin_panel(void *context, bb_index index, bb_rounding_panel *out)
{
    const tiles *work = context;
    const bb_tile_matrix *factor = work->factor;
    const bb_tile *diagonal = bb_tile_matrix_at(factor, index, index);
    const bb_index first = index * factor->tile_size;
    *out = (bb_rounding_panel){.first = first,
                               .width = diagonal->columns,
                               .diagonal = diagonal->f64,
                               .fed = work->fed + first,
                               .fed_stride = factor->n,
                               .errors = work->errors,
                               .errors_stride = factor->tile_size};
    return BB_OK;
}

// Feedback of the tile's columns to earlier columns, for some rows.
static bb_status receive_rows(void *context, const bb_rounding_panel *panel, bb_index begin,
                              bb_index end)
{
    const tiles *work = context;
    const bb_tile_matrix *factor = work->factor;
    const bb_index index = panel->first / factor->tile_size;
    for (bb_index j = 0; j < index; ++j) {
        const bb_tile *tile = bb_tile_matrix_at(factor, index, j);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin),
                    (int)tile->columns, (int)tile->rows, 1.0,
                    work->errors + begin * factor->tile_size, (int)factor->tile_size, tile->f64,
                    (int)tile->columns, 1.0, work->fed + begin * factor->n + j * factor->tile_size,
                    (int)factor->n);
    }
    return BB_OK;
}

static double pivot_of(const void *context, bb_index column)
{
    const tiles *work = context;
    return bb_tile_matrix_pivot(work->factor, column);
}

static const double *column_of(const void *context, const bb_rounding_panel *panel, bb_index column,
                               bb_index *stride)
{
    const tiles *work = context;
    const bb_index size = work->factor->tile_size;
    const bb_tile *tile = bb_tile_matrix_at(work->factor, panel->first / size, column / size);
    *stride = tile->columns;
    return tile->f64 + column % size;
}

static bb_status check_tiles(const bb_tile_matrix *factor)
{
    bb_status status = BB_OK;
    BB_REQUIRE(factor->access == NULL, BB_UNSUPPORTED,
               "rounding sweep: some tiles of the factor are not in memory");
    for (bb_index i = 0; i < factor->tile_rows; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            BB_REQUIRE(bb_tile_matrix_at(factor, i, j)->f64 != NULL, BB_INVALID,
                       "rounding sweep: tile (%td, %td) of the factor is not fp64", i, j);
        }
    }
done:
    return status;
}

bb_status bb_rounding_sweep(const bb_tile_matrix *factor, const bb_rounding_step *step, bb_index m,
                            double *r, double *excess)
{
    bb_status status = BB_OK;
    tiles work = {.factor = factor};
    const bb_rounding_engine engine = {.n = factor->n,
                                       .panels = factor->tile_rows,
                                       .context = &work,
                                       .begin_panel = begin_panel,
                                       .take_rows = receive_rows,
                                       .pivot = pivot_of,
                                       .column = column_of};
    BB_TRY(check_tiles(factor));
    BB_TRY(BB_ZEROED(m * factor->n, &work.fed));
    BB_TRY(BB_ALLOCATE(m * factor->tile_size, &work.errors));
    BB_TRY(bb_rounding_engine_run(&engine, step, m, r, excess));
done:
    BB_RELEASE(&work.fed);
    BB_RELEASE(&work.errors);
    return status;
}

bb_need bb_rounding_sweep_need(bb_index n, bb_index m, bb_index tile_size)
{
    const double width = (double)(tile_size < n ? tile_size : n);
    return (bb_need){.host_bytes = sizeof(double) * (double)m * ((double)n + width + 1.0),
                     .seconds = 2.0 * (double)m * (double)n * (double)n / BB_NEED_FP64_RATE};
}

bb_need bb_rounding_sweep_panels_need(bb_index n, bb_index m, double threads)
{
    const double rows = (double)m;
    const double columns = (double)n;
    const double width = fmin((double)BB_ROUNDING_PANEL, columns);
    const double handed = 2.0 * rows * width; // arrays F and E, on host and device
    const double rounding = rows * columns * (rounding_seconds + width * panel_seconds);
    const double products = rows * columns * columns / BB_NEED_DEVICE_RATE;
    return (bb_need){.host_bytes = sizeof(double) * (handed + width * width + columns + rows),
                     .device_bytes = library_bytes + sizeof(double) * (rows * columns + handed +
                                                                       width * columns + columns),
                     .seconds = fmax(products, rounding / threads)};
}

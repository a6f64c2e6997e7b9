// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/rounding_sweep.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>

enum { ROWS = 32 }; // of R that a task rounds; fixed, so that sums do not depend on the threads

typedef struct sweep {
    const bb_tile_matrix *factor;
    const bb_rounding_step *step;
    bb_index m;
    double *r;      // [m][n]
    double *fed;    // [m][n] sum over later columns j of E_j L_jk
    double *errors; // [m][tile_size] E of the tile's columns
    double *paid;   // [m] of each row, by (1)
    bb_index tile;  // the one at work
} sweep;

// What an earlier column was fed, or is to be by the columns of the tile at work from `first` on.
static double fed_to(const sweep *work, bb_index row, bb_index column, bb_index first)
{
    const bb_index size = work->factor->tile_size;
    double fed = work->fed[row * work->factor->n + column];
    if (column < work->tile * size) {
        const bb_tile *tile = bb_tile_matrix_at(work->factor, work->tile, column / size);
        for (bb_index k = first; k < tile->rows; ++k) {
            fed += work->errors[row * size + k] * tile->f64[k * tile->columns + column % size];
        }
    }
    return fed;
}

static double scale_of(const sweep *work, bb_index column)
{
    return work->step->scales == NULL ? 1.0 : work->step->scales[column];
}

// Tells of the block that ends with `last`, where one does.
static void enter_block(const sweep *work, bb_index row, bb_index last)
{
    const bb_rounding_step *step = work->step;
    const bb_index n = work->factor->n;
    const bb_index size = work->factor->tile_size;
    double values[BB_ROUNDING_BLOCK];
    if (step->block == 0 || ((last + 1) % step->block != 0 && last + 1 != n)) {
        return;
    }
    const bb_index first = last / step->block * step->block;
    for (bb_index column = first; column <= last; ++column) {
        const bb_tile *diagonal = bb_tile_matrix_at(work->factor, column / size, column / size);
        const double pivot = diagonal->f64[column % size * (diagonal->columns + 1)];
        values[column - first] = work->r[row * n + column] -
                                 scale_of(work, column) *
                                     fed_to(work, row, column, last + 1 - work->tile * size) /
                                     pivot;
    }
    step->enter(step->context, row, first, last + 1 - first, values);
}

// Rounds a row's columns of the tile, from the last to the first.
static void round_row(const sweep *work, const bb_tile *diagonal, bb_index row)
{
    const bb_index n = work->factor->n;
    const bb_index begin = work->tile * work->factor->tile_size;
    const bb_index columns = diagonal->columns;
    double *values = work->r + row * n + begin;
    double *fed = work->fed + row * n + begin;
    double *errors = work->errors + row * work->factor->tile_size;
    for (bb_index k = columns - 1; k >= 0; --k) {
        const double pivot = diagonal->f64[k * columns + k];
        const double scale = scale_of(work, begin + k);
        enter_block(work, row, begin + k);
        const double wanted = values[k] - scale * fed[k] / pivot;
        const double stored = work->step->round(work->step->context, row, begin + k, wanted);
        const double remainder = (stored - wanted) / scale * pivot;
        errors[k] = (stored - values[k]) / scale;
        work->paid[row] += remainder * remainder;
        values[k] = stored;
        cblas_daxpy((int)k, errors[k], diagonal->f64 + k * columns, 1, fed, 1);
    }
}

// The tile's columns of some rows, and what they feed to the columns before.
static bb_status round_rows(void *context, bb_index begin, bb_index end)
{
    const sweep *work = context;
    const bb_tile_matrix *factor = work->factor;
    const bb_tile *diagonal = bb_tile_matrix_at(factor, work->tile, work->tile);
    for (bb_index row = begin; row < end; ++row) {
        round_row(work, diagonal, row);
    }
    for (bb_index j = 0; j < work->tile; ++j) {
        const bb_tile *tile = bb_tile_matrix_at(factor, work->tile, j);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin),
                    (int)tile->columns, (int)tile->rows, 1.0,
                    work->errors + begin * factor->tile_size, (int)factor->tile_size, tile->f64,
                    (int)tile->columns, 1.0, work->fed + begin * factor->n + j * factor->tile_size,
                    (int)factor->n);
    }
    return BB_OK;
}

static bb_status check_tiles(const bb_tile_matrix *factor)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < factor->tile_rows; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            BB_REQUIRE(bb_tile_matrix_at(factor, i, j)->f64 != NULL, BB_INVALID,
                       "rounding in a sweep: tile (%td, %td) of the factor is not fp64", i, j);
        }
    }
done:
    return status;
}

bb_status bb_rounding_sweep(const bb_tile_matrix *factor, const bb_rounding_step *step, bb_index m,
                            double *r, double *excess)
{
    bb_status status = BB_OK;
    sweep work = {.factor = factor, .step = step, .m = m, .r = r};
    BB_TRY(check_tiles(factor));
    BB_REQUIRE(step->block >= 0 && step->block <= BB_ROUNDING_BLOCK, BB_INVALID,
               "rounding in a sweep: blocks of %td columns, expected at most %d", step->block,
               BB_ROUNDING_BLOCK);
    BB_TRY(BB_ZEROED(m * factor->n, &work.fed));
    BB_TRY(BB_ALLOCATE(m * factor->tile_size, &work.errors));
    BB_TRY(BB_ZEROED(m, &work.paid));
    for (work.tile = factor->tile_rows - 1; work.tile >= 0; --work.tile) {
        BB_TRY(bb_thread_ranges(m, ROWS, round_rows, &work));
    }
    for (bb_index row = 0; excess != NULL && row < m; ++row) {
        *excess = (row == 0 ? 0.0 : *excess) + work.paid[row];
    }
done:
    BB_RELEASE(&work.fed);
    BB_RELEASE(&work.errors);
    BB_RELEASE(&work.paid);
    return status;
}

bb_need bb_rounding_sweep_need(bb_index n, bb_index m, bb_index tile_size)
{
    const double width = (double)(tile_size < n ? tile_size : n);
    return (bb_need){.host_bytes = sizeof(double) * (double)m * ((double)n + width + 1.0),
                     .seconds = 2.0 * (double)m * (double)n * (double)n / BB_NEED_FP64_RATE};
}

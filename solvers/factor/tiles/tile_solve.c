// SPDX-License-Identifier: Apache-2.0
//
// The sweeps of tile_cholesky.h with a factored matrix.
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "solvers/factor/tiles/tile_operand.h"
#include "solvers/factor/tiles/tile_sweep.h"

#include <cblas.h>
#include <math.h>

// Right-hand sides are swept in blocks of fixed height, so that the bits do not depend on threads.
enum { BLOCK_ROWS = 32 };

typedef struct sweeping {
    const bb_tile_matrix *factor;
    bb_index count;
    double *x; // [count][n]
    bool wide; // every tile is dp
} sweeping;

static bool all_dp(const bb_tile_matrix *matrix)
{
    for (bb_index t = 0; t < matrix->tile_rows * (matrix->tile_rows + 1) / 2; ++t) {
        if (matrix->tiles[t].f64 == NULL) {
            return false;
        }
    }
    return true;
}

// A block of right-hand sides in the working type of the solve.
typedef struct block {
    const bb_tile_matrix *factor;
    bb_index rows;
    double *wide;   // [rows][n], or NULL
    float *narrow;  // [rows][n], or NULL
    float *scratch; // one tile, for dp tiles met by a narrow solve
} block;

// X_k <- X_k - X_j op(tile): L_kj^T going forward (j < k), L_jk going backward (j > k).
static void subtract(const block *x, bb_index k, bb_index j)
{
    const bb_tile_matrix *factor = x->factor;
    const bb_tile *tile = j < k ? bb_tile_matrix_at(factor, k, j) : bb_tile_matrix_at(factor, j, k);
    CBLAS_TRANSPOSE transpose = j < k ? CblasTrans : CblasNoTrans;
    int columns = (int)(j < k ? tile->rows : tile->columns);
    int depth = (int)(j < k ? tile->columns : tile->rows);
    int n = (int)factor->n;
    bb_index start = j * factor->tile_size;
    bb_index target = k * factor->tile_size;
    if (x->wide != NULL) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, transpose, (int)x->rows, columns, depth, -1.0,
                    x->wide + start, n, tile->f64, (int)tile->columns, 1.0, x->wide + target, n);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, (int)x->rows, columns, depth, -1.0F,
                    x->narrow + start, n, bb_tile_as_f32(tile, x->scratch), (int)tile->columns,
                    1.0F, x->narrow + target, n);
    }
}

// X_k <- X_k L_kk^-T going forward, X_k L_kk^-1 going backward.
static void divide(const block *x, bb_index k, CBLAS_TRANSPOSE transpose)
{
    const bb_tile *tile = bb_tile_matrix_at(x->factor, k, k);
    int n = (int)x->factor->n;
    int size = (int)tile->rows;
    bb_index index = k * x->factor->tile_size;
    if (x->wide != NULL) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, transpose, CblasNonUnit, (int)x->rows,
                    size, 1.0, tile->f64, size, x->wide + index, n);
    } else {
        cblas_strsm(CblasRowMajor, CblasRight, CblasLower, transpose, CblasNonUnit, (int)x->rows,
                    size, 1.0F, bb_tile_as_f32(tile, x->scratch), size, x->narrow + index, n);
    }
}

static void sweep(const block *x)
{
    bb_index tiles = x->factor->tile_rows;
    for (bb_index k = 0; k < tiles; ++k) {
        for (bb_index j = 0; j < k; ++j) {
            subtract(x, k, j);
        }
        divide(x, k, CblasTrans);
    }
    for (bb_index k = tiles - 1; k >= 0; --k) {
        for (bb_index j = tiles - 1; j > k; --j) {
            subtract(x, k, j);
        }
        divide(x, k, CblasNoTrans);
    }
}

static bb_status sweep_block(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const sweeping *work = context;
    bb_index n = work->factor->n;
    bb_index begin = index * BLOCK_ROWS;
    bb_index rows = work->count - begin < BLOCK_ROWS ? work->count - begin : BLOCK_ROWS;
    double *values = work->x + begin * n;
    block x = {.factor = work->factor, .rows = rows};
    if (work->wide) {
        x.wide = values;
        sweep(&x);
        goto done;
    }
    BB_TRY(BB_ALLOCATE(rows * n, &x.narrow));
    BB_TRY(BB_ALLOCATE(work->factor->tile_size * work->factor->tile_size, &x.scratch));
    for (bb_index i = 0; i < rows * n; ++i) {
        x.narrow[i] = (float)values[i];
    }
    sweep(&x);
    for (bb_index i = 0; i < rows * n; ++i) {
        values[i] = x.narrow[i];
    }
done:
    BB_RELEASE(&x.narrow);
    BB_RELEASE(&x.scratch);
    bb_log_progress_within(begin + rows, work->count);
    return status;
}

bb_need bb_tile_cholesky_solve_need(const bb_tile_plan *plan, bb_index n, bb_index rows,
                                    double threads)
{
    const bb_index size = plan->tile_size < n ? plan->tile_size : n;
    const double flops = bb_tile_cholesky_flops(n, rows) - bb_tile_cholesky_flops(n, 0);
    const bool wide = bb_variant_describe(plan->arithmetic)->output == BB_FORMAT_FP64;
    const double height = fmin((double)rows, BLOCK_ROWS);
    const double busy = fmin(threads, ceil((double)rows / BLOCK_ROWS));
    bb_need need = {.seconds = flops / ((wide ? BB_NEED_FP64_RATE : BB_NEED_FP32_RATE) * threads)};
    if (plan->sweeps != BB_POLICY_SWEEPS_SP && !wide) {
        need.host_bytes = bb_tile_sweep_need(n, size, rows, threads).host_bytes;
    } else if (!wide) { // a block in fp32, and a dp tile among others
        need.host_bytes = busy * sizeof(float) * (height * (double)n + (double)size * (double)size);
    }
    return need;
}

bb_status bb_tile_cholesky_solve(const bb_tile_matrix *factor, bb_index count, double *x)
{
    if (factor->sweeps != BB_POLICY_SWEEPS_SP && !all_dp(factor)) {
        return bb_tile_sweep_narrow(factor, count, x);
    }
    sweeping work = {factor, count, x, all_dp(factor)};
    return bb_thread_for((count + BLOCK_ROWS - 1) / BLOCK_ROWS, sweep_block, &work);
}

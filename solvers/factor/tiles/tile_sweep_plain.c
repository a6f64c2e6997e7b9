// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/factor/tiles/tile_operand.h"
#include "solvers/factor/tiles/tile_sweep.h"

#include <cblas.h>
#include <math.h>

enum { BLOCK_ROWS = 32 };

// A block of right-hand sides in the working type of the solve.
typedef struct block {
    const bb_tile_matrix *factor;
    bb_index rows;
    double *x;      // [rows][n], the caller's right-hand sides
    float *narrow;  // [rows][n], or NULL if every tile is dp
    float *scratch; // one tile, for dp tiles in an fp32 solve
} block;

bool bb_tile_sweep_is_wide(const bb_tile_matrix *factor)
{
    for (bb_index t = 0; t < factor->tile_rows * (factor->tile_rows + 1) / 2; ++t) {
        if (factor->tiles[t].format != BB_FORMAT_FP64) {
            return false;
        }
    }
    return true;
}

// X_k <- X_k - X_j op(tile): L_kj^T in the forward sweep (j < k), L_jk in the backward sweep (j >
// k).
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
    if (x->narrow == NULL) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, transpose, (int)x->rows, columns, depth, -1.0,
                    x->x + start, n, tile->f64, (int)tile->columns, 1.0, x->x + target, n);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, transpose, (int)x->rows, columns, depth, -1.0F,
                    x->narrow + start, n, bb_tile_as_f32(tile, x->scratch), (int)tile->columns,
                    1.0F, x->narrow + target, n);
    }
}

// X_k <- X_k L_kk^-T in the forward sweep, X_k L_kk^-1 in the backward sweep.
static void divide(const block *x, bb_index k, CBLAS_TRANSPOSE transpose)
{
    const bb_tile *tile = bb_tile_matrix_at(x->factor, k, k);
    int n = (int)x->factor->n;
    int size = (int)tile->rows;
    bb_index index = k * x->factor->tile_size;
    if (x->narrow == NULL) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, transpose, CblasNonUnit, (int)x->rows,
                    size, 1.0, tile->f64, size, x->x + index, n);
    } else {
        cblas_strsm(CblasRowMajor, CblasRight, CblasLower, transpose, CblasNonUnit, (int)x->rows,
                    size, 1.0F, bb_tile_as_f32(tile, x->scratch), size, x->narrow + index, n);
    }
}

static void forward(void *object, bb_index k)
{
    for (bb_index j = 0; j < k; ++j) {
        subtract(object, k, j);
    }
    divide(object, k, CblasTrans);
}

static void turn(void *object)
{
    (void)object;
}

static void backward(void *object, bb_index k)
{
    const block *x = object;
    for (bb_index j = x->factor->tile_rows - 1; j > k; --j) {
        subtract(x, k, j);
    }
    divide(x, k, CblasNoTrans);
}

static void destroy(void **object)
{
    block *x = *object;
    if (x != NULL) {
        BB_RELEASE(&x->narrow);
        BB_RELEASE(&x->scratch);
        BB_RELEASE(&x);
        *object = NULL;
    }
}

static bb_status create(const bb_tile_matrix *factor, bb_index rows, double *values, void **out)
{
    bb_status status = BB_OK;
    const bb_index items = rows * factor->n;
    block *x = NULL;
    void *object = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &x));
    *x = (block){.factor = factor, .rows = rows, .x = values};
    object = x;
    if (!bb_tile_sweep_is_wide(factor)) {
        BB_TRY(BB_ALLOCATE(items, &x->narrow));
        BB_TRY(BB_ALLOCATE(factor->tile_size * factor->tile_size, &x->scratch));
        for (bb_index i = 0; i < items; ++i) {
            x->narrow[i] = (float)values[i];
        }
    }
    *out = object;
    object = NULL;
done:
    destroy(&object);
    return status;
}

static void store(void *object)
{
    const block *x = object;
    for (bb_index i = 0; x->narrow != NULL && i < x->rows * x->factor->n; ++i) {
        x->x[i] = x->narrow[i];
    }
}

const bb_tile_sweep_kind bb_tile_sweep_plain = {.block_rows = BLOCK_ROWS,
                                                .create = create,
                                                .forward = forward,
                                                .turn = turn,
                                                .backward = backward,
                                                .store = store,
                                                .destroy = destroy};

double bb_tile_sweep_plain_bytes(bb_index n, bb_index size, bb_index rows, double blocks, bool wide)
{
    const double height = fmin((double)rows, BLOCK_ROWS);
    const double busy = fmin(blocks, ceil((double)rows / BLOCK_ROWS));
    // Memory: the block in fp32, and one converted dp tile.
    const double values = wide ? 0.0 : height * (double)n + (double)size * (double)size;
    return busy * (sizeof(block) + sizeof(float) * values);
}

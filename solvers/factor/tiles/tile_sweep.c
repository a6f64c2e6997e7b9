// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_sweep.h"

#include "core/memory.h"
#include "precision/scaling.h"
#include "solvers/factor/tiles/tile_product.h"

#include <cblas.h>
#include <math.h>

// Large enough that the cost of rounding L is small against that of the products.
enum { BLOCK_ROWS = 128 };

// A block of right-hand sides, stored by tile columns.
typedef struct block {
    const bb_tile_matrix *factor;
    bb_index rows;
    double *x;        // [rows][n], the caller's right-hand sides
    float *values;    // tile column k at rows * k * tile_size, [rows][its columns]
    float *x_operand; // operand rounded from X
    float *l_operand; // operand rounded from L
    float *turned;    // a tile of L, transposed or narrowed
    double scale[BLOCK_ROWS];
    bb_tile_workspace workspace;
} block;

static bb_tile column_at(const block *x, bb_index k)
{
    const bb_tile *diagonal = bb_tile_matrix_at(x->factor, k, k);
    return (bb_tile){.variant = BB_VARIANT_SP,
                     .format = BB_FORMAT_FP32,
                     .rows = x->rows,
                     .columns = diagonal->rows,
                     .f32 = x->values + x->rows * k * x->factor->tile_size};
}

static const void *operand(const bb_tile *tile, bb_operand format, float *copy)
{
    if (bb_tile_has_operand(tile, format)) {
        return bb_tile_values(tile);
    }
    (void)bb_tile_convert(tile, format, copy);
    return copy;
}

static bb_tile transposed(const bb_tile *tile, float *scratch, float *out)
{
    const float *values = bb_tile_as_f32(tile, scratch);
    for (bb_index i = 0; i < tile->rows; ++i) {
        for (bb_index j = 0; j < tile->columns; ++j) {
            out[j * tile->rows + i] = values[i * tile->columns + j];
        }
    }
    return (bb_tile){.variant = tile->variant,
                     .format = tile->f64 != NULL ? BB_FORMAT_FP32 : tile->format,
                     .rows = tile->columns,
                     .columns = tile->rows,
                     .f32 = out};
}

// True if the product of X_j into X_k uses the variant of the tile between them.
static bool follows(const bb_tile_matrix *factor, bb_index k, bb_index j)
{
    switch (factor->sweeps) {
    case BB_POLICY_SWEEPS_FOLLOW:
        return true;
    case BB_POLICY_SWEEPS_FORWARD:
        return j < k;
    case BB_POLICY_SWEEPS_LIGHT:
        return factor->light[(k > j ? k : j) * factor->tile_rows + (k > j ? j : k)] != 0;
    default:
        return false;
    }
}

// X_k <- X_k - X_j op(tile): L_kj^T in the forward sweep (j < k), L_jk in the backward sweep (j >
// k).
static void subtract(block *x, bb_index k, bb_index j)
{
    const bb_tile *tile = bb_tile_matrix_at(x->factor, k > j ? k : j, k > j ? j : k);
    bb_tile source = column_at(x, j);
    bb_tile target = column_at(x, k);
    bb_tile factor = *tile;
    // A dp tile among others is rounded to fp32, like X.
    bool narrow = follows(x->factor, k, j);
    bb_variant variant = tile->f64 != NULL || !narrow ? BB_VARIANT_SP : tile->variant;
    bb_operand format = bb_tile_operand_of(variant);
    if (j > k) {
        factor = transposed(tile, x->l_operand, x->turned);
    }
    const void *b = operand(&factor, format, x->l_operand);
    bb_tile_product(variant, operand(&source, format, x->x_operand), b, source.columns, &target,
                    &x->workspace);
}

// X_k <- X_k L_kk^-T in the forward sweep, X_k L_kk^-1 in the backward sweep.
static void divide(const block *x, bb_index k, CBLAS_TRANSPOSE transpose)
{
    const bb_tile *tile = bb_tile_matrix_at(x->factor, k, k);
    bb_tile column = column_at(x, k);
    int size = (int)tile->rows;
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, transpose, CblasNonUnit, (int)x->rows, size,
                1.0F, bb_tile_as_f32(tile, x->l_operand), size, column.f32, size);
}

// Rescales the largest magnitude of every row to (1/2, 1]: a solution can grow by the condition
// number, by its square root in each sweep.
static void turn(void *object)
{
    block *x = object;
    for (bb_index i = 0; i < x->rows; ++i) {
        float largest = 0.0F;
        for (bb_index k = 0; k < x->factor->tile_rows; ++k) {
            bb_tile tile = column_at(x, k);
            for (bb_index j = 0; j < tile.columns; ++j) {
                largest = fmaxf(largest, fabsf(tile.f32[i * tile.columns + j]));
            }
        }
        int exponent = 0;
        if (!isfinite(largest) || largest == 0.0F) {
            continue;
        }
        (void)frexpf(largest, &exponent);
        x->scale[i] = ldexp(x->scale[i], -exponent);
        for (bb_index k = 0; k < x->factor->tile_rows; ++k) {
            bb_tile tile = column_at(x, k);
            for (bb_index j = 0; j < tile.columns; ++j) {
                tile.f32[i * tile.columns + j] = ldexpf(tile.f32[i * tile.columns + j], -exponent);
            }
        }
    }
}

static void forward(void *object, bb_index k)
{
    for (bb_index j = 0; j < k; ++j) {
        subtract(object, k, j);
    }
    divide(object, k, CblasTrans);
}

static void backward(void *object, bb_index k)
{
    block *x = object;
    for (bb_index j = x->factor->tile_rows - 1; j > k; --j) {
        subtract(x, k, j);
    }
    divide(x, k, CblasNoTrans);
}

static void load(block *x)
{
    bb_index n = x->factor->n;
    for (bb_index i = 0; i < x->rows; ++i) {
        x->scale[i] = bb_scaling_row(BB_FORMAT_FP32, x->x + i * n, n);
    }
    for (bb_index k = 0; k < x->factor->tile_rows; ++k) {
        bb_tile tile = column_at(x, k);
        for (bb_index i = 0; i < x->rows; ++i) {
            for (bb_index j = 0; j < tile.columns; ++j) {
                double value = x->x[i * n + k * x->factor->tile_size + j];
                tile.f32[i * tile.columns + j] = (float)(x->scale[i] * value);
            }
        }
    }
}

static void store(void *object)
{
    const block *x = object;
    bb_index n = x->factor->n;
    for (bb_index k = 0; k < x->factor->tile_rows; ++k) {
        bb_tile tile = column_at(x, k);
        for (bb_index i = 0; i < x->rows; ++i) {
            for (bb_index j = 0; j < tile.columns; ++j) {
                x->x[i * n + k * x->factor->tile_size + j] =
                    (double)tile.f32[i * tile.columns + j] / x->scale[i];
            }
        }
    }
}

static void destroy(void **object)
{
    block *x = *object;
    if (x != NULL) {
        bb_tile_workspace_release(&x->workspace);
        BB_RELEASE(&x->turned);
        BB_RELEASE(&x->l_operand);
        BB_RELEASE(&x->x_operand);
        BB_RELEASE(&x->values);
        BB_RELEASE(&x);
        *object = NULL;
    }
}

static bb_status create(const bb_tile_matrix *factor, bb_index rows, double *values, void **out)
{
    bb_status status = BB_OK;
    const bb_index size = factor->tile_size;
    block *x = NULL;
    void *object = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &x));
    x->factor = factor;
    x->rows = rows;
    x->x = values;
    object = x;
    BB_TRY(BB_ALLOCATE(rows * factor->n, &x->values));
    BB_TRY(BB_ALLOCATE(2 * rows * size, &x->x_operand));
    BB_TRY(BB_ALLOCATE(2 * size * size, &x->l_operand));
    BB_TRY(BB_ALLOCATE(size * size, &x->turned));
    BB_TRY(
        bb_tile_workspace_create(size, factor->accumulate_k, factor->sums_from_c, &x->workspace));
    load(x);
    *out = object;
    object = NULL;
done:
    destroy(&object);
    return status;
}

const bb_tile_sweep_kind bb_tile_sweep_narrow = {.block_rows = BLOCK_ROWS,
                                                 .create = create,
                                                 .forward = forward,
                                                 .turn = turn,
                                                 .backward = backward,
                                                 .store = store,
                                                 .destroy = destroy};

double bb_tile_sweep_narrow_bytes(bb_index n, bb_index size, bb_index rows, double blocks)
{
    const double height = fmin((double)rows, BLOCK_ROWS);
    const double busy = fmin(blocks, ceil((double)rows / BLOCK_ROWS));
    const double tile = (double)size * (double)size;
    // Memory: the block, an operand from it in two planes, and a tile of L as operand and
    // transposed.
    const double values = height * (double)n + 2.0 * height * (double)size + 3.0 * tile;
    return busy *
           (sizeof(block) + sizeof(float) * values + bb_tile_workspace_need(size).host_bytes);
}

// SPDX-License-Identifier: Apache-2.0
#include "solvers/tile_product.h"

#include "core/memory.h"
#include "core/portable.h"
#include "precision/format_core.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

bb_status bb_tile_workspace_create(bb_index tile_size, bb_index accumulate_k,
                                   bb_tile_workspace *out)
{
    bb_status status = BB_OK;
    bb_index items = tile_size * tile_size;
    *out = (bb_tile_workspace){.tile_items = items, .accumulate_k = accumulate_k};
    BB_TRY(BB_ALLOCATE(3 * items, &out->f32));
    BB_TRY(BB_ALLOCATE(2 * items, &out->f64));
done:
    return status;
}

void bb_tile_workspace_release(bb_tile_workspace *workspace)
{
    BB_RELEASE(&workspace->f32);
    BB_RELEASE(&workspace->f64);
}

const double *bb_tile_as_f64(const bb_tile *tile, double *scratch)
{
    if (tile->f64 != NULL) {
        return tile->f64;
    }
    for (bb_index i = 0; i < tile->rows * tile->columns; ++i) {
        scratch[i] = tile->f32[i];
    }
    return scratch;
}

const float *bb_tile_as_f32(const bb_tile *tile, float *scratch)
{
    if (tile->f32 != NULL) {
        return tile->f32;
    }
    for (bb_index i = 0; i < tile->rows * tile->columns; ++i) {
        scratch[i] = (float)tile->f64[i];
    }
    return scratch;
}

// A tile rounded to the operand format of a product; its own array where nothing changes.
static const float *operand(const bb_tile *tile, bb_format format, float *scratch)
{
    const float *values = bb_tile_as_f32(tile, scratch);
    bool exact = bb_variant_describe(tile->variant)->output == format;
    if (format == BB_FORMAT_FP32 || exact) {
        return values;
    }
    (void)bb_format_round_f32(format, values, tile->rows * tile->columns, scratch);
    return scratch;
}

// sum[columns] <- fp16 accumulation of row a [depth] against b transposed [depth][columns]: after
// each run of `run` products, summed in fp32, the accumulator is rounded to fp16.
BB_CLONES static void accumulate_fp16(const float *a, const float *b_transposed, bb_index depth,
                                      bb_index columns, bb_index run, float *sum)
{
    for (bb_index j = 0; j < columns; ++j) {
        sum[j] = 0.0F;
    }
    for (bb_index begin = 0; begin < depth; begin += run) {
        bb_index end = begin + run < depth ? begin + run : depth;
        for (bb_index k = begin; k < end; ++k) {
            const float *b_row = b_transposed + k * columns;
            for (bb_index j = 0; j < columns; ++j) {
                sum[j] += a[k] * b_row[j];
            }
        }
        for (bb_index j = 0; j < columns; ++j) {
            float magnitude = bb_round_magnitude_f32(fabsf(sum[j]), 13, 0x1p-14F, 0.5F);
            magnitude = magnitude > 65504.0F ? INFINITY : magnitude;
            sum[j] = sum[j] == sum[j] ? copysignf(magnitude, sum[j]) : sum[j];
        }
    }
}

static void product_fp16(const float *a, const float *b, bb_tile *c, bb_index depth,
                         bb_tile_workspace *workspace)
{
    float *b_transposed = workspace->f32 + 2 * workspace->tile_items;
    float *sum = (float *)workspace->f64; // free here: dp tiles do not come this way
    for (bb_index j = 0; j < c->columns; ++j) {
        for (bb_index k = 0; k < depth; ++k) {
            b_transposed[k * c->columns + j] = b[j * depth + k];
        }
    }
    for (bb_index i = 0; i < c->rows; ++i) {
        float *c_row = c->f32 + i * c->columns;
        accumulate_fp16(a + i * depth, b_transposed, depth, c->columns, workspace->accumulate_k,
                        sum);
        for (bb_index j = 0; j < c->columns; ++j) {
            c_row[j] -= sum[j];
        }
    }
}

void bb_tile_product(const bb_tile *a, const bb_tile *b, bb_tile *c, bb_tile_workspace *workspace)
{
    const bb_variant_info *variant = bb_variant_describe(c->variant);
    int m = (int)c->rows;
    int n = (int)c->columns;
    int depth = (int)a->columns;
    if (c->f64 != NULL) {
        const double *a_values = bb_tile_as_f64(a, workspace->f64);
        const double *b_values = bb_tile_as_f64(b, workspace->f64 + workspace->tile_items);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, depth, -1.0, a_values, depth,
                    b_values, depth, 1.0, c->f64, n);
        return;
    }
    const float *a_values = operand(a, variant->operand, workspace->f32);
    const float *b_values = operand(b, variant->operand, workspace->f32 + workspace->tile_items);
    if (variant->accumulator == BB_FORMAT_FP16) {
        product_fp16(a_values, b_values, c, depth, workspace);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, depth, -1.0F, a_values, depth,
                    b_values, depth, 1.0F, c->f32, n);
    }
    bb_tile_round(c);
}

void bb_tile_rank_update(const bb_tile *a, bb_tile *c, bb_tile_workspace *workspace)
{
    int n = (int)c->rows;
    int depth = (int)a->columns;
    if (c->f64 != NULL) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, depth, -1.0,
                    bb_tile_as_f64(a, workspace->f64), depth, 1.0, c->f64, n);
    } else {
        cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, depth, -1.0F,
                    bb_tile_as_f32(a, workspace->f32), depth, 1.0F, c->f32, n);
    }
}

// Row-major lower is column-major upper: LAPACK factors U^T U with U = L^T.
bb_index bb_tile_factor(bb_tile *diagonal)
{
    lapack_int n = (lapack_int)diagonal->rows;
    return diagonal->f64 != NULL ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, diagonal->f64, n)
                                 : LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, diagonal->f32, n);
}

void bb_tile_solve(const bb_tile *diagonal, bb_tile *a, bb_tile_workspace *workspace)
{
    int m = (int)a->rows;
    int n = (int)a->columns;
    if (a->f64 != NULL) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0,
                    bb_tile_as_f64(diagonal, workspace->f64), n, a->f64, n);
        return;
    }
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0F,
                bb_tile_as_f32(diagonal, workspace->f32), n, a->f32, n);
    bb_tile_round(a);
}

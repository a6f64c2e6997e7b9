// SPDX-License-Identifier: Apache-2.0
#include "solvers/tile_product.h"

#include "core/memory.h"
#include "solvers/half_product.h"

#include <cblas.h>
#include <lapacke.h>

bb_status bb_tile_workspace_create(bb_index tile_size, bb_index accumulate_k,
                                   bb_tile_workspace *out)
{
    bb_index padded = (tile_size + BB_HALF_PANEL - 1) / BB_HALF_PANEL * BB_HALF_PANEL;
    *out = (bb_tile_workspace){.accumulate_k = accumulate_k};
    return BB_ALLOCATE(padded * tile_size, &out->packed);
}

void bb_tile_workspace_release(bb_tile_workspace *workspace)
{
    BB_RELEASE(&workspace->packed);
}

bool bb_tile_serves(const bb_tile *tile, bb_format format)
{
    if (format == BB_FORMAT_FP64 || tile->f64 != NULL) {
        return format == BB_FORMAT_FP64 && tile->f64 != NULL;
    }
    return format == BB_FORMAT_FP32 || bb_variant_describe(tile->variant)->output == format;
}

const void *bb_tile_values(const bb_tile *tile)
{
    return tile->f64 != NULL ? (const void *)tile->f64 : tile->f32;
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

void bb_tile_convert(const bb_tile *tile, bb_format format, void *copy)
{
    bb_index items = tile->rows * tile->columns;
    if (format != BB_FORMAT_FP64) {
        (void)bb_format_round_f32(format, bb_tile_as_f32(tile, copy), items, copy);
        return;
    }
    double *wide = copy;
    for (bb_index i = 0; i < items; ++i) {
        wide[i] = tile->f64 != NULL ? tile->f64[i] : (double)tile->f32[i];
    }
}

static void product_fp16(const float *a, const float *b, bb_index depth, bb_tile *c,
                         bb_tile_workspace *workspace)
{
    const bb_half_kernel *kernel = bb_half_kernel_chosen();
    bb_half_pack(b, c->columns, depth, workspace->packed);
    for (bb_index first = 0; first < c->columns; first += BB_HALF_PANEL) {
        bb_index left = c->columns - first;
        const bb_half_task task = {.a = a,
                                   .b = workspace->packed + first * depth,
                                   .c = c->f32 + first,
                                   .rows = c->rows,
                                   .depth = depth,
                                   .columns = left < BB_HALF_PANEL ? left : BB_HALF_PANEL,
                                   .stride = c->columns,
                                   .run = workspace->accumulate_k};
        kernel->multiply(&task);
    }
}

void bb_tile_product(const void *a, const void *b, bb_index depth, bb_tile *c,
                     bb_tile_workspace *workspace)
{
    int m = (int)c->rows;
    int n = (int)c->columns;
    int k = (int)depth;
    if (c->f64 != NULL) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, -1.0, a, k, b, k, 1.0, c->f64,
                    n);
        return;
    }
    if (bb_variant_describe(c->variant)->accumulator == BB_FORMAT_FP16) {
        product_fp16(a, b, depth, c, workspace);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, -1.0F, a, k, b, k, 1.0F,
                    c->f32, n);
    }
    bb_tile_round(c);
}

void bb_tile_rank_update(const void *a, bb_index depth, bb_tile *c)
{
    int n = (int)c->rows;
    int k = (int)depth;
    if (c->f64 != NULL) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, -1.0, a, k, 1.0, c->f64, n);
    } else {
        cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, -1.0F, a, k, 1.0F, c->f32, n);
    }
}

// Row-major lower is column-major upper: LAPACK factors U^T U with U = L^T.
bb_index bb_tile_factor(bb_tile *diagonal)
{
    lapack_int n = (lapack_int)diagonal->rows;
    return diagonal->f64 != NULL ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, diagonal->f64, n)
                                 : LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, diagonal->f32, n);
}

void bb_tile_solve(const void *diagonal, bb_tile *a)
{
    int m = (int)a->rows;
    int n = (int)a->columns;
    if (a->f64 != NULL) {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0,
                    diagonal, n, a->f64, n);
        return;
    }
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0F,
                diagonal, n, a->f32, n);
    bb_tile_round(a);
}

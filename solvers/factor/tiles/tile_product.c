// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_product.h"

#include "core/memory.h"
#include "solvers/factor/tiles/half_product.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

static bb_index padded_of(bb_index tile_size)
{
    return (tile_size + BB_HALF_PANEL - 1) / BB_HALF_PANEL * BB_HALF_PANEL;
}

bb_need bb_tile_workspace_need(bb_index tile_size)
{
    return (bb_need){.host_bytes = sizeof(bb_tile_workspace) +
                                   (double)(padded_of(tile_size) * tile_size) * sizeof(float)};
}

bb_status bb_tile_workspace_create(bb_index tile_size, bb_index accumulate_k, bool from_c,
                                   bb_tile_workspace *out)
{
    *out = (bb_tile_workspace){.accumulate_k = accumulate_k, .from_c = from_c};
    return BB_ALLOCATE(padded_of(tile_size) * tile_size, &out->packed);
}

void bb_tile_workspace_release(bb_tile_workspace *workspace)
{
    BB_RELEASE(&workspace->packed);
}

static void product_fp16(const float *a, const float *b, bb_index depth, bb_tile *c,
                         bb_tile_workspace *workspace)
{
    const bb_half_kernel *kernel = bb_half_kernel_chosen();
    bb_half_product_pack(b, c->columns, depth, workspace->packed);
    for (bb_index first = 0; first < c->columns; first += BB_HALF_PANEL) {
        bb_index rest = c->columns - first;
        const bb_half_task task = {.a = a,
                                   .b = workspace->packed + first * depth,
                                   .c = c->f32 + first,
                                   .rows = c->rows,
                                   .depth = depth,
                                   .columns = rest < BB_HALF_PANEL ? rest : BB_HALF_PANEL,
                                   .stride = c->columns,
                                   .run = workspace->accumulate_k,
                                   .from_c = workspace->from_c};
        kernel->multiply(&task);
    }
}

// C <- C - factor A B^T in fp32.
static void product_fp32(float factor, const float *a, const float *b, bb_index depth, bb_tile *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->rows, (int)c->columns, (int)depth,
                -factor, a, (int)depth, b, (int)depth, 1.0F, c->f32, (int)c->columns);
}

static void product_split(const float *a, const float *b, bb_index depth, bb_tile *c)
{
    const float *a_low = a + c->rows * depth;
    const float *b_low = b + c->columns * depth;
    product_fp32(1.0F, a, b, depth, c);
    product_fp32(0x1p-11F, a, b_low, depth, c);
    product_fp32(0x1p-11F, a_low, b, depth, c);
}

void bb_tile_product(bb_variant variant, const void *a, const void *b, bb_index depth, bb_tile *c,
                     bb_tile_workspace *workspace)
{
    const bb_variant_info *info = bb_variant_describe(variant);
    if (c->f64 != NULL) {
        int k = (int)depth;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->rows, (int)c->columns, k, -1.0,
                    a, k, b, k, 1.0, c->f64, (int)c->columns);
        return;
    }
    if (info->accumulator == BB_FORMAT_FP16) {
        product_fp16(a, b, depth, c, workspace);
    } else if (info->products == 3) {
        product_split(a, b, depth, c);
    } else {
        product_fp32(1.0F, a, b, depth, c);
    }
    if (info->output != BB_FORMAT_FP32) {
        (void)bb_format_round_f32(info->output, c->f32, c->rows * c->columns, c->f32);
    }
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

// First row of the lower triangle with a value that is NaN or infinite, -1 for none.
static bb_index first_bad_row(const bb_tile *tile)
{
    for (bb_index i = 0; i < tile->rows; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            bb_index index = i * tile->columns + j;
            if (!isfinite(tile->f64 != NULL ? tile->f64[index] : (double)tile->f32[index])) {
                return i;
            }
        }
    }
    return -1;
}

bool bb_tile_factor_diagonal(bb_tile *diagonal, bb_index k, bb_index first, bb_outcome *outcome)
{
    bb_index bad = first_bad_row(diagonal);
    bb_index pivot = bad >= 0 ? 0 : bb_tile_factor(diagonal);
    if (bad >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "tile (%td, %td), row %td: not finite", k, k,
                       first + bad);
    } else if (pivot > 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD, "tile (%td, %td), row %td: pivot not positive",
                       k, k, first + pivot - 1);
    }
    return bad < 0 && pivot == 0;
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
    if (bb_variant_describe(a->variant)->products == 3) {
        bb_tile_round_to_planes(a);
    } else {
        bb_tile_round(a);
    }
}

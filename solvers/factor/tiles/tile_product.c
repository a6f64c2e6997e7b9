// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_product.h"

#include "core/memory.h"
#include "core/portable.h"
#include "precision/format_core.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

enum { PANEL = BB_HALF_PANEL };

void bb_half_kernel_pack(const float *b, bb_index columns, bb_index depth, float *panels)
{
    for (bb_index first = 0; first < columns; first += PANEL) {
        bb_index width = columns - first < PANEL ? columns - first : PANEL;
        for (bb_index k = 0; k < depth; ++k) {
            for (bb_index j = 0; j < PANEL; ++j) {
                panels[k * PANEL + j] = j < width ? b[(first + j) * depth + k] : 0.0F;
            }
        }
        panels += depth * PANEL;
    }
}

static bool always(void)
{
    return true;
}

// Initial values of the sums of `rows` rows, [rows][width]: 0, to be subtracted from C at the end,
// or -C, for which rounding to nearest is the same as for C.
static void start(const bb_half_task *task, bb_index i, bb_index rows, bb_index first,
                  bb_index width, float *sums)
{
    for (bb_index r = 0; r < rows; ++r) {
        const float *c = task->c + (i + r) * task->stride;
        for (bb_index j = 0; j < width; ++j) {
            const bool started = task->from_c && first + j < task->columns;
            sums[r * width + j] = started ? -c[first + j] : 0.0F;
        }
    }
}

// Applies the sums to C.
static void finish(const bb_half_task *task, bb_index i, bb_index rows, bb_index first,
                   bb_index width, const float *sums)
{
    bb_index columns = task->columns - first < width ? task->columns - first : width;
    for (bb_index r = 0; r < rows; ++r) {
        float *c = task->c + (i + r) * task->stride + first;
        for (bb_index j = 0; j < columns; ++j) {
            c[j] = (task->from_c ? 0.0F : c[j]) - sums[r * width + j];
        }
    }
}

// Multiplies one row by a panel.
BB_CLONES static void accumulate_portable(const float *a, const float *b, bb_index depth,
                                          bb_index run, float *sum)
{
    for (bb_index begin = 0; begin < depth; begin += run) {
        bb_index end = begin + run < depth ? begin + run : depth;
        for (bb_index k = begin; k < end; ++k) {
            for (int j = 0; j < PANEL; ++j) {
                sum[j] += a[k] * b[k * PANEL + j];
            }
        }
        for (int j = 0; j < PANEL; ++j) {
            float magnitude = bb_format_round_magnitude_f32(fabsf(sum[j]), 13, 0x1p-14F, 0.5F);
            magnitude = magnitude > 65504.0F ? INFINITY : magnitude;
            sum[j] = sum[j] == sum[j] ? copysignf(magnitude, sum[j]) : sum[j];
        }
    }
}

static void multiply_portable(const bb_half_task *task)
{
    float sum[PANEL];
    for (bb_index i = 0; i < task->rows; ++i) {
        start(task, i, 1, 0, PANEL, sum);
        accumulate_portable(task->a + i * task->depth, task->b, task->depth, task->run, sum);
        finish(task, i, 1, 0, PANEL, sum);
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

enum { ROWS = 4, TO_NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

// Processes rows i..i+3 of a task; a row beyond the last repeats it and is discarded.
static bb_index row_pointers(const bb_half_task *task, bb_index i, const float *a[ROWS])
{
    bb_index rows = task->rows - i < ROWS ? task->rows - i : ROWS;
    for (bb_index r = 0; r < ROWS; ++r) {
        a[r] = task->a + (i + (r < rows ? r : rows - 1)) * task->depth;
    }
    return rows;
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

__attribute__((target("avx512f"))) static void
accumulate_avx512(const bb_half_task *task, const float *const a[ROWS], float *sums)
{
    enum { VECTORS = PANEL / 16 };
    __m512 sum[ROWS][VECTORS];
    for (int r = 0; r < ROWS; ++r) {
        for (int v = 0; v < VECTORS; ++v) {
            sum[r][v] = _mm512_loadu_ps(sums + r * PANEL + 16 * v);
        }
    }
    for (bb_index begin = 0; begin < task->depth; begin += task->run) {
        bb_index end = begin + task->run < task->depth ? begin + task->run : task->depth;
        for (bb_index k = begin; k < end; ++k) {
            const float *b = task->b + k * PANEL;
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; ++r) {
                __m512 rest = _mm512_set1_ps(a[r][k]);
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; ++v) {
                    sum[r][v] = _mm512_fmadd_ps(rest, _mm512_loadu_ps(b + 16 * v), sum[r][v]);
                }
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; ++v) {
                sum[r][v] = _mm512_cvtph_ps(_mm512_cvtps_ph(sum[r][v], TO_NEAREST));
            }
        }
    }
    for (int r = 0; r < ROWS; ++r) {
        for (int v = 0; v < VECTORS; ++v) {
            _mm512_storeu_ps(sums + r * PANEL + 16 * v, sum[r][v]);
        }
    }
}

static void multiply_avx512(const bb_half_task *task)
{
    float sums[ROWS * PANEL] = {0.0F};
    for (bb_index i = 0; i < task->rows; i += ROWS) {
        const float *a[ROWS];
        bb_index rows = row_pointers(task, i, a);
        start(task, i, rows, 0, PANEL, sums);
        accumulate_avx512(task, a, sums);
        finish(task, i, rows, 0, PANEL, sums);
    }
}

// Read directly by cpuid, because not every compiler's __builtin_cpu_supports knows F16C.
static bool has_f16c(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

enum { PART = 16 }; // columns that fit into the AVX2 registers for four rows

__attribute__((target("avx2,fma,f16c"))) static void
accumulate_f16c(const bb_half_task *task, const float *const a[ROWS], bb_index first, float *sums)
{
    __m256 sum[ROWS][2];
    for (int r = 0; r < ROWS; ++r) {
        sum[r][0] = _mm256_loadu_ps(sums + r * PART);
        sum[r][1] = _mm256_loadu_ps(sums + r * PART + 8);
    }
    for (bb_index begin = 0; begin < task->depth; begin += task->run) {
        bb_index end = begin + task->run < task->depth ? begin + task->run : task->depth;
        for (bb_index k = begin; k < end; ++k) {
            const float *b = task->b + k * PANEL + first;
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; ++r) {
                __m256 rest = _mm256_set1_ps(a[r][k]);
                sum[r][0] = _mm256_fmadd_ps(rest, _mm256_loadu_ps(b), sum[r][0]);
                sum[r][1] = _mm256_fmadd_ps(rest, _mm256_loadu_ps(b + 8), sum[r][1]);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; ++r) {
            sum[r][0] = _mm256_cvtph_ps(_mm256_cvtps_ph(sum[r][0], TO_NEAREST));
            sum[r][1] = _mm256_cvtph_ps(_mm256_cvtps_ph(sum[r][1], TO_NEAREST));
        }
    }
    for (int r = 0; r < ROWS; ++r) {
        _mm256_storeu_ps(sums + r * PART, sum[r][0]);
        _mm256_storeu_ps(sums + r * PART + 8, sum[r][1]);
    }
}

static void multiply_f16c(const bb_half_task *task)
{
    float sums[ROWS * PART] = {0.0F};
    for (bb_index i = 0; i < task->rows; i += ROWS) {
        const float *a[ROWS];
        bb_index rows = row_pointers(task, i, a);
        for (bb_index first = 0; first < task->columns; first += PART) {
            start(task, i, rows, first, PART, sums);
            accumulate_f16c(task, a, first, sums);
            finish(task, i, rows, first, PART, sums);
        }
    }
}
#endif

static const bb_half_kernel kernels[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", has_avx512, multiply_avx512},
    {"f16c", has_f16c, multiply_f16c},
#endif
    {"portable", always, multiply_portable},
};

bb_index bb_half_kernels(const bb_half_kernel **out)
{
    *out = kernels;
    return (bb_index)(sizeof kernels / sizeof kernels[0]);
}

const bb_half_kernel *bb_half_kernel_chosen(void)
{
    const bb_half_kernel *kernel = kernels;
    while (!kernel->available()) {
        ++kernel;
    }
    return kernel;
}

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
    bb_half_kernel_pack(b, c->columns, depth, workspace->packed);
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

// A row-major lower triangle is a column-major upper one: LAPACK factors U^T U with U = L^T.
bb_index bb_tile_factor(bb_tile *diagonal)
{
    lapack_int n = (lapack_int)diagonal->rows;
    return diagonal->f64 != NULL ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, diagonal->f64, n)
                                 : LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, diagonal->f32, n);
}

// First row of the lower triangle with a NaN or infinite value, -1 for none.
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

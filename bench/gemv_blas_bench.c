// SPDX-License-Identifier: Apache-2.0
//
// y = C x by the BLAS's sgemv or dgemv on as many threads as the run has: what the products of
// gemv_bench.c are held against in every layout, as Bamakhrama et al. (2019), Figure 10, held
// theirs against MKL. C is row-major; the values do not matter.
#include "bench/bench.h"
#include "bench/ceiling.h"
#include "core/clock.h"
#include "core/memory.h"
#include "solvers/operator/coded_operator.h"

#include <cblas.h>
#include <stdio.h>

typedef struct contest {
    bb_bench_sizes sizes;
    bb_index threads;
    float *c32, *x32, *y32; // of sgemv, else NULL
    double *c64, *x64, *y64;
} contest;

static bb_status prepare(bool wide, const bb_bench_sizes *sizes, contest *out)
{
    bb_status status = BB_OK;
    const bb_index values = sizes->rows * sizes->columns;
    if (wide) {
        BB_TRY(BB_ALLOCATE(values, &out->c64));
        BB_TRY(BB_ALLOCATE(sizes->columns, &out->x64));
        BB_TRY(BB_ALLOCATE(sizes->rows, &out->y64));
    } else {
        BB_TRY(BB_ALLOCATE(values, &out->c32));
        BB_TRY(BB_ALLOCATE(sizes->columns, &out->x32));
        BB_TRY(BB_ALLOCATE(sizes->rows, &out->y32));
    }
    for (bb_index i = 0; i < values; ++i) {
        double value = 1e-9 * (double)(i % 1009);
        if (wide) {
            out->c64[i] = value;
        } else {
            out->c32[i] = (float)value;
        }
    }
    for (bb_index j = 0; j < sizes->columns; ++j) {
        double value = 1.0 + 1e-3 * (double)(j % 100);
        if (wide) {
            out->x64[j] = value;
        } else {
            out->x32[j] = (float)value;
        }
    }
done:
    return status;
}

static double multiply(const contest *task)
{
    const int m = (int)task->sizes.rows;
    const int n = (int)task->sizes.columns;
    openblas_set_num_threads((int)task->threads);
    double begin = bb_clock_seconds();
    if (task->c64 != NULL) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, n, 1.0, task->c64, n, task->x64, 1, 0.0,
                    task->y64, 1);
    } else {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1.0F, task->c32, n, task->x32, 1, 0.0F,
                    task->y32, 1);
    }
    const double seconds = bb_clock_seconds() - begin;
    openblas_set_num_threads(1);
    return seconds;
}

static bb_status multiply_again(void *context)
{
    (void)multiply(context);
    return BB_OK;
}

bb_status bb_bench_gemv_blas(const bb_bench_case *self, const bb_bench_setup *setup,
                             bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bool wide = (self->choice & BB_BENCH_CHOICE) == (int)BB_FORMAT_FP64;
    const bb_bench_sizes sizes = bb_bench_sizes_of(self->choice, setup->quick);
    contest task = {.sizes = sizes, .threads = setup->threads};
    bb_ceiling ceiling = {0};
    bb_bench_times times = {0};
    bb_bench_times read = {0};
    out->flops = bb_coded_operator_flops(sizes.rows, sizes.columns);
    out->bytes = (wide ? 8.0 : 4.0) * ((double)sizes.rows * (double)sizes.columns +
                                       (double)sizes.rows + (double)sizes.columns);
    BB_TRY(prepare(wide, &sizes, &task));
    BB_TRY(bb_ceiling_create(out->bytes, false, &ceiling));
    for (int round = 0; round < (setup->quick ? 3 : 20); ++round) {
        double seconds = 0.0;
        BB_TRY(bb_ceiling_read(&ceiling, &seconds));
        bb_bench_add(&read, seconds);
        bb_bench_add(&times, multiply(&task));
    }
    BB_TRY(bb_bench_take_energy(BB_DEVICE_CPU, multiply_again, &task, 1.0, NULL, out));
    out->best_s = bb_bench_best(&times);
    out->median_s = bb_bench_median(&times);
    out->peer = 8e-9 * (double)ceiling.items / bb_bench_best(&read);
    out->ratio = 1e-9 * out->bytes / out->best_s / out->peer;
    out->binds = out->ratio >= 0.7 ? "bytes" : "instructions";
    (void)snprintf(out->detail, sizeof out->detail, "%td x %td, %.1f GFLOP/s", sizes.rows,
                   sizes.columns, 1e-9 * out->flops / out->best_s);
done:
    bb_ceiling_release(&ceiling);
    BB_RELEASE(&task.c32);
    BB_RELEASE(&task.x32);
    BB_RELEASE(&task.y32);
    BB_RELEASE(&task.c64);
    BB_RELEASE(&task.x64);
    BB_RELEASE(&task.y64);
    return status;
}

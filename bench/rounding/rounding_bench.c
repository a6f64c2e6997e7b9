// SPDX-License-Identifier: Apache-2.0
//
// The sweep on the cpu. Its peer is the BLAS's dtrsm of as many rows by the same factor, which has
// the sweep's operations without the rounding: the faster of one thread and of as many as the run
// has.
#include "bench/rounding/rounding_bench.h"

#include "bench/decay_source.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "solvers/factor/rounding_sweep.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TASK_ROWS = 16, TILE = 512, QUICK_TILE = 64, SEED = 1 };

bb_status bb_rounding_bench_open(bb_index m, bb_index n, bb_rounding_bench *task)
{
    bb_status status = BB_OK;
    const bb_matrix_source source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    *task = (bb_rounding_bench){.m = m, .n = n};
    BB_TRY(BB_ALLOCATE(m * n, &task->r));
    BB_TRY(BB_ALLOCATE(m * n, &task->q));
    BB_TRY(BB_ALLOCATE(n * n, &task->lower));
    for (bb_index i = 0; i < m * n; ++i) {
        task->r[i] = bb_random_normal(SEED, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    BB_TRY(bb_matrix_source_load(&source, task->lower));
    const lapack_int info = LAPACKE_dpotrf_work(LAPACK_ROW_MAJOR, 'L', (int)n, task->lower, (int)n);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACKE potrf gave %d", (int)info);
done:
    return status;
}

void bb_rounding_bench_close(bb_rounding_bench *task)
{
    BB_RELEASE(&task->r);
    BB_RELEASE(&task->q);
    BB_RELEASE(&task->lower);
}

// Rows of a coded matrix, by the pool's threads.
typedef struct row_loop {
    bb_coded_matrix *matrix;
    double *values; // [m][n]
} row_loop;

static bb_view rows_of(const row_loop *loop, bb_index begin, bb_index end)
{
    const bb_index n = bb_coded_matrix_columns(loop->matrix);
    return bb_view_matrix(loop->values + begin * n, end - begin, n);
}

static bb_status fix_rows(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const row_loop *loop = context;
    for (bb_index i = begin; i < end; ++i) {
        BB_TRY(bb_coded_matrix_fix_row(loop->matrix, i,
                                       loop->values + i * bb_coded_matrix_columns(loop->matrix)));
    }
done:
    return status;
}

static bb_status encode_fixed_rows(void *context, bb_index begin, bb_index end)
{
    const row_loop *loop = context;
    return bb_coded_matrix_encode_fixed(loop->matrix, begin, rows_of(loop, begin, end));
}

static bb_status encode_rows(void *context, bb_index begin, bb_index end)
{
    const row_loop *loop = context;
    return bb_coded_matrix_encode(loop->matrix, begin, rows_of(loop, begin, end));
}

static bb_status decode_rows(void *context, bb_index begin, bb_index end)
{
    const row_loop *loop = context;
    const bb_index n = bb_coded_matrix_columns(loop->matrix);
    for (bb_index i = begin; i < end; ++i) {
        double *row = loop->values + i * n;
        bb_coded_matrix_decode(loop->matrix, i, 0, n, row);
        cblas_dscal((int)n, 1.0 / bb_coded_matrix_row_scale(loop->matrix, i), row, 1);
    }
    return BB_OK;
}

static double round_value(const void *context, bb_index row, bb_index column, double value)
{
    return bb_coded_matrix_round(*(bb_coded_matrix *const *)context, row, column, value);
}

bb_rounding_step bb_rounding_bench_step(bb_coded_matrix *const *matrix)
{
    return (bb_rounding_step){.round = round_value, .context = matrix};
}

static bb_status create_matrix(const bb_rounding_bench *task, const char *text,
                               bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    const bb_matrix_layout layout = {.rows = task->m, .columns = task->n};
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read(text, &config), BB_INTERNAL, "no codec: %s", text);
    BB_TRY(bb_coded_matrix_create(&config, BB_ROW_SCALE_ROW, &layout, out));
done:
    return status;
}

// E L of q, in place, and the sum of its squares: what E pays.
static double pay(const bb_rounding_bench *task, double *q)
{
    const int m = (int)task->m;
    const int n = (int)task->n;
    cblas_daxpy(m * n, -1.0, task->r, 1, q, 1);
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, 1.0,
                task->lower, n, q, n);
    const double norm = cblas_dnrm2(m * n, q, 1);
    return norm * norm;
}

static bb_status play_sweep(bb_rounding_bench *task, bb_rounding_bench_sweep *sweep, void *context)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    double *excess = NULL;
    BB_TRY(BB_ALLOCATE(task->m, &excess));
    BB_TRY(create_matrix(task, "e4m3 rounding=sweep", &matrix));
    memcpy(task->q, task->r, (size_t)(task->m * task->n) * sizeof *task->q);
    row_loop loop = {matrix, task->q};
    const double start = bb_clock_seconds();
    BB_TRY(bb_thread_ranges(task->m, TASK_ROWS, fix_rows, &loop));
    BB_TRY(sweep(context, matrix, task->q, excess));
    BB_TRY(bb_thread_ranges(task->m, TASK_ROWS, encode_fixed_rows, &loop));
    bb_bench_add(&task->sweep, bb_clock_seconds() - start);
    task->excess = cblas_dasum((int)task->m, excess, 1);
done:
    bb_coded_matrix_destroy(&matrix);
    BB_RELEASE(&excess);
    return status;
}

static bb_status play_encoding(bb_rounding_bench *task, const char *text, bb_bench_times *times,
                               double *excess)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    BB_TRY(create_matrix(task, text, &matrix));
    row_loop loop = {matrix, task->r};
    const double start = bb_clock_seconds();
    BB_TRY(bb_thread_ranges(task->m, TASK_ROWS, encode_rows, &loop));
    bb_bench_add(times, bb_clock_seconds() - start);
    loop.values = task->q;
    BB_TRY(bb_thread_ranges(task->m, TASK_ROWS, decode_rows, &loop));
    *excess = pay(task, task->q);
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_rounding_bench_play(bb_rounding_bench *task, bb_rounding_bench_sweep *sweep,
                                 void *context)
{
    bb_status status = BB_OK;
    BB_TRY(play_sweep(task, sweep, context));
    BB_TRY(play_encoding(task, "e4m3", &task->nearest, &task->nearest_excess));
    BB_TRY(play_encoding(task, "e4m3 rounding=diffused", &task->diffused, &task->diffused_excess));
done:
    return status;
}

void bb_rounding_bench_conclude(const bb_rounding_bench *task, bb_bench_outcome *out)
{
    const double best = bb_bench_best(&task->sweep);
    const double n = (double)task->n;
    out->best_s = best;
    out->median_s = bb_bench_median(&task->sweep);
    out->flops = (double)task->m * n * n;
    out->binds = "flops";
    (void)snprintf(
        out->detail, sizeof out->detail,
        "%td x %td; nearest %.2g of the time, pays %.3g times as much; diffused %.2g, %.3g",
        task->m, task->n, bb_bench_best(&task->nearest) / best, task->nearest_excess / task->excess,
        bb_bench_best(&task->diffused) / best, task->diffused_excess / task->excess);
}

static bb_status sweep_tiles(void *context, bb_coded_matrix *matrix, double *r, double *excess)
{
    const bb_rounding_step step = bb_rounding_bench_step(&matrix);
    return bb_rounding_sweep(context, &step, bb_coded_matrix_rows(matrix), r, excess);
}

// R L^-1 on `threads` threads of the BLAS, which is put back to one afterwards.
static bb_status solve_rows(bb_rounding_bench *task, int threads, bb_bench_times *times)
{
    const int m = (int)task->m;
    const int n = (int)task->n;
    memcpy(task->q, task->r, (size_t)(task->m * task->n) * sizeof *task->q);
    openblas_set_num_threads(threads);
    const double start = bb_clock_seconds();
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, 1.0,
                task->lower, n, task->q, n);
    bb_bench_add(times, bb_clock_seconds() - start);
    openblas_set_num_threads(1);
    return BB_OK;
}

bb_status bb_bench_rounding(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_index n = setup->quick ? 256 : 4096;
    const bb_matrix_source source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    const bb_tile_plan plan = {.tile_size = setup->quick ? QUICK_TILE : TILE,
                               .arithmetic = BB_VARIANT_DP,
                               .policy = {.kind = BB_POLICY_UNIFORM}};
    bb_rounding_bench task = {0};
    bb_tile_matrix *factor = NULL;
    bb_outcome outcome = {0};
    (void)self;
    BB_TRY(bb_rounding_bench_open(n / 4, n, &task));
    BB_TRY(bb_tile_matrix_create(&source, NULL, &plan, &factor));
    BB_TRY(bb_tile_cholesky_factor(factor, 4, &outcome));
    for (int round = 0; round < BB_ROUNDING_BENCH_ROUNDS; ++round) {
        BB_TRY(bb_rounding_bench_play(&task, sweep_tiles, factor));
        BB_TRY(solve_rows(&task, 1, &task.peer));
        BB_TRY(solve_rows(&task, (int)setup->threads, &task.peer));
    }
    bb_rounding_bench_conclude(&task, out);
    out->peer = 1e-9 * out->flops / bb_bench_best(&task.peer);
    out->ratio = bb_bench_best(&task.peer) / out->best_s;
done:
    bb_tile_matrix_destroy(&factor);
    bb_rounding_bench_close(&task);
    return status;
}

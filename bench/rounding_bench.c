// SPDX-License-Identifier: Apache-2.0
//
// Rows R of noise stored in e4m3 with a scale for each row, rounded in the norm of the decaying
// matrix A of bench_source.h with its factor (solvers/factor/rounding_sweep.h). The peer is the
// BLAS's dtrsm with as many rows and the same factor, which has the same operations without the
// rounding: the faster of one thread and all threads of the run.
#include "bench/bench.h"
#include "bench/bench_source.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "precision/coded_matrix.h"
#include "solvers/factor/rounding_sweep.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3, TASK_ROWS = 16, TILE = 512, QUICK_TILE = 64, SEED = 1 };

typedef struct contest {
    bb_index m, n;
    double *r, *q;           // [m][n]; q is overwritten
    double *lower;           // [n][n] L of A
    double *excess;          // [m]
    bb_tile_matrix *factor;  // factor of A
    bb_coded_matrix *matrix; // result of a round
    bb_bench_times sweep, peer;
} contest;

static bb_status open_factors(const bb_bench_setup *setup, contest *task)
{
    bb_status status = BB_OK;
    const bb_index n = task->n;
    const bb_matrix_source source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    const bb_tile_plan plan = {.tile_size = setup->quick ? QUICK_TILE : TILE,
                               .arithmetic = BB_VARIANT_DP,
                               .policy = {.kind = BB_POLICY_UNIFORM}};
    bb_outcome outcome = {0};
    BB_TRY(BB_ALLOCATE(task->m * n, &task->r));
    BB_TRY(BB_ALLOCATE(task->m * n, &task->q));
    BB_TRY(BB_ALLOCATE(task->m, &task->excess));
    BB_TRY(BB_ALLOCATE(n * n, &task->lower));
    for (bb_index i = 0; i < task->m * n; ++i) {
        task->r[i] = bb_random_normal(SEED, BB_STREAM_SELF_TEST, (uint64_t)i);
    }
    BB_TRY(bb_matrix_source_load(&source, task->lower));
    const lapack_int info = LAPACKE_dpotrf_work(LAPACK_ROW_MAJOR, 'L', (int)n, task->lower, (int)n);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACKE potrf failed with code %d", (int)info);
    BB_TRY(bb_tile_matrix_create(&source, NULL, &plan, &task->factor));
    BB_TRY(bb_tile_cholesky_factor(task->factor, 4, &outcome));
done:
    return status;
}

static bb_status fix_rows(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const contest *task = context;
    for (bb_index i = begin; i < end; ++i) {
        BB_TRY(bb_coded_matrix_fix_row(task->matrix, i, task->q + i * task->n));
    }
done:
    return status;
}

static bb_status encode_rows(void *context, bb_index begin, bb_index end)
{
    const contest *task = context;
    return bb_coded_matrix_encode_fixed(
        task->matrix, begin, bb_view_matrix(task->q + begin * task->n, end - begin, task->n));
}

static double round_value(const void *context, bb_index row, bb_index column, double value)
{
    return bb_coded_matrix_round(*(bb_coded_matrix *const *)context, row, column, value);
}

static bb_status sweep_rows(contest *task)
{
    bb_status status = BB_OK;
    const bb_matrix_layout layout = {.rows = task->m, .columns = task->n};
    const bb_rounding_step step = {.round = round_value, .context = &task->matrix};
    bb_codec_config config;
    BB_REQUIRE(bb_codec_read("e4m3 rounding=sweep", &config), BB_INTERNAL,
               "internal: invalid storage");
    BB_TRY(bb_coded_matrix_create(&config, BB_ROW_SCALE_ROW, &layout, &task->matrix));
    memcpy(task->q, task->r, (size_t)(task->m * task->n) * sizeof *task->q);
    const double start = bb_clock_seconds();
    BB_TRY(bb_thread_ranges(task->m, TASK_ROWS, fix_rows, task));
    BB_TRY(bb_rounding_sweep(task->factor, &step, task->m, task->q, task->excess));
    BB_TRY(bb_thread_ranges(task->m, TASK_ROWS, encode_rows, task));
    bb_bench_add(&task->sweep, bb_clock_seconds() - start);
done:
    bb_coded_matrix_destroy(&task->matrix);
    return status;
}

// Computes R L^-1 on `threads` threads of the BLAS, which is reset to one afterwards.
static void solve_rows(contest *task, int threads)
{
    const int m = (int)task->m;
    const int n = (int)task->n;
    memcpy(task->q, task->r, (size_t)(task->m * task->n) * sizeof *task->q);
    openblas_set_num_threads(threads);
    const double start = bb_clock_seconds();
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, n, 1.0,
                task->lower, n, task->q, n);
    bb_bench_add(&task->peer, bb_clock_seconds() - start);
    openblas_set_num_threads(1);
}

bb_status bb_bench_rounding(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_index n = setup->quick ? 256 : setup->n > 0 ? setup->n : self->n;
    contest task = {.m = n / 4, .n = n};
    BB_TRY(open_factors(setup, &task));
    for (int round = 0; round < ROUNDS; ++round) {
        BB_TRY(sweep_rows(&task));
        solve_rows(&task, 1);
        solve_rows(&task, (int)setup->threads);
    }
    out->best_s = bb_bench_best(&task.sweep);
    out->median_s = bb_bench_median(&task.sweep);
    out->flops = (double)task.m * (double)n * (double)n;
    out->binds = "flops";
    out->peer = 1e-9 * out->flops / bb_bench_best(&task.peer);
    out->ratio = bb_bench_best(&task.peer) / out->best_s;
    (void)snprintf(out->detail, sizeof out->detail, "%td x %td", task.m, task.n);
done:
    bb_tile_matrix_destroy(&task.factor);
    BB_RELEASE(&task.r);
    BB_RELEASE(&task.q);
    BB_RELEASE(&task.lower);
    BB_RELEASE(&task.excess);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Matrices of bench_matrix.h factored by panels on a cuda device, one round to warm up and three
// that count, by the device's clock; the kernels that fill the matrix are not counted. The peers
// are those of panel_peers.h on the same matrix; the ratio and the bar are to cuSOLVER's potrf in
// fp32, `detail` has the library loop. The solves have m = n / 9 right-hand sides of their own
// shift and are held against what a reconstructor of 1.8 s leaves after 0.7 s of assembly.
//
// Beside the time stands an error of the same arithmetic and panel, in fp64 on the host:
// ||A - L L^T|| / ||A|| over 128 rows or more, and for the solves ||B - R A|| / (||R|| ||A||),
// Frobenius; at a smaller n, but for covariances of 34,128 rows, which are checked as they are.
#include "bench/panel_bench.h"
#include "bench/panel_peers.h"
#include "core/log.h"
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ROUNDS = 3,
    CHECKED_N = 4096,
    CHECKED_COVARIANCE = 34128,
    SAMPLES = 128,
    QUICK_N = 1368,
    QUICK_BLOCK = 256
};

static const double left_for_solve_s = 1.1;

typedef struct panel_row {
    bb_panel_plan plan;
    bb_bench_matrix_kind matrix;
} panel_row;

// clang-format off
static const panel_row rows[BB_BENCH_PANEL_ROWS] = {
    [BB_BENCH_98304_HP1] = {{.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_DECAY},
    [BB_BENCH_98304_HP1_RANDOM] = {{.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_RANDOM},
    [BB_BENCH_98304_HP1_NARROW] = {{.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_HP1,
                                    .diagonal_follows = true, .sweeps = BB_POLICY_SWEEPS_FOLLOW}, BB_BENCH_DECAY},
    [BB_BENCH_98304_X3] = {{.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_X3}, BB_BENCH_DECAY},
    [BB_BENCH_100368_HP1_COVARIANCE] = {{.n = 100368, .block = 1024, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_COVARIANCE},
    [BB_BENCH_49152_HP1] = {{.n = 49152, .block = 1024, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_DECAY},
    [BB_BENCH_49152_HP1_RANDOM] = {{.n = 49152, .block = 1024, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_RANDOM},
    [BB_BENCH_49152_SP] = {{.n = 49152, .block = 1024, .arithmetic = BB_VARIANT_SP}, BB_BENCH_DECAY},
    [BB_BENCH_16384_HP1] = {{.n = 16384, .block = 512, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_DECAY},
    [BB_BENCH_16384_HP1_RANDOM] = {{.n = 16384, .block = 512, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_RANDOM},
    [BB_BENCH_16384_SP] = {{.n = 16384, .block = 512, .arithmetic = BB_VARIANT_SP}, BB_BENCH_DECAY},
    [BB_BENCH_34128_DP] = {{.n = 34128, .block = 1024, .arithmetic = BB_VARIANT_DP}, BB_BENCH_COVARIANCE},
    [BB_BENCH_34128_SP] = {{.n = 34128, .block = 1024, .arithmetic = BB_VARIANT_SP}, BB_BENCH_COVARIANCE},
    [BB_BENCH_34128_TF32] = {{.n = 34128, .block = 1024, .arithmetic = BB_VARIANT_TF32}, BB_BENCH_COVARIANCE},
    [BB_BENCH_34128_X3] = {{.n = 34128, .block = 1024, .arithmetic = BB_VARIANT_X3}, BB_BENCH_COVARIANCE},
    [BB_BENCH_34128_HP1] = {{.n = 34128, .block = 1024, .arithmetic = BB_VARIANT_HP1}, BB_BENCH_COVARIANCE},
    [BB_BENCH_34128_HP2] = {{.n = 34128, .block = 1024, .arithmetic = BB_VARIANT_HP2}, BB_BENCH_COVARIANCE},
    [BB_BENCH_100368_FORWARD] = {{.n = 100368, .block = 1024, .sides = 11152,
                                  .arithmetic = BB_VARIANT_HP1, .sweeps = BB_POLICY_SWEEPS_FOLLOW}, BB_BENCH_DECAY},
    [BB_BENCH_100368_BACKWARD] = {{.n = 100368, .block = 1024, .sides = 11152,
                                   .arithmetic = BB_VARIANT_HP1, .sweeps = BB_POLICY_SWEEPS_FOLLOW}, BB_BENCH_DECAY},
};
// clang-format on

typedef struct contest {
    bb_panel_plan plan;
    bb_bench_matrix matrix;
    bb_decay side_decay;
    bb_matrix_source side;
    bb_device_source *side_twin;
    bb_panel_cholesky *factor;
    bb_outcome outcome;
    bb_panel_times times;
    double taken_bytes;
} contest;

static void leave(contest *task)
{
    bb_panel_cholesky_destroy(&task->factor);
    bb_device_source_destroy(&task->side_twin);
    bb_bench_matrix_close(&task->matrix);
}

// With the forward sweep, where there are sides.
static bb_status factor(contest *task)
{
    const bb_device_source *sides[] = {task->side_twin};
    const bb_panel_sources sources = {task->matrix.twin, task->plan.sides > 0 ? 1 : 0, sides};
    return bb_panel_cholesky_factor(task->factor, &sources, task->matrix.scale, &task->outcome,
                                    &task->times);
}

static bb_status play(contest *task)
{
    bb_status status = BB_OK;
    BB_TRY(factor(task));
    if (task->plan.sides > 0 && task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_sweep(task->factor, &task->times));
    }
done:
    return status;
}

// Takes the memory and plays the round that warms up. `task` must not move afterwards.
static bb_status enter(bb_device *device, const panel_row *row, contest *task)
{
    bb_status status = BB_OK;
    bb_device_report before, after;
    const bb_panel_plan *plan = &row->plan;
    const bb_index n = plan->n;
    *task = (contest){.plan = *plan};
    BB_TRY(bb_bench_matrix_open(row->matrix, n, device, &task->matrix));
    if (plan->sides > 0) {
        task->side_decay = (bb_decay){.step = (double)n / (double)plan->sides, .shift = 0.25};
        task->side = bb_decay_source(&task->side_decay, plan->sides, n, "right-hand sides");
        BB_TRY(bb_device_source_create(&task->side, device, &task->side_twin));
    }
    BB_TRY(bb_device_describe(device, &before));
    BB_TRY(bb_panel_cholesky_create(1, &device, plan, &task->factor));
    BB_TRY(play(task));
    BB_TRY(bb_device_describe(device, &after));
    task->taken_bytes = (double)before.free_memory_bytes - (double)after.free_memory_bytes;
done:
    return status;
}

// Rows of D A D, every `step`th.
static bb_status sample_rows(const bb_bench_matrix *matrix, bb_index step, bb_index samples,
                             double *out)
{
    bb_status status = BB_OK;
    const bb_index n = matrix->source.rows;
    for (bb_index s = 0; s < samples; ++s) {
        const bb_index row = s * step + step / 2;
        BB_TRY(bb_matrix_source_fill(&matrix->source, row, 0, bb_view_matrix(out + s * n, 1, n)));
        for (bb_index j = 0; matrix->scale != NULL && j < n; ++j) {
            out[s * n + j] *= matrix->scale[row] * matrix->scale[j];
        }
    }
done:
    return status;
}

static bb_status measure_factor(const contest *task, double *error)
{
    bb_status status = BB_OK;
    const bb_index n = task->plan.n;
    const bb_index samples = n < SAMPLES ? n : SAMPLES;
    const bb_index step = n / samples;
    double *lower = NULL;
    double *rest = NULL;
    BB_TRY(BB_ALLOCATE(n * n, &lower));
    BB_TRY(BB_ALLOCATE(samples * n, &rest));
    BB_TRY(sample_rows(&task->matrix, step, samples, rest));
    BB_TRY(bb_panel_cholesky_lower(task->factor, lower));
    double norm = cblas_dnrm2((int)(samples * n), rest, 1);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)samples, (int)n, (int)n, -1.0,
                lower + step / 2 * n, (int)(step * n), lower, (int)n, 1.0, rest, (int)n);
    *error = cblas_dnrm2((int)(samples * n), rest, 1) / norm;
done:
    BB_RELEASE(&lower);
    BB_RELEASE(&rest);
    return status;
}

static bb_status measure_result(bb_device *device, const contest *task, double *error)
{
    bb_status status = BB_OK;
    const bb_index n = task->plan.n;
    const bb_index m = task->plan.sides;
    void *on_gpu = NULL;
    double *a = NULL;
    double *r = NULL;
    double *rest = NULL;
    const size_t bytes = (size_t)(m * n) * sizeof *r;
    BB_TRY(BB_ALLOCATE(n * n, &a));
    BB_TRY(BB_ALLOCATE(m * n, &r));
    BB_TRY(BB_ALLOCATE(m * n, &rest));
    BB_TRY(bb_device_allocate(device, bytes, &on_gpu));
    BB_TRY(bb_panel_cholesky_result(task->factor, on_gpu));
    BB_TRY(bb_device_download(device, r, on_gpu, bytes));
    BB_TRY(bb_matrix_source_load(&task->matrix.source, a));
    BB_TRY(bb_matrix_source_load(&task->side, rest));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)n, -1.0, r, (int)n,
                a, (int)n, 1.0, rest, (int)n);
    *error = cblas_dnrm2((int)(m * n), rest, 1) /
             (cblas_dnrm2((int)(m * n), r, 1) * cblas_dnrm2((int)(n * n), a, 1));
done:
    bb_device_release(device, &on_gpu);
    BB_RELEASE(&a);
    BB_RELEASE(&r);
    BB_RELEASE(&rest);
    return status;
}

// The size at which a row's error is measured.
static bb_index checked_n(const panel_row *row)
{
    const bb_index limit = row->matrix == BB_BENCH_COVARIANCE ? CHECKED_COVARIANCE : CHECKED_N;
    return row->plan.n < limit ? row->plan.n : limit;
}

// Of the factor, or for a solve of its result, at a smaller n.
static bb_status measure_error(bb_device *device, const panel_row *row, double *error)
{
    bb_status status = BB_OK;
    contest task = {0};
    panel_row small = *row;
    small.plan.n = checked_n(row);
    small.plan.sides = small.plan.n * row->plan.sides / row->plan.n;
    *error = NAN;
    BB_TRY(enter(device, &small, &task));
    if (task.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(small.plan.sides > 0 ? measure_result(device, &task, error)
                                    : measure_factor(&task, error));
    }
done:
    leave(&task);
    return status;
}

static panel_row choose_row(const bb_bench_case *self, bool quick)
{
    panel_row row = rows[self->choice];
    if (quick) {
        row.plan.sides = QUICK_N * row.plan.sides / row.plan.n;
        row.plan.n = QUICK_N;
        row.plan.block = QUICK_BLOCK;
    }
    return row;
}

// n^3 / 3 and m n^2 each way.
static double count_flops(const bb_panel_plan *plan, bool backward)
{
    const double n = (double)plan->n;
    const double sweep = (double)plan->sides * n * n;
    return backward ? sweep : n * n * n / 3.0 + sweep;
}

// What stands beside a time: right-hand sides, or the library loop.
static void describe_row(const contest *task, const bb_panel_peers *peers,
                         const bb_bench_outcome *out, char text[64])
{
    text[0] = '\0';
    if (task->plan.sides > 0) {
        (void)snprintf(text, 64, ", m %td, %.1f TF/s", task->plan.sides,
                       1e-12 * out->flops / out->best_s);
    } else if (!isnan(peers->loop_s)) {
        (void)snprintf(text, 64, ", library loop %.4g ms (%.2f)", 1e3 * peers->loop_s,
                       peers->loop_s / out->best_s);
    }
}

static void conclude(const contest *task, const panel_row *row, const bb_bench_times *times,
                     const bb_panel_peers *peers, double error, bb_bench_outcome *out)
{
    const bb_panel_plan *plan = &task->plan;
    char beside[64];
    out->best_s = bb_bench_best(times);
    out->median_s = bb_bench_median(times);
    out->binds = "flops";
    describe_row(task, peers, out, beside);
    (void)snprintf(out->detail, sizeof out->detail,
                   "n %td%s, panel %td, %.2f GB planned, %.2f taken, error %.1e at n %td", plan->n,
                   beside, plan->block, 1e-9 * bb_panel_plan_need(plan, 1).device_bytes,
                   1e-9 * task->taken_bytes, error, checked_n(row));
}

static bb_status factor_again(void *context)
{
    return factor(context);
}

static bb_status compete(const bb_bench_case *self, bb_device *device, const panel_row *row,
                         bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    bb_bench_times times = {0};
    bb_panel_peers peers = {left_for_solve_s, NAN};
    double error = NAN;
    const bool backward = self->choice == (int)BB_BENCH_100368_BACKWARD;
    if (row->plan.sides == 0) {
        BB_TRY(bb_panel_peers_find(device, row->matrix, row->plan.n, &peers));
    }
    BB_TRY(measure_error(device, row, &error));
    BB_TRY(enter(device, row, &task));
    for (int round = 0; round < ROUNDS && task.outcome.kind == BB_OUTCOME_OK; ++round) {
        BB_TRY(play(&task));
        bb_bench_add(&times, backward ? task.times.backward_s : task.times.factor_s);
    }
    if (task.outcome.kind != BB_OUTCOME_OK) {
        (void)snprintf(out->detail, sizeof out->detail, "broke down: %.100s", task.outcome.detail);
        goto done;
    }
    out->flops = count_flops(&row->plan, backward);
    conclude(&task, row, &times, &peers, error, out);
    out->ratio = peers.potrf_s / out->best_s;
    out->peer = row->plan.sides > 0 ? NAN : 1e-9 * out->flops / peers.potrf_s;
    if (!backward) { // which overwrites what it sweeps
        BB_TRY(bb_bench_take_energy(BB_DEVICE_CUDA, factor_again, &task, 1.0,
                                    "the filling of the matrix", out));
    }
done:
    leave(&task);
    return status;
}

bb_status bb_panel_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                         bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    const panel_row row = choose_row(self, setup->quick);
    BB_TRY(bb_bench_open_cuda(setup, out, &device));
    if (device == NULL) {
        goto done;
    }
    status = bb_bench_skip(compete(self, device, &row, out), out);
done:
    bb_device_close(&device);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// The decaying matrix of decay_source.h factored by panels on a cuda device, one round to warm up
// and three that count, by the device's clock; the kernels that fill the matrix are not counted.
// The peer is cuSOLVER's potrf in fp32, measured once for each n of a run (for at most three rounds
// or two seconds). The solves have m = n / 9 right-hand sides of their own shift and are held
// against what a reconstructor of 1.8 s leaves after 0.7 s of assembly.
//
// Beside the time stands an error of the same arithmetic and panel at a smaller n, in fp64 on the
// host: ||A - L L^T|| / ||A|| over every 16th row, and for the solves ||B - R A|| / (||R|| ||A||),
// Frobenius.
#include "sim/bench/panel_bench.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/bench/decay_source.h"
#include "sim/bench/potrf_peer.h"
#include "solvers/panel_cholesky.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3, SAMPLED = 16, CHECKED_N = 4096, QUICK_N = 1536, QUICK_BLOCK = 256 };

static const double left_for_solve_s = 1.1;
static const double peer_enough_s = 2.0;

// clang-format off
static const bb_panel_plan plans[BB_BENCH_PANEL_ROWS] = {
    [BB_BENCH_98304_HP1] = {.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_HP1},
    [BB_BENCH_98304_HP1_NARROW] = {.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_HP1,
                                   .diagonal_follows = true, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    [BB_BENCH_98304_X3] = {.n = 98304, .block = 1024, .arithmetic = BB_VARIANT_X3},
    [BB_BENCH_49152_HP1] = {.n = 49152, .block = 1024, .arithmetic = BB_VARIANT_HP1},
    [BB_BENCH_49152_SP] = {.n = 49152, .block = 1024, .arithmetic = BB_VARIANT_SP},
    [BB_BENCH_16384_HP1] = {.n = 16384, .block = 512, .arithmetic = BB_VARIANT_HP1},
    [BB_BENCH_16384_SP] = {.n = 16384, .block = 512, .arithmetic = BB_VARIANT_SP},
    [BB_BENCH_100368_FORWARD] = {.n = 100368, .block = 1024, .sides = 11152,
                                 .arithmetic = BB_VARIANT_HP1, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    [BB_BENCH_100368_BACKWARD] = {.n = 100368, .block = 1024, .sides = 11152,
                                  .arithmetic = BB_VARIANT_HP1, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
};
// clang-format on

// Of one n. A best time of NaN: cuSOLVER cannot be measured at this n.
typedef struct peer {
    bb_index n;
    double best_s;
} peer;

// Those of this process: at 98304 rows one takes seconds.
static peer peers[BB_BENCH_PANEL_ROWS];

static bb_status time_peer_rounds(bb_device *device, bb_index n, int rounds, double *best)
{
    bb_status status = BB_OK;
    bb_device_source *twin = NULL;
    const bb_matrix_source matrix = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    double spent = 0.0;
    *best = INFINITY;
    BB_TRY(bb_device_source_create(&matrix, device, &twin));
    for (int round = 0; round < rounds && spent < peer_enough_s; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_potrf_peer_time(twin, &seconds));
        *best = fmin(*best, seconds);
        spent += seconds;
    }
done:
    bb_device_source_destroy(&twin);
    return status;
}

// What a host or a GPU cannot do is a reason to skip, not an error.
static bool is_refusal(bb_status status)
{
    return status == BB_MEMORY || status == BB_UNSUPPORTED;
}

static bb_status find_peer(bb_device *device, bb_index n, double *best)
{
    bb_status status = BB_OK;
    int place = 0;
    while (peers[place].n != 0 && peers[place].n != n) {
        ++place;
    }
    *best = peers[place].best_s;
    if (peers[place].n == 0) {
        double warm = 0.0;
        status = time_peer_rounds(device, n < 1024 ? n : 1024, 1, &warm);
        status = status == BB_OK ? time_peer_rounds(device, n, ROUNDS, best) : status;
        if (is_refusal(status)) {
            bb_log_warning("bench: no peer at n = %td: %s", n, bb_status_message());
            *best = NAN;
            status = BB_OK;
        }
        peers[place] = (peer){n, *best};
    }
    return status;
}

typedef struct contest {
    bb_panel_plan plan;
    bb_decay side_decay;
    bb_matrix_source matrix, side;
    bb_device_source *matrix_twin, *side_twin;
    bb_panel_cholesky *factor;
    bb_outcome outcome;
    bb_panel_times times;
    double taken_bytes;
} contest;

static void leave(contest *task)
{
    bb_panel_cholesky_destroy(&task->factor);
    bb_device_source_destroy(&task->side_twin);
    bb_device_source_destroy(&task->matrix_twin);
}

static bb_status play(contest *task)
{
    bb_status status = BB_OK;
    const bb_device_source *sides[] = {task->side_twin};
    const bb_panel_sources sources = {task->matrix_twin, task->plan.sides > 0 ? 1 : 0, sides};
    BB_TRY(bb_panel_cholesky_factor(task->factor, &sources, NULL, &task->outcome, &task->times));
    if (task->plan.sides > 0 && task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_sweep(task->factor, &task->times));
    }
done:
    return status;
}

// Takes the memory and plays the round that warms up. `task` must not move afterwards.
static bb_status enter(bb_device *device, const bb_panel_plan *plan, contest *task)
{
    bb_status status = BB_OK;
    bb_device_report before, after;
    const bb_index n = plan->n;
    *task = (contest){.plan = *plan};
    task->matrix = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    BB_TRY(bb_device_source_create(&task->matrix, device, &task->matrix_twin));
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

static bb_status measure_factor(const contest *task, double *error)
{
    bb_status status = BB_OK;
    const bb_index n = task->plan.n;
    const bb_index samples = n / SAMPLED;
    const bb_index first = SAMPLED / 2;
    double *lower = NULL;
    double *rest = NULL;
    BB_TRY(BB_ALLOCATE(n * n, &lower));
    BB_TRY(BB_ALLOCATE(samples * n, &rest));
    for (bb_index s = 0; s < samples; ++s) {
        BB_TRY(bb_matrix_source_fill(&task->matrix, s * SAMPLED + first, 0,
                                     bb_view_matrix(rest + s * n, 1, n)));
    }
    BB_TRY(bb_panel_cholesky_lower(task->factor, lower));
    double norm = cblas_dnrm2((int)(samples * n), rest, 1);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)samples, (int)n, (int)n, -1.0,
                lower + first * n, (int)(SAMPLED * n), lower, (int)n, 1.0, rest, (int)n);
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
    BB_TRY(bb_matrix_source_load(&task->matrix, a));
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

// Of the factor, or for a solve of its result, at a smaller n.
static bb_status measure_error(bb_device *device, const bb_panel_plan *plan, double *error)
{
    bb_status status = BB_OK;
    contest task = {0};
    bb_panel_plan small = *plan;
    small.n = plan->n < CHECKED_N ? plan->n : CHECKED_N;
    small.sides = small.n * plan->sides / plan->n;
    *error = NAN;
    BB_TRY(enter(device, &small, &task));
    if (task.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(small.sides > 0 ? measure_result(device, &task, error)
                               : measure_factor(&task, error));
    }
done:
    leave(&task);
    return status;
}

static bb_panel_plan choose_plan(const bb_bench_case *self, bool quick)
{
    bb_panel_plan plan = plans[self->choice];
    if (quick) {
        plan.sides = QUICK_N * plan.sides / plan.n;
        plan.n = QUICK_N;
        plan.block = QUICK_BLOCK;
    }
    return plan;
}

// n^3 / 3 and m n^2 each way.
static double count_flops(const bb_panel_plan *plan, bool backward)
{
    const double n = (double)plan->n;
    const double sweep = (double)plan->sides * n * n;
    return backward ? sweep : n * n * n / 3.0 + sweep;
}

static void conclude(const contest *task, const bb_bench_times *times, double error,
                     bb_bench_outcome *out)
{
    const bb_panel_plan *plan = &task->plan;
    char sides[64] = "";
    out->best_s = bb_bench_best(times);
    out->median_s = bb_bench_median(times);
    out->binds = "flops";
    if (plan->sides > 0) {
        (void)snprintf(sides, sizeof sides, ", m %td, %.1f TF/s", plan->sides,
                       1e-12 * out->flops / out->best_s);
    }
    (void)snprintf(out->detail, sizeof out->detail,
                   "n %td%s, panel %td, %.2f GB planned, %.2f taken, error %.1e at n %td", plan->n,
                   sides, plan->block, 1e-9 * bb_panel_plan_bytes(plan, 1),
                   1e-9 * task->taken_bytes, error, plan->n < CHECKED_N ? plan->n : CHECKED_N);
}

static bb_status compete(const bb_bench_case *self, bb_device *device, const bb_panel_plan *plan,
                         bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    bb_bench_times times = {0};
    double error = NAN;
    const bool backward = self->choice == (int)BB_BENCH_100368_BACKWARD;
    double peer_s = left_for_solve_s;
    if (plan->sides == 0) {
        BB_TRY(find_peer(device, plan->n, &peer_s));
    }
    BB_TRY(measure_error(device, plan, &error));
    BB_TRY(enter(device, plan, &task));
    for (int round = 0; round < ROUNDS && task.outcome.kind == BB_OUTCOME_OK; ++round) {
        BB_TRY(play(&task));
        bb_bench_add(&times, backward ? task.times.backward_s : task.times.factor_s);
    }
    if (task.outcome.kind != BB_OUTCOME_OK) {
        (void)snprintf(out->detail, sizeof out->detail, "broke down: %.100s", task.outcome.detail);
        goto done;
    }
    out->flops = count_flops(plan, backward);
    conclude(&task, &times, error, out);
    out->ratio = peer_s / out->best_s;
    out->peer = plan->sides > 0 ? NAN : 1e-9 * out->flops / peer_s;
done:
    leave(&task);
    return status;
}

bb_status bb_bench_panel(const bb_bench_case *self, const bb_bench_setup *setup,
                         bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    const bb_panel_plan plan = choose_plan(self, setup->quick);
    BB_TRY(bb_bench_open_cuda(setup, out, &device));
    if (device == NULL) {
        goto done;
    }
    status = compete(self, device, &plan, out);
    if (is_refusal(status)) {
        (void)snprintf(out->detail, sizeof out->detail, "%.127s", bb_status_message());
        status = BB_OK;
    }
done:
    bb_device_close(&device);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// `factor-*-two`, `solve-100368-hp1-two`: a factorization by panels that two cuda devices
// share, over the same one on the first of them, one round to warm up and three that count, by the
// devices' clocks; the kernels that fill the matrix are not counted. The matrix is a covariance of
// slopes, of 300,000 rows one that decays, whose L one device of 80 GB has no room for: where one
// has none, two are timed alone. A solve has m = n / 9 right-hand sides that decay. Beside the time
// stands what a device takes in parts of what the one took, as planned and taken, and whether the
// pivots of both are the same bits: each depends on all of L before it.
#include "bench/bench_matrix.h"
#include "bench/panels/two_gpus_bench.h"
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3, QUICK_N = 1368, QUICK_BLOCK = 256, GPUS = 2 };

// clang-format off
static const bb_panel_plan rows[BB_TWO_GPUS_ROWS] = {
    [BB_TWO_GPUS_HP1] = {.n = 100368, .block = 1024, .arithmetic = BB_VARIANT_HP1},
    [BB_TWO_GPUS_X3] = {.n = 100368, .block = 1024, .arithmetic = BB_VARIANT_X3},
    [BB_TWO_GPUS_SOLVE] = {.n = 100368, .block = 1024, .sides = 11152, .arithmetic = BB_VARIANT_HP1,
                           .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    [BB_TWO_GPUS_300000] = {.n = 300000, .block = 1024, .arithmetic = BB_VARIANT_HP1, .diagonal_follows = true},
};
// clang-format on

typedef struct contest {
    bb_panel_plan plan;
    bb_device *devices[GPUS];
    bb_bench_matrix matrices[GPUS];
    bb_decay decay;
    bb_matrix_source side;
    bb_device_source *sides[GPUS];
    bb_bench_times times[GPUS]; // of one device, and of two
    double taken_bytes[GPUS];   // of the first device
    double *pivots[GPUS];       // [n]
    bb_outcome outcome;
} contest;

static void leave(contest *task)
{
    for (int g = 0; g < GPUS; ++g) {
        BB_RELEASE(&task->pivots[g]);
        bb_device_source_destroy(&task->sides[g]);
        bb_bench_matrix_close(&task->matrices[g]);
        bb_device_close(&task->devices[g]);
    }
}

// `task` must not move afterwards.
static bb_status enter(const bb_panel_plan *plan, contest *task)
{
    bb_status status = BB_OK;
    task->plan = *plan;
    task->decay = (bb_decay){.step = 9.0, .shift = 0.25};
    task->side = bb_decay_source(&task->decay, plan->sides, plan->n, "right-hand sides");
    for (int g = 0; g < GPUS; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &task->devices[g]));
        BB_TRY(bb_bench_matrix_open(bb_bench_matrix_lenslets(plan->n) > 0 ? BB_BENCH_COVARIANCE
                                                                          : BB_BENCH_DECAY,
                                    plan->n, task->devices[g], &task->matrices[g]));
        if (plan->sides > 0) {
            BB_TRY(bb_device_source_create(&task->side, task->devices[g], &task->sides[g]));
        }
        BB_TRY(BB_ALLOCATE(plan->n, &task->pivots[g]));
    }
done:
    return status;
}

// Factors, and sweeps back where there are sides.
static bb_status play(contest *task, bb_panel_cholesky *factor, double *seconds)
{
    bb_status status = BB_OK;
    bb_panel_sources sources[GPUS];
    bb_panel_times times = {0};
    for (int g = 0; g < GPUS; ++g) {
        sources[g] = (bb_panel_sources){task->matrices[g].twin, task->plan.sides > 0 ? 1 : 0,
                                        (const bb_device_source *const *)&task->sides[g]};
    }
    BB_TRY(
        bb_panel_cholesky_factor(factor, sources, task->matrices[0].scale, &task->outcome, &times));
    if (task->plan.sides > 0 && task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_sweep(factor, &times));
    }
    *seconds = times.factor_s + times.backward_s;
done:
    return status;
}

// All rounds on `gpus` devices.
static bb_status play_on(contest *task, int gpus)
{
    bb_status status = BB_OK;
    bb_panel_cholesky *factor = NULL;
    bb_device_report before, after;
    double seconds = 0.0;
    BB_TRY(bb_device_describe(task->devices[0], &before));
    BB_TRY(bb_panel_cholesky_create(gpus, task->devices, &task->plan, &factor));
    BB_TRY(play(task, factor, &seconds));
    BB_TRY(bb_device_describe(task->devices[0], &after));
    task->taken_bytes[gpus - 1] =
        (double)before.free_memory_bytes - (double)after.free_memory_bytes;
    for (int round = 0; round < ROUNDS && task->outcome.kind == BB_OUTCOME_OK; ++round) {
        BB_TRY(play(task, factor, &seconds));
        bb_bench_add(&task->times[gpus - 1], seconds);
    }
    if (task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_pivots(factor, task->pivots[gpus - 1]));
    }
done:
    bb_panel_cholesky_destroy(&factor);
    return status;
}

static bb_status conclude(const contest *task, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_panel_plan *plan = &task->plan;
    const double n = (double)plan->n;
    const bool compared = task->times[0].count > 0; // one has room
    const double one = compared ? bb_bench_best(&task->times[0]) : NAN;
    BB_REQUIRE(!compared ||
                   memcmp(task->pivots[0], task->pivots[1], (size_t)plan->n * sizeof(double)) == 0,
               BB_INTERNAL, "pivots by two GPUs differ from those by one");
    out->best_s = bb_bench_best(&task->times[1]);
    out->median_s = bb_bench_median(&task->times[1]);
    out->flops = n * n * n / 3.0 + 2.0 * (double)plan->sides * n * n;
    out->peer = 1e-9 * out->flops / one;
    out->ratio = one / out->best_s;
    out->binds = "flops";
    (void)snprintf(
        out->detail, sizeof out->detail,
        "n %td, m %td, one %.4g ms, memory %.3f planned, %.3f taken of %.2f GB, pivots %s", plan->n,
        plan->sides, 1e3 * one,
        bb_panel_plan_need(plan, GPUS).device_bytes / bb_panel_plan_need(plan, 1).device_bytes,
        task->taken_bytes[1] / task->taken_bytes[0], 1e-9 * task->taken_bytes[0],
        compared ? "alike" : "not compared: one has no room");
done:
    return status;
}

static bb_status compete(const bb_panel_plan *plan, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    BB_TRY(enter(plan, &task));
    for (int gpus = 1; gpus <= GPUS && task.outcome.kind == BB_OUTCOME_OK; ++gpus) {
        status = play_on(&task, gpus);
        if (status == BB_MEMORY && gpus < GPUS) {
            bb_status_clear();
            status = BB_OK;
            task.taken_bytes[0] = bb_panel_plan_need(plan, 1).device_bytes;
        }
        BB_TRY(status);
    }
    if (task.outcome.kind != BB_OUTCOME_OK) {
        (void)snprintf(out->detail, sizeof out->detail, "broke down: %.100s", task.outcome.detail);
        goto done;
    }
    BB_TRY(conclude(&task, out));
done:
    leave(&task);
    return status;
}

bb_status bb_two_gpus_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_panel_plan plan = rows[self->choice];
    BB_TRY(bb_bench_open_cuda(setup, out, &device));
    if (device == NULL) {
        goto done;
    }
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) < GPUS) {
        (void)snprintf(out->detail, sizeof out->detail, "one GPU, expected two");
        goto done;
    }
    if (setup->quick) {
        plan.sides = QUICK_N * plan.sides / plan.n;
        plan.n = QUICK_N;
        plan.block = QUICK_BLOCK;
    }
    status = bb_bench_skip(compete(&plan, out), out);
done:
    bb_device_close(&device);
    return status;
}

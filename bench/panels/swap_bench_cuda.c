// SPDX-License-Identifier: Apache-2.0
//
// `factor-200000-hp1-swap`: a factorization by panels whose L lies in the host's memory, over the
// same one with L on the device, one round to warm up and two that count, by the device's clock;
// the kernels that fill the matrix are not counted, though copies run under them too. The matrix is
// random, for which products take as much power as they can. Beside the time stand its floors, of
// the operations at the rate of long products and of the bytes at that of the bus, the bytes that
// went up and down, what was taken of both memories and how long that took. The pivots of both have
// to be the same bits. Where the device has no room for L, the swapped one is timed alone.
#include "bench/bench_matrix.h"
#include "bench/panels/swap_bench.h"
#include "core/clock.h"
#include "core/memory.h"
#include "sim/plan.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 2, KEPT = 0, SWAPPED = 1, FORMS = 2 };

static const bb_panel_plan full = {.n = 200000, .block = 1024, .arithmetic = BB_VARIANT_HP1};
static const bb_panel_plan quick = {
    .n = 3000, .block = 256, .arithmetic = BB_VARIANT_HP1, .run = 1024};

// Of one H200: products of fp16 as cuBLAS runs them, and one way of its bus.
static const double product_rate = 655e12;
static const double bus_rate = 55e9;

typedef struct contest {
    bb_panel_plan plan;
    bb_device *device;
    bb_bench_matrix matrix;
    bb_bench_times times[FORMS];
    double *pivots[FORMS]; // [n]
    bb_panel_traffic traffic;
    double start_s; // to take the memory of both sides, page-locked
    bb_outcome outcome;
} contest;

static void leave(contest *task)
{
    for (int form = 0; form < FORMS; ++form) {
        BB_RELEASE(&task->pivots[form]);
    }
    bb_bench_matrix_close(&task->matrix);
}

// All rounds with L in one memory or the other.
static bb_status play(contest *task, int form)
{
    bb_status status = BB_OK;
    bb_panel_cholesky *factor = NULL;
    bb_panel_times times = {0};
    bb_panel_plan plan = task->plan;
    double host_bytes = 0.0;
    const bb_panel_sources sources = {task->matrix.twin, 0, NULL};
    plan.swapped = form == SWAPPED;
    BB_TRY(bb_plan_machine_bytes(&host_bytes));
    BB_TRY(bb_panel_plan_check_host(&plan, host_bytes));
    const double start = bb_clock_seconds();
    BB_TRY(bb_panel_cholesky_create(1, &task->device, &plan, &factor));
    task->start_s = bb_clock_seconds() - start;
    for (int round = 0; round <= ROUNDS && task->outcome.kind == BB_OUTCOME_OK; ++round) {
        BB_TRY(
            bb_panel_cholesky_factor(factor, &sources, task->matrix.scale, &task->outcome, &times));
        if (round > 0) {
            bb_bench_add(&task->times[form], times.factor_s);
        }
    }
    if (task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_pivots(factor, task->pivots[form]));
        task->traffic = bb_panel_cholesky_traffic(factor);
    }
done:
    bb_panel_cholesky_destroy(&factor);
    return status;
}

static bb_status conclude(const contest *task, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_panel_plan plan = task->plan;
    const double n = (double)plan.n;
    const bool alone = task->times[KEPT].count == 0;
    const double kept = alone ? NAN : bb_bench_best(&task->times[KEPT]);
    BB_REQUIRE(alone || memcmp(task->pivots[KEPT], task->pivots[SWAPPED],
                               (size_t)plan.n * sizeof(double)) == 0,
               BB_INTERNAL, "pivots of L in the host's memory differ from those of L on the GPU");
    plan.swapped = true;
    const bb_need need = bb_panel_plan_need(&plan, 1);
    out->best_s = bb_bench_best(&task->times[SWAPPED]);
    out->median_s = bb_bench_median(&task->times[SWAPPED]);
    out->flops = n * n * n / 3.0;
    out->peer = 1e-9 * out->flops / kept;
    out->ratio = kept / out->best_s;
    out->binds = "flops";
    (void)snprintf(
        out->detail, sizeof out->detail,
        "n %td, on the GPU %.4g s, floors %.3g s of flops, %.3g s of %.0f GB up, %.0f GB "
        "down, %.0f GB of GPU, %.0f of host taken in %.3g s, pivots %s",
        plan.n, kept, out->flops / product_rate, task->traffic.host_to_device_bytes / bus_rate,
        1e-9 * task->traffic.host_to_device_bytes, 1e-9 * task->traffic.device_to_host_bytes,
        1e-9 * need.device_bytes, 1e-9 * need.host_bytes, task->start_s,
        alone ? "not compared: no room" : "alike");
done:
    return status;
}

static bb_status compete(contest *task, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_bench_matrix_open(BB_BENCH_RANDOM, task->plan.n, task->device, &task->matrix));
    for (int form = 0; form < FORMS && task->outcome.kind == BB_OUTCOME_OK; ++form) {
        BB_TRY(BB_ALLOCATE(task->plan.n, &task->pivots[form]));
        status = play(task, form);
        if (status == BB_MEMORY && form == KEPT) {
            bb_status_clear();
            status = BB_OK;
        }
        BB_TRY(status);
    }
    if (task->outcome.kind != BB_OUTCOME_OK) {
        (void)snprintf(out->detail, sizeof out->detail, "broke down: %.100s", task->outcome.detail);
        goto done;
    }
    BB_TRY(conclude(task, out));
done:
    return status;
}

bb_status bb_swap_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                        bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {.plan = setup->quick ? quick : full};
    (void)self;
    BB_TRY(bb_bench_open_cuda(setup, out, &task.device));
    if (task.device == NULL) {
        goto done;
    }
    status = bb_bench_skip(compete(&task, out), out);
done:
    leave(&task);
    bb_device_close(&task.device);
    return status;
}

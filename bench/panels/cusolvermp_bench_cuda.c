// SPDX-License-Identifier: Apache-2.0
//
// `factor-100368-sp-cusolvermp`, `factor-100368-dp-cusolvermp`: a covariance of slopes, scaled to a
// unit diagonal, factored by panels that two cuda devices share, over cusolverMpPotrf of the same
// matrix and the same two in the same arithmetic. Of each one round to warm up and three that
// count, by the devices' clocks; the matrix is filled before every round, outside the time. One
// after the other, so that a device needs room for the larger of the two, the peer's 42 GB in fp64.
//
// The peer takes the blocks and the grid that were quickest on two H200 (docs/lab/performance.md,
// section 6): of 256 to 8192 and of 1 x 2 and 2 x 1, for both types blocks of 4096 on 2 x 1.
//
// Both give a diagonal of L, each value of which depends on all of L before it: their largest
// relative difference and what log det differs by a row stand beside the time, and beyond `bound`
// there is no ratio but an error.
#include "bench/bench_matrix.h"
#include "bench/panels/cusolvermp_bench.h"
#include "bench/panels/cusolvermp_peer.h"
#include "core/memory.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 3, QUICK_N = 1368, QUICK_BLOCK = 256, GPUS = BB_CUSOLVERMP_GPUS };

typedef struct cusolvermp_row {
    bb_panel_plan plan;
    bb_cusolvermp_plan peer;
    double bound; // of the relative difference of two pivots; on two H200 it is 4e-4 and 1e-13
} cusolvermp_row;

// clang-format off
static const cusolvermp_row rows[BB_CUSOLVERMP_ROWS] = {
    [BB_CUSOLVERMP_SP] = {{.n = 100368, .block = 1024, .arithmetic = BB_VARIANT_SP}, {BB_F32, 4096, 2, 1}, 1e-2},
    [BB_CUSOLVERMP_DP] = {{.n = 100368, .block = 1024, .arithmetic = BB_VARIANT_DP}, {BB_F64, 4096, 2, 1}, 1e-11},
};
// clang-format on

typedef struct contest {
    cusolvermp_row row;
    bb_device *devices[GPUS];
    bb_bench_matrix matrices[GPUS];
    bb_bench_times times, peer_times;
    double *pivots, *peer_pivots; // [n] of the factor of A itself
    int solver_version, nccl_version;
    bb_outcome outcome;
} contest;

static void leave(contest *task)
{
    BB_RELEASE(&task->pivots);
    BB_RELEASE(&task->peer_pivots);
    for (int g = 0; g < GPUS; ++g) {
        bb_bench_matrix_close(&task->matrices[g]);
        bb_device_close(&task->devices[g]);
    }
}

// `task` must not move afterwards.
static bb_status enter(const cusolvermp_row *row, contest *task)
{
    bb_status status = BB_OK;
    task->row = *row;
    BB_TRY(BB_ALLOCATE(row->plan.n, &task->pivots));
    BB_TRY(BB_ALLOCATE(row->plan.n, &task->peer_pivots));
    for (int g = 0; g < GPUS; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &task->devices[g]));
        BB_TRY(bb_bench_matrix_open(BB_BENCH_COVARIANCE, row->plan.n, task->devices[g],
                                    &task->matrices[g]));
    }
done:
    return status;
}

static bb_status play_peer(contest *task)
{
    bb_status status = BB_OK;
    bb_cusolvermp_peer *peer = NULL;
    const double *scale = task->matrices[0].scale;
    const bb_device_source *const matrices[GPUS] = {task->matrices[0].twin, task->matrices[1].twin};
    double seconds = 0.0;
    BB_TRY(bb_cusolvermp_peer_create(matrices, scale, &task->row.peer, &peer));
    bb_cusolvermp_peer_versions(peer, &task->solver_version, &task->nccl_version);
    BB_TRY(bb_cusolvermp_peer_factor(peer, &seconds)); // warms up
    for (int round = 0; round < ROUNDS; ++round) {
        BB_TRY(bb_cusolvermp_peer_factor(peer, &seconds));
        bb_bench_add(&task->peer_times, seconds);
    }
    BB_TRY(bb_cusolvermp_peer_pivots(peer, task->peer_pivots));
    for (bb_index i = 0; i < task->row.plan.n; ++i) {
        task->peer_pivots[i] /= scale[i];
    }
done:
    bb_cusolvermp_peer_destroy(&peer);
    return status;
}

static bb_status play(contest *task)
{
    bb_status status = BB_OK;
    bb_panel_cholesky *factor = NULL;
    bb_panel_sources sources[GPUS];
    bb_panel_times times = {0};
    for (int g = 0; g < GPUS; ++g) {
        sources[g] = (bb_panel_sources){.matrix = task->matrices[g].twin};
    }
    BB_TRY(bb_panel_cholesky_create(GPUS, task->devices, &task->row.plan, &factor));
    for (int round = 0; round <= ROUNDS; ++round) { // the first one warms up
        BB_TRY(bb_panel_cholesky_factor(factor, sources, task->matrices[0].scale, &task->outcome,
                                        &times));
        if (task->outcome.kind != BB_OUTCOME_OK) {
            goto done;
        }
        if (round > 0) {
            bb_bench_add(&task->times, times.factor_s);
        }
    }
    BB_TRY(bb_panel_cholesky_pivots(factor, task->pivots));
done:
    bb_panel_cholesky_destroy(&factor);
    return status;
}

// The largest relative difference of two pivots, and that of log det = 2 sum(log l_ii) a row.
static void compare_pivots(const contest *task, double *pivot, double *log_det)
{
    double sum = 0.0;
    *pivot = 0.0;
    for (bb_index i = 0; i < task->row.plan.n; ++i) {
        const double ratio = task->peer_pivots[i] / task->pivots[i];
        *pivot = fmax(*pivot, fabs(ratio - 1.0));
        sum += log(ratio);
    }
    *log_det = 2.0 * fabs(sum) / (double)task->row.plan.n;
}

static bb_status conclude(const contest *task, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const cusolvermp_row *row = &task->row;
    const double n = (double)row->plan.n;
    const double peer_s = bb_bench_best(&task->peer_times);
    double pivot = NAN;
    double log_det = NAN;
    compare_pivots(task, &pivot, &log_det);
    BB_REQUIRE(pivot <= row->bound && isfinite(log_det), BB_INTERNAL, // fmax passes over a NaN
               "pivots of cuSOLVERMp differ by %.1e, expected at most %.0e", pivot, row->bound);
    out->best_s = bb_bench_best(&task->times);
    out->median_s = bb_bench_median(&task->times);
    out->flops = n * n * n / 3.0;
    out->peer = 1e-9 * out->flops / peer_s;
    out->ratio = peer_s / out->best_s;
    out->binds = "flops";
    (void)snprintf(out->detail, sizeof out->detail,
                   "n %td, panel %td; cuSOLVERMp %d (NCCL %d) %.4g ms in blocks of %td on %d x %d, "
                   "pivots differ by %.1e, log det by %.1e a row",
                   row->plan.n, row->plan.block, task->solver_version, task->nccl_version,
                   1e3 * peer_s, row->peer.block, row->peer.rows, row->peer.columns, pivot,
                   log_det);
done:
    return status;
}

static bb_status compete(const cusolvermp_row *row, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    BB_TRY(enter(row, &task));
    BB_TRY(play_peer(&task)); // first: without one there is nothing to measure
    BB_TRY(play(&task));
    if (task.outcome.kind != BB_OUTCOME_OK) {
        (void)snprintf(out->detail, sizeof out->detail, "broke down: %.100s", task.outcome.detail);
        goto done;
    }
    BB_TRY(conclude(&task, out));
done:
    leave(&task);
    return status;
}

bb_status bb_cusolvermp_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                              bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    cusolvermp_row row = rows[self->choice];
    BB_TRY(bb_bench_open_cuda(setup, out, &device));
    if (device == NULL) {
        goto done;
    }
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) < GPUS) {
        (void)snprintf(out->detail, sizeof out->detail, "one GPU, expected two");
        goto done;
    }
    if (setup->quick) {
        row.plan.n = QUICK_N;
        row.plan.block = QUICK_BLOCK;
        row.peer.block = QUICK_BLOCK;
    }
    status = bb_bench_skip(compete(&row, out), out);
done:
    bb_device_close(&device);
    return status;
}

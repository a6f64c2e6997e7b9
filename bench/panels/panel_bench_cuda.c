// SPDX-License-Identifier: Apache-2.0
//
// Factorizations by panels on cuda devices against a rival on the same matrix: one warm-up round of
// each and three measured ones, by the devices' clocks; kernels that fill the matrix are not
// counted. Rivals of the rows:
//     factor-*             cuSOLVER's potrf in fp32, in at most three rounds or two seconds
//     *-two                the same panels on the first of the two devices; L may need both
//     factor-*-swap        the same panels with L on the device, if it fits
//     factor-*-cusolvermp  cusolverMpPotrf on the same two devices in the same arithmetic, with the
//                          fastest blocks and grid on two H200: 4096 on 2 x 1
// A solve has m = n / 9 right-hand sides that decay, swept forward and backward. Pivots, each of
// which depends on all earlier columns of L, must equal the rival's bit for bit, and those of
// cuSOLVERMp within 1e-2 in fp32 and 1e-11 in fp64 (4e-4 and 1e-13 on two H200); otherwise there is
// an error instead of a ratio.
#include "bench/bench_sky.h"
#include "bench/bench_source.h"
#include "bench/panels/panel_bench.h"
#include "bench/panels/panel_peers.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "precision/scaling.h"
#include "sim/run/plan.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ROUNDS = 3,
    GPUS = BB_CUSOLVERMP_GPUS,
    SIDE_STEP = 9,
    WARM_N = 1024,
    QUICK_N = 1368,
    QUICK_SWAP_N = 3000, // in groups of 1024 columns
    QUICK_BLOCK = 256,
    SMALL_N = 32768, // panels are narrower below it
    PEER_BLOCK = 4096
};

static const double enough_s = 2.0;

// Matrices selected by --set. The time of a product depends on its data, because the GPU is at its
// power cap.
typedef enum matrix_kind {
    DECAY,      // distant blocks vanish, condition 1e3; low power
    RANDOM,     // blocks are similar everywhere, condition 9; highest power
    COVARIANCE, // Cmm of nine sensors, scaled to a unit diagonal: the program's purpose
    KINDS,
} matrix_kind;

static const char *const kind_names[KINDS] = {"decay", "random", "covariance"};

// Matrix of a test. It must not be moved after it is opened.
typedef struct test_matrix {
    bb_matrix_source source;
    bb_device_source *twin;
    double *scale; // [n] for the covariance, as in bb_panel_cholesky_factor; else NULL
    bb_noise noise;
    bb_bench_sky sky;
} test_matrix;

static bb_status open_covariance(bb_index n, test_matrix *out)
{
    bb_status status = BB_OK;
    const bb_index lenslets = n == 1368 ? 10 : n == 34128 ? 50 : n == 100368 ? 86 : 0;
    double *diagonal = NULL;
    BB_REQUIRE(
        lenslets > 0, BB_INVALID,
        "--n %td: no covariance of this size; use --n 34128 or 100368, or --set decay or random",
        n);
    BB_TRY(bb_bench_sky_create_wide(lenslets, &out->sky));
    out->source = *bb_slope_covariance_source(out->sky.covariance);
    BB_REQUIRE(out->source.rows == n, BB_INTERNAL, "internal: covariance of %td rows, expected %td",
               out->source.rows, n);
    BB_TRY(BB_ALLOCATE(n, &diagonal));
    BB_TRY(BB_ALLOCATE(n, &out->scale));
    BB_TRY(bb_matrix_source_diagonal(&out->source, diagonal));
    BB_TRY(bb_scaling_unit_diagonal(diagonal, n, out->scale));
done:
    BB_RELEASE(&diagonal);
    return status;
}

static bb_status open_matrix(matrix_kind kind, bb_index n, bb_device *device, test_matrix *out)
{
    bb_status status = BB_OK;
    out->source = kind == RANDOM ? bb_noise_source(&out->noise, n)
                                 : bb_decay_source(&bb_decay_matrix, n, n, "bench");
    BB_TRY(kind == COVARIANCE ? open_covariance(n, out) : BB_OK);
    BB_TRY(bb_device_source_create(&out->source, device, &out->twin));
done:
    return status;
}

static void close_matrix(test_matrix *matrix)
{
    bb_device_source_destroy(&matrix->twin);
    BB_RELEASE(&matrix->scale);
    bb_bench_sky_release(&matrix->sky);
}

typedef struct contest {
    bb_panel_plan plan;
    int gpus, flags;
    matrix_kind kind;
    bb_device *devices[GPUS];
    test_matrix matrices[GPUS];
    bb_decay decay;
    bb_matrix_source side;
    bb_device_source *sides[GPUS];
    bb_bench_times own, rival;
    double *pivots, *rival_pivots;   // [n]
    double taken_bytes, rival_bytes; // bytes used on the first device
    double start_s;                  // time to allocate page-locked memory for a swapped L
    bb_panel_traffic traffic;
    bb_outcome outcome;
    int solver_version, nccl_version; // versions for cuSOLVERMp
} contest;

static void release(contest *task)
{
    BB_RELEASE(&task->pivots);
    BB_RELEASE(&task->rival_pivots);
    for (int g = 0; g < GPUS; ++g) {
        bb_device_source_destroy(&task->sides[g]);
        close_matrix(&task->matrices[g]);
        bb_device_close(&task->devices[g]);
    }
}

// Prepares the matrix of `task`, which must not be moved afterwards.
static bb_status prepare(contest *task)
{
    bb_status status = BB_OK;
    const bb_panel_plan *plan = &task->plan;
    task->decay = (bb_decay){.step = SIDE_STEP, .shift = 0.25};
    task->side = bb_decay_source(&task->decay, plan->sides, plan->n, "right-hand sides");
    BB_TRY(BB_ALLOCATE(plan->n, &task->pivots));
    BB_TRY(BB_ALLOCATE(plan->n, &task->rival_pivots));
    for (int g = 0; g < task->gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &task->devices[g]));
        BB_TRY(open_matrix(task->kind, plan->n, task->devices[g], &task->matrices[g]));
        if (plan->sides > 0) {
            BB_TRY(bb_device_source_create(&task->side, task->devices[g], &task->sides[g]));
        }
    }
done:
    return status;
}

typedef struct repetition {
    contest *task;
    bb_panel_cholesky *factor;
    double seconds; // times of the factorization and the sweeps
} repetition;

static bb_status factor_again(void *context)
{
    bb_status status = BB_OK;
    repetition *again = context;
    contest *task = again->task;
    bb_panel_sources sources[GPUS];
    bb_panel_times times = {0};
    for (int g = 0; g < task->gpus; ++g) {
        sources[g] = (bb_panel_sources){task->matrices[g].twin, task->plan.sides > 0 ? 1 : 0,
                                        (const bb_device_source *const *)&task->sides[g]};
    }
    BB_TRY(bb_panel_cholesky_factor(again->factor, sources, task->matrices[0].scale, &task->outcome,
                                    &times));
    if (task->plan.sides > 0 && task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_sweep(again->factor, &times));
    }
    again->seconds = times.factor_s + times.backward_s;
done:
    return status;
}

// Runs all rounds by panels. `out` receives the energy of the row itself; for a rival it is NULL.
static bb_status run_rounds(contest *task, int gpus, const bb_panel_plan *plan,
                            bb_bench_times *times, double *pivots, double *taken_bytes,
                            bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    repetition again = {.task = task};
    bb_device_report before, after;
    double host_bytes = 0.0;
    BB_TRY(bb_plan_machine_bytes(&host_bytes));
    BB_TRY(bb_panel_plan_check_host(plan, host_bytes));
    BB_TRY(bb_device_describe(task->devices[0], &before));
    const double start = bb_clock_seconds();
    BB_TRY(bb_panel_cholesky_create(gpus, task->devices, plan, &again.factor));
    task->start_s = bb_clock_seconds() - start;
    for (int round = 0; round <= ROUNDS; ++round) { // the first round warms up
        BB_TRY(factor_again(&again));
        if (task->outcome.kind != BB_OUTCOME_OK) {
            goto done;
        }
        BB_TRY(round == 0 ? bb_device_describe(task->devices[0], &after) : BB_OK);
        if (round > 0) {
            bb_bench_add(times, again.seconds);
        }
    }
    *taken_bytes = (double)before.free_memory_bytes - (double)after.free_memory_bytes;
    BB_TRY(bb_panel_cholesky_pivots(again.factor, pivots));
    task->traffic = bb_panel_cholesky_traffic(again.factor);
    if (out != NULL) {
        BB_TRY(bb_bench_measure_energy(BB_DEVICE_CUDA, factor_again, &again, 1.0,
                                       "filling of the matrix", out));
    }
done:
    bb_panel_cholesky_destroy(&again.factor);
    return status;
}

// Runs the same panels on one device, or with L on the device.
static bb_status run_panels(contest *task)
{
    bb_panel_plan plan = task->plan;
    plan.swapped = false;
    return run_rounds(task, 1, &plan, &task->rival, task->rival_pivots, &task->rival_bytes, NULL);
}

static bb_status time_potrf(const contest *task, matrix_kind kind, bb_index n,
                            bb_bench_times *times)
{
    bb_status status = BB_OK;
    test_matrix matrix = {0};
    double spent = 0.0;
    BB_TRY(open_matrix(kind, n, task->devices[0], &matrix));
    for (int round = 0; round < ROUNDS && spent < enough_s; ++round) {
        double seconds = 0.0;
        BB_TRY(bb_panel_peers_potrf(matrix.twin, &seconds));
        bb_bench_add(times, seconds);
        spent += seconds;
    }
done:
    close_matrix(&matrix);
    return status;
}

static bb_status run_potrf(contest *task)
{
    bb_status status = BB_OK;
    bb_bench_times warm = {0};
    BB_TRY(time_potrf(task, DECAY, WARM_N, &warm));
    BB_TRY(time_potrf(task, task->kind, task->plan.n, &task->rival));
done:
    return status;
}

static bb_index peer_block(const contest *task)
{
    return task->plan.n < PEER_BLOCK ? QUICK_BLOCK : PEER_BLOCK;
}

static bb_status run_cusolvermp(contest *task)
{
    bb_status status = BB_OK;
    bb_cusolvermp_peer *peer = NULL;
    const double *scale = task->matrices[0].scale;
    const bb_device_source *const matrices[GPUS] = {task->matrices[0].twin, task->matrices[1].twin};
    const bb_type type = task->plan.arithmetic == BB_VARIANT_DP ? BB_F64 : BB_F32;
    double seconds = 0.0;
    BB_TRY(bb_cusolvermp_peer_create(matrices, scale, type, peer_block(task), &peer));
    bb_cusolvermp_peer_versions(peer, &task->solver_version, &task->nccl_version);
    for (int round = 0; round <= ROUNDS; ++round) {
        BB_TRY(bb_cusolvermp_peer_factor(peer, &seconds));
        if (round > 0) {
            bb_bench_add(&task->rival, seconds);
        }
    }
    BB_TRY(bb_cusolvermp_peer_pivots(peer, task->rival_pivots));
    for (bb_index i = 0; i < task->plan.n; ++i) {
        task->rival_pivots[i] /= scale[i];
    }
done:
    bb_cusolvermp_peer_destroy(&peer);
    return status;
}

// Runs the rival. It is skipped if it does not fit on a device or lacks a library, except
// cuSOLVERMp.
static bb_status run_rival(contest *task)
{
    bb_status status = BB_OK;
    if ((task->flags & BB_PANEL_CUSOLVERMP) != 0) {
        return run_cusolvermp(task);
    }
    status =
        (task->flags & (BB_PANEL_TWO | BB_PANEL_SWAP)) != 0 ? run_panels(task) : run_potrf(task);
    if (status == BB_MEMORY || status == BB_UNSUPPORTED) {
        bb_log_warning("bench: skipping the rival at n = %td: %s", task->plan.n,
                       bb_status_message());
        bb_status_clear();
        status = BB_OK;
    }
    return status;
}

// Computes the largest relative difference of two pivots.
static bb_status compare_pivots(const contest *task, double *out)
{
    bb_status status = BB_OK;
    const double bound = (task->flags & BB_PANEL_CUSOLVERMP) == 0 ? 0.0
                         : task->plan.arithmetic == BB_VARIANT_DP ? 1e-11
                                                                  : 1e-2;
    *out = 0.0;
    for (bb_index i = 0; i < task->plan.n; ++i) {
        const double apart = fabs(task->rival_pivots[i] / task->pivots[i] - 1.0);
        BB_REQUIRE(apart <= bound, BB_INTERNAL, "pivot %td differs by %.1e, expected at most %.0e",
                   i, apart, bound);
        *out = fmax(*out, apart);
    }
done:
    return status;
}

static bb_status describe(const contest *task, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bb_panel_plan *plan = &task->plan;
    const bb_need need = bb_panel_plan_need(plan, task->gpus);
    const bool compared = task->rival.count > 0;
    double apart = NAN;
    char extra[120] = "";
    if (compared && task->flags != 0) {
        BB_TRY(compare_pivots(task, &apart));
    }
    if ((task->flags & BB_PANEL_CUSOLVERMP) != 0) {
        (void)snprintf(extra, sizeof extra,
                       "; cuSOLVERMp %d (NCCL %d) in blocks of %td on 2 x 1, pivots differ by %.1e",
                       task->solver_version, task->nccl_version, peer_block(task), apart);
    } else if ((task->flags & BB_PANEL_SWAP) != 0) {
        (void)snprintf(extra, sizeof extra,
                       ", %.0f GB up, %.0f down, %.0f GB of host memory allocated in %.3g s%s",
                       1e-9 * task->traffic.host_to_device_bytes,
                       1e-9 * task->traffic.device_to_host_bytes, 1e-9 * need.host_bytes,
                       task->start_s, compared ? "" : "; L does not fit on the GPU");
    } else if ((task->flags & BB_PANEL_TWO) != 0) {
        (void)snprintf(extra, sizeof extra, ", memory %.3f of a single GPU%s",
                       compared ? task->taken_bytes / task->rival_bytes
                                : need.device_bytes / bb_panel_plan_need(plan, 1).device_bytes,
                       compared ? "" : " as planned: it does not fit on one");
    }
    (void)snprintf(out->detail, sizeof out->detail,
                   "n %td, m %td, %s, panel %td, %.2f GB planned, %.2f used%s", plan->n,
                   plan->sides, kind_names[task->kind], plan->block, 1e-9 * need.device_bytes,
                   1e-9 * task->taken_bytes, extra);
done:
    return status;
}

static bb_status run_contest(contest *task, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const double n = (double)task->plan.n;
    BB_TRY(prepare(task));
    BB_TRY(run_rival(task));
    if (task->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(run_rounds(task, task->gpus, &task->plan, &task->own, task->pivots,
                          &task->taken_bytes, task->gpus == 1 ? out : NULL));
    }
    if (task->outcome.kind != BB_OUTCOME_OK) {
        (void)snprintf(out->detail, sizeof out->detail, "broke down: %.100s", task->outcome.detail);
        goto done;
    }
    BB_TRY(describe(task, out));
    out->best_s = bb_bench_best(&task->own);
    out->median_s = bb_bench_median(&task->own);
    out->flops = n * n * n / 3.0 + 2.0 * (double)task->plan.sides * n * n;
    out->binds = "flops";
    if (task->rival.count > 0) {
        const double rival_s = bb_bench_best(&task->rival);
        out->peer = 1e-9 * out->flops / rival_s;
        out->ratio = rival_s / out->best_s;
    }
done:
    return status;
}

// Plans a row at the requested size, and opens its matrix.
static bb_status choose(const bb_bench_case *self, const bb_bench_setup *setup, contest *task)
{
    bb_status status = BB_OK;
    const int flags = self->choice & ~BB_PANEL_VARIANT;
    const bool swaps = (flags & BB_PANEL_SWAP) != 0;
    const bb_index n = setup->quick   ? (swaps ? QUICK_SWAP_N : QUICK_N)
                       : setup->n > 0 ? setup->n
                                      : self->n;
    int kind = 0;
    *task = (contest){.plan = {.n = n,
                               .block = setup->quick  ? QUICK_BLOCK
                                        : n < SMALL_N ? 512
                                                      : 1024,
                               .arithmetic = (bb_variant)(self->choice & BB_PANEL_VARIANT),
                               .swapped = swaps,
                               .run = setup->quick && swaps ? 4 * QUICK_BLOCK : 0},
                      .gpus = (flags & (BB_PANEL_TWO | BB_PANEL_CUSOLVERMP)) != 0 ? GPUS : 1,
                      .flags = flags};
    if ((flags & BB_PANEL_SOLVE) != 0) {
        task->plan.sides = n / SIDE_STEP;
        task->plan.sweeps = BB_POLICY_SWEEPS_FOLLOW;
    }
    const char *set = setup->quick || setup->set == NULL ? self->storage : setup->set;
    while (kind < KINDS && strcmp(kind_names[kind], set) != 0) {
        ++kind;
    }
    BB_REQUIRE(kind < KINDS, BB_INVALID, "--set %s: %s needs decay, random or covariance", set,
               self->name);
    task->kind = (matrix_kind)kind;
done:
    return status;
}

bb_status bb_panel_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                         bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    contest task = {0};
    BB_TRY(choose(self, setup, &task));
    BB_REQUIRE(bb_device_count(BB_DEVICE_CUDA, NULL, 0) >= task.gpus, BB_UNSUPPORTED,
               "there is one GPU, expected two");
    BB_TRY(run_contest(&task, out));
done:
    release(&task);
    return status;
}

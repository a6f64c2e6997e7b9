// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_panels.h"

#include "core/clock.h"
#include "core/device/non_finite.h"
#include "core/device/transfer.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"
#include "sim/pipelines/factor_map.h"
#include "sim/run/plan.h"
#include "solvers/factor/residual_scorer.h"

#include <math.h>
#include <stdio.h>

// State of a run, released in one place.
typedef struct running {
    const bb_factor_problem *problem;
    bb_index gpus, n, rows, m; // m: rows of all targets; rows: m and the rows of the low-rank part
    unsigned char *variants;   // [blocks][blocks]
    double *transposed;        // [part.count][n]
    bb_view part_view;
    bb_matrix_source part_source;
    bb_device *devices[BB_PANEL_GPUS];
    bb_device_source *matrices[BB_PANEL_GPUS];
    bb_device_source **sides[BB_PANEL_GPUS]; // [side_count]
    bb_index side_count;
    bb_panel_cholesky *factor;
    bb_transfer *transfer; // transfers of the first device
    void *r;               // [rows][n] on the first device
} running;

static void release(running *run)
{
    bb_panel_cholesky_destroy(&run->factor);
    bb_transfer_destroy(&run->transfer);
    if (run->devices[0] != NULL) {
        bb_device_release(run->devices[0], &run->r);
    }
    for (bb_index g = 0; g < run->gpus; ++g) {
        for (bb_index s = 0; run->sides[g] != NULL && s < run->side_count; ++s) {
            bb_device_source_destroy(&run->sides[g][s]);
        }
        BB_RELEASE(&run->sides[g]);
        bb_device_source_destroy(&run->matrices[g]);
        bb_device_close(&run->devices[g]);
    }
    BB_RELEASE(&run->variants);
    BB_RELEASE(&run->transposed);
}

// Prepares U^T as a right-hand side.
static bb_status transpose_part(running *run)
{
    bb_status status = BB_OK;
    const bb_low_rank *part = &run->problem->part;
    BB_TRY(BB_ALLOCATE(part->count * run->n, &run->transposed));
    for (bb_index c = 0; c < part->count; ++c) {
        for (bb_index i = 0; i < run->n; ++i) {
            run->transposed[c * run->n + i] = part->vectors[i * part->count + c];
        }
    }
    run->part_view = bb_view_matrix(run->transposed, part->count, run->n);
    run->part_source = bb_matrix_source_dense(&run->part_view, "U^T", "1");
done:
    return status;
}

// Prepares the plan of a factorization in planes of fp16 from the map of a policy. A uniform plan
// uses its arithmetic below the diagonal, and on it if the diagonal blocks follow.
static bb_status read_map(running *run, const bb_policy_map *map, bb_panel_plan *plan)
{
    bb_status status = BB_OK;
    const bb_index blocks = map->tile_rows;
    const bb_variant diagonal = bb_variant_describe(bb_policy_map_at(map, 0, 0))->in_halves;
    bool uniform = true;
    if (bb_variant_describe(plan->arithmetic)->panels != BB_VARIANT_PANELS_HALVES) {
        return BB_OK;
    }
    plan->diagonal_follows = bb_variant_describe(diagonal)->products == 1;
    plan->arithmetic = plan->diagonal_follows ? diagonal : BB_VARIANT_X3;
    BB_TRY(BB_ZEROED(blocks * blocks, &run->variants));
    for (bb_index i = 0; i < blocks; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            const bb_variant variant = bb_policy_map_at(map, i, j);
            const bb_variant computed = bb_variant_describe(variant)->in_halves;
            BB_REQUIRE(bb_variant_mixes(variant), BB_UNSUPPORTED,
                       "tile (%td, %td) in %s: on cuda a policy needs sp, hp1, hp2, hp3 or x3", i,
                       j, bb_variant_names[variant]);
            BB_REQUIRE(i != j || computed == diagonal, BB_UNSUPPORTED,
                       "diagonal tile %td is %s, tile 0 is %s: on cuda all diagonal tiles need one "
                       "variant",
                       i, bb_variant_names[computed], bb_variant_names[diagonal]);
            run->variants[i * blocks + j] = (unsigned char)computed;
            if (!plan->diagonal_follows && bb_variant_describe(computed)->products == 1) {
                plan->arithmetic = computed;
            }
        }
    }
    for (bb_index i = 1; i < blocks; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            uniform = uniform && run->variants[i * blocks + j] == (unsigned char)plan->arithmetic;
        }
    }
    plan->variants = uniform ? NULL : run->variants;
done:
    return status;
}

static bb_status open_devices(running *run)
{
    bb_status status = BB_OK;
    const bb_factor_problem *problem = run->problem;
    // With several GPUs, twins on concurrent streams must not share panels that one of them fills.
    struct bb_residual_scorer *kept = run->gpus == 1 ? problem->kept : NULL;
    run->side_count = problem->target_count + (problem->part.count > 0 ? 1 : 0);
    for (bb_index g = 0; g < run->gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &run->devices[g]));
        BB_TRY(bb_residual_scorer_twin(kept, problem->matrix, false, run->devices[g],
                                       &run->matrices[g]));
        BB_TRY(BB_ZEROED(run->side_count, &run->sides[g]));
        for (bb_index s = 0; s < run->side_count; ++s) {
            const bb_matrix_source *side =
                s < problem->target_count ? problem->sides[s] : &run->part_source;
            // A matrix in host memory is not cached a second time.
            BB_TRY(bb_residual_scorer_twin(kept, side,
                                           s < problem->target_count && side->twin != NULL,
                                           run->devices[g], &run->sides[g][s]));
        }
    }
done:
    return status;
}

static bb_status factor_and_sweep(running *run, const bb_panel_plan *plan, bb_outcome *outcome,
                                  bb_factor_device_times *times)
{
    bb_status status = BB_OK;
    bb_panel_sources sources[BB_PANEL_GPUS];
    bb_panel_times panel = {0};
    for (bb_index g = 0; g < run->gpus; ++g) {
        sources[g] = (bb_panel_sources){run->matrices[g], run->side_count,
                                        (const bb_device_source *const *)run->sides[g]};
    }
    BB_TRY(bb_device_allocate(run->devices[0], (size_t)(run->rows * run->n) * sizeof(double),
                              &run->r));
    BB_TRY(bb_panel_cholesky_create(run->gpus, run->devices, plan, &run->factor));
    BB_TRY(bb_panel_cholesky_factor(run->factor, sources, run->problem->scale, outcome, &panel));
    times->fill_s = panel.fill_s;
    times->solve_s = panel.factor_s;
    times->swapped = plan->swapped;
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_sweep(run->factor, &panel));
        times->solve_s += panel.backward_s;
        BB_TRY(bb_panel_cholesky_result(run->factor, run->r));
    }
    times->traffic = bb_panel_cholesky_traffic(run->factor);
    bb_panel_cholesky_destroy(&run->factor);
done:
    return status;
}

// Copies R of every target to the host. The check for finite values runs on the device.
static bb_status download_results(running *run, double **r, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const double *source = run->r;
    uint64_t bad_values = 0;
    BB_TRY(bb_transfer_create(run->devices[0], 0, &run->transfer));
    for (bb_index t = 0; t < run->problem->target_count; ++t) {
        bb_index items = run->problem->sides[t]->rows * run->n;
        BB_TRY(BB_ALLOCATE(items, &r[t]));
        BB_TRY(bb_non_finite_count(run->devices[0], source, BB_F64, items, &bad_values));
        BB_TRY(bb_transfer_download(run->transfer, r[t], source, (size_t)items * sizeof(double)));
        source += items;
        bb_index bad =
            bb_stage_find_nonfinite_checked("reconstructor", r[t], items, bad_values == 0);
        if (bad >= 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "reconstructor %td, row %td, column %td",
                           t, bad / run->n, bad % run->n);
        }
    }
done:
    return status;
}

// Leaves R on the first device after a check for finite values there. Sets `left` to false if one
// is not finite; the host then locates it.
static bb_status keep_results_on_device(running *run, bb_outcome *outcome, bool *left)
{
    bb_status status = BB_OK;
    bb_factor_resident *resident = run->problem->resident;
    uint64_t bad_values = 0;
    double probe = 0.0; // value that tests inject as a fault
    *left = false;
    BB_TRY(bb_non_finite_count(run->devices[0], run->r, BB_F64, run->m * run->n, &bad_values));
    if (bad_values > 0) {
        goto done;
    }
    if (bb_stage_find_nonfinite_checked("reconstructor", &probe, 1, true) >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "reconstructor 0, row 0, column 0");
    }
    bb_factor_resident_release(resident);
    *resident = (bb_factor_resident){run->devices[0], run->r};
    run->devices[0] = NULL;
    run->r = NULL;
    *left = true;
done:
    return status;
}

// Logs the wall time of a solve that its report does not include.
static void log_times(const running *run, double begin, double solved,
                      const bb_factor_device_times *t)
{
    const double now = bb_clock_seconds();
    if (bb_thread_is_worker()) { // the warm-up runs next to other work
        return;
    }
    const double bytes = (double)(run->m * run->n) * sizeof(double);
    bb_log_detail("panels: %.3f s, %.3f of them outside kernels; R of %.2f GB %s: %.3f s",
                  solved - begin, solved - begin - t->fill_s - t->solve_s, 1e-9 * bytes,
                  run->devices[0] != NULL ? "copied to the host" : "left on the GPU", now - solved);
}

bb_status bb_factor_panels_solve(const bb_factor_problem *problem, const bb_panel_plan *planned,
                                 const bb_policy_map *map, double **r, bb_outcome *outcome,
                                 bb_factor_device_times *times)
{
    bb_status status = BB_OK;
    running run = {.problem = problem, .gpus = problem->solver->gpus, .n = problem->matrix->rows};
    bb_panel_plan plan = *planned;
    double host_bytes = 0.0;
    const double begin = bb_clock_seconds();
    run.rows = plan.sides;
    run.m = run.rows - problem->part.count;
    if (problem->part.count > 0) {
        BB_TRY(transpose_part(&run));
    }
    BB_TRY(read_map(&run, map, &plan));
    bb_panel_plan_place(&plan, run.gpus, 1e9 * problem->solver->memory_limit_gb);
    BB_TRY(bb_plan_machine_bytes(&host_bytes));
    BB_TRY(bb_panel_plan_check_host(&plan, host_bytes));
    BB_TRY(open_devices(&run));
    times->operator_bytes = bb_panel_plan_factor_bytes(&plan);
    BB_TRY(factor_and_sweep(&run, &plan, outcome, times));
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_low_rank_apply(run.devices[0], &problem->part, run.n, run.m, run.r,
                                                outcome, &times->solve_s));
    }
    if (outcome->kind == BB_OUTCOME_OK) {
        const double solved = bb_clock_seconds();
        bool left = false;
        if (problem->resident != NULL) {
            BB_TRY(keep_results_on_device(&run, outcome, &left));
        }
        if (!left) {
            BB_TRY(download_results(&run, r, outcome));
        }
        log_times(&run, begin, solved, times);
    }
done:
    release(&run);
    return status;
}

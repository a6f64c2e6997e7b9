// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_device.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "sim/pipelines/factor_map.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <math.h>
#include <stdio.h>

static bool splits(int variant)
{
    return bb_variant_describe((bb_variant)variant)->panels == BB_VARIANT_PANELS_HALVES;
}

static bool has_policy(const bb_factor_pipeline *pipeline)
{
    return !bb_policy_describe(&pipeline->policy)->is_uniform;
}

// What has operands of its own beside L in fp32.
static bool narrows(int variant)
{
    return bb_variant_describe((bb_variant)variant)->panels == BB_VARIANT_PANELS_NARROWED;
}

// What tiles may get: variants that mix, and with light sweeps what is worked on in fp32.
static bb_status check_given(const bb_factor_pipeline *pipeline)
{
    bb_status status = BB_OK;
    bb_variant given[BB_VARIANT_COUNT];
    const int count =
        bb_factor_map_variants(&pipeline->policy, (bb_variant)pipeline->arithmetic, given);
    const bool light = pipeline->sweeps == (int)BB_POLICY_SWEEPS_LIGHT;
    for (int v = 0; v < count; ++v) {
        BB_REQUIRE(!has_policy(pipeline) || bb_variant_mixes(given[v]), BB_UNSUPPORTED,
                   "pipeline %s: policy with %s on cuda, expected sp, hp1, hp2, hp3 or x3",
                   pipeline->name, bb_variant_names[given[v]]);
        BB_REQUIRE(!light || bb_variant_describe(given[v])->output != BB_FORMAT_FP16,
                   BB_UNSUPPORTED, "pipeline %s: on cuda light sweeps need hp1 arithmetic, got %s",
                   pipeline->name, bb_variant_names[given[v]]);
    }
done:
    return status;
}

bb_status bb_factor_device_check(const bb_factor_solver_config *solver,
                                 const bb_factor_pipeline *pipeline)
{
    bb_status status = BB_OK;
    const bb_policy_config *policy = &pipeline->policy;
    const bb_policy_row *rule = bb_policy_describe(policy);
    const char *name = pipeline->name;
    BB_REQUIRE(solver->tile % 128 == 0, BB_INVALID,
               "pipeline %s on cuda: solver.tile = %td, expected a multiple of 128 such as %td",
               name, solver->tile, (solver->tile / 128 + 1) * 128);
    BB_REQUIRE(rule->missing[BB_DEVICE_CUDA] == NULL, BB_UNSUPPORTED, "pipeline %s: %s", name,
               rule->missing[BB_DEVICE_CUDA]);
    BB_REQUIRE(!has_policy(pipeline) || splits(pipeline->arithmetic), BB_UNSUPPORTED,
               "pipeline %s: on cuda a policy needs hp1, hp2, hp3 or x3 arithmetic, got %s", name,
               bb_variant_names[pipeline->arithmetic]);
    BB_REQUIRE(!has_policy(pipeline) || rule->is_search ||
                   pipeline->sweeps == (int)BB_POLICY_SWEEPS_SP,
               BB_UNSUPPORTED, "pipeline %s: on cuda the sweeps of a policy are sp", name);
    bool follows =
        policy->diagonal == (int)BB_POLICY_FOLLOW || pipeline->sweeps != (int)BB_POLICY_SWEEPS_SP;
    BB_REQUIRE(!narrows(pipeline->arithmetic) || !follows, BB_UNSUPPORTED,
               "pipeline %s: on cuda the diagonal and the sweeps of %s are sp", name,
               bb_variant_names[pipeline->arithmetic]);
    BB_TRY(check_given(pipeline));
    BB_REQUIRE(pipeline->accumulate_from == (int)BB_ACCUMULATE_FROM_ZERO, BB_UNSUPPORTED,
               "pipeline %s: accumulate_from c is emulated, on the cpu", name);
    BB_REQUIRE(solver->tile <= 32768, BB_INVALID,
               "pipeline %s on cuda: solver.tile = %td, expected at most 32768", name,
               solver->tile);
    BB_REQUIRE(pipeline->refine.method == (int)BB_REFINE_NONE, BB_UNSUPPORTED,
               "pipeline %s: refinement has no cuda kernels", name);
done:
    return status;
}

bb_status bb_factor_devices_check(const bb_list *pipelines, const bb_factor_solver_config *solver,
                                  int study_device, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *items = pipelines->items;
    char path[64];
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (bb_device_wish(study_device, items[p].device) == (int)BB_DEVICE_CUDA &&
            bb_factor_device_check(solver, &items[p]) != BB_OK) {
            (void)snprintf(path, sizeof path, "pipelines.%td", p);
            status =
                bb_problems_add(problems, bb_config_place(config, path), "%s", bb_status_message());
            bb_status_clear();
            BB_TRY(status);
        }
    }
done:
    return status;
}

static bb_panel_plan plan_of(const bb_factor_solver_config *solver,
                             const bb_factor_pipeline *pipeline, bb_index n, bb_index rows)
{
    bool follows = pipeline->policy.diagonal == (int)BB_POLICY_FOLLOW && !has_policy(pipeline);
    return (bb_panel_plan){.n = n,
                           .block = solver->tile < n ? solver->tile : (n + 127) / 128 * 128,
                           .sides = rows,
                           .arithmetic = (bb_variant)pipeline->arithmetic,
                           .diagonal_follows = follows,
                           .sweeps = (bb_policy_sweeps)pipeline->sweeps,
                           .sweep_energy = pipeline->sweep_energy};
}

bb_status bb_factor_device_choose(const bb_device_offer *offer, int study_device,
                                  const bb_factor_solver_config *solver,
                                  const bb_factor_pipeline *pipeline, bb_device_kind *out)
{
    bb_status status = BB_OK;
    bb_device_offer own = *offer;
    if (bb_device_wish(study_device, pipeline->device) == (int)BB_DEVICE_AUTO) {
        const bb_panel_plan plan = plan_of(solver, pipeline, 1, 0);
        const bool can = bb_factor_device_check(solver, pipeline) == BB_OK &&
                         bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0 &&
                         bb_panel_plan_check(&plan) == BB_OK;
        own.kinds &= can ? ~0U : ~BB_DEVICE_OFFER(BB_DEVICE_CUDA);
        bb_status_clear();
    }
    BB_TRY(bb_device_choose(&own, study_device, pipeline->device, out));
    if (*out == BB_DEVICE_CUDA) {
        BB_TRY(bb_factor_device_check(solver, pipeline));
    }
done:
    return status;
}

double bb_factor_device_bytes(const bb_factor_solver_config *solver,
                              const bb_factor_pipeline *pipeline, bb_index n, bb_index rows)
{
    const bb_policy_row *rule = bb_policy_describe(&pipeline->policy);
    bb_panel_plan plan = plan_of(solver, pipeline, n, rows);
    double bytes = bb_panel_plan_bytes(&plan, solver->gpus);
    bb_variant given[BB_VARIANT_COUNT];
    const int count =
        bb_factor_map_variants(&pipeline->policy, (bb_variant)pipeline->arithmetic, given);
    for (int v = 0; has_policy(pipeline) && v < count; ++v) {
        plan.arithmetic = bb_variant_describe(given[v])->in_halves;
        plan.diagonal_follows = false;
        bytes = fmax(bytes, bb_panel_plan_bytes(&plan, solver->gpus));
        plan.diagonal_follows =
            pipeline->policy.diagonal == (int)BB_POLICY_FOLLOW || rule->is_search;
        bytes = fmax(bytes, bb_panel_plan_bytes(&plan, solver->gpus));
    }
    if (pipeline->escalate || rule->is_search) {
        plan.arithmetic = BB_VARIANT_DP;
        bytes = fmax(bytes, bb_panel_plan_bytes(&plan, solver->gpus));
    }
    // The results are on the first GPU.
    return bytes > 0.0 ? bytes + sizeof(double) * (double)rows * (double)n : 0.0;
}

double bb_factor_device_need(const bb_factor_solver_config *solver,
                             const bb_factor_pipeline *pipeline, int study_device, bb_index n,
                             bb_index rows)
{
    const int wish = bb_device_wish(study_device, pipeline->device);
    const bb_panel_plan plan = plan_of(solver, pipeline, 1, 0);
    bool can = bb_factor_device_check(solver, pipeline) == BB_OK;
    bool chosen = wish == (int)BB_DEVICE_CUDA ||
                  (wish == (int)BB_DEVICE_AUTO && bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0 &&
                   bb_panel_plan_check(&plan) == BB_OK);
    bb_status_clear();
    if (can && chosen) {
        return bb_factor_device_bytes(solver, pipeline, n, rows);
    }
    return 0.0;
}

bb_status bb_factor_device_fits(const bb_factor_solver_config *solver, double bytes)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    for (bb_index g = 0; bytes > 0.0 && g < solver->gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &device));
        BB_TRY(bb_device_describe(device, &report));
        BB_REQUIRE(bytes <= (double)report.free_memory_bytes, BB_MEMORY,
                   "GPU %td: the largest pipeline needs %.1f GB, %.1f GB of %.1f GB are free", g,
                   1e-9 * bytes, 1e-9 * (double)report.free_memory_bytes,
                   1e-9 * (double)report.memory_bytes);
        bb_device_close(&device);
    }
done:
    bb_device_close(&device);
    return status;
}

// Everything of one run, for one place to release it.
typedef struct running {
    const bb_factor_problem *problem;
    bb_index gpus, n, rows, m; // m: rows of all targets, rows: and of the low-rank part
    unsigned char *variants;   // [blocks][blocks]
    double *transposed;        // [part.count][n]
    bb_view part_view;
    bb_matrix_source part_source;
    bb_device *devices[BB_PANEL_GPUS];
    bb_device_source *matrices[BB_PANEL_GPUS];
    bb_device_source **sides[BB_PANEL_GPUS]; // [side_count]
    bb_index side_count;
    bb_panel_cholesky *factor;
    void *r; // [rows][n] on the first device
} running;

static void stop(running *run)
{
    bb_panel_cholesky_destroy(&run->factor);
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

// U^T as a right-hand side.
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

// What the map of a policy asks of a factorization in planes of fp16. A plan without a map of its
// own takes its arithmetic below the diagonal, and there where the diagonal blocks follow.
static bb_status read_map(running *run, const bb_policy_map *map, bb_panel_plan *plan)
{
    bb_status status = BB_OK;
    const bb_index blocks = map->tile_rows;
    const bb_variant diagonal = bb_variant_describe(bb_policy_map_at(map, 0, 0))->in_halves;
    bool uniform = true;
    if (!splits((int)plan->arithmetic)) {
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
                       "tile (%td, %td) in %s: on cuda a policy gives sp, hp1, hp2, hp3 or x3", i,
                       j, bb_variant_names[variant]);
            BB_REQUIRE(i != j || computed == diagonal, BB_UNSUPPORTED,
                       "diagonal tile %td in %s, tile 0 in %s: on cuda all take one variant", i,
                       bb_variant_names[computed], bb_variant_names[diagonal]);
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
    run->side_count = problem->target_count + (problem->part.count > 0 ? 1 : 0);
    for (bb_index g = 0; g < run->gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &run->devices[g]));
        BB_TRY(bb_device_source_create(problem->matrix, run->devices[g], &run->matrices[g]));
        BB_TRY(BB_ZEROED(run->side_count, &run->sides[g]));
        for (bb_index s = 0; s < run->side_count; ++s) {
            const bb_matrix_source *side =
                s < problem->target_count ? problem->sides[s] : &run->part_source;
            BB_TRY(bb_device_source_create(side, run->devices[g], &run->sides[g][s]));
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
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_cholesky_sweep(run->factor, &panel));
        times->solve_s += panel.backward_s;
        BB_TRY(bb_panel_cholesky_result(run->factor, run->r));
    }
    bb_panel_cholesky_destroy(&run->factor);
done:
    return status;
}

// R of every target to the host, looked at.
static bb_status take_results(const running *run, double **r, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const double *from = run->r;
    for (bb_index t = 0; t < run->problem->target_count; ++t) {
        bb_index items = run->problem->sides[t]->rows * run->n;
        BB_TRY(BB_ALLOCATE(items, &r[t]));
        BB_TRY(bb_device_download(run->devices[0], r[t], from, (size_t)items * sizeof(double)));
        from += items;
        bb_index bad = bb_stage_inspect("reconstructor", r[t], items);
        if (bad >= 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "reconstructor %td, row %td, column %td",
                           t, bad / run->n, bad % run->n);
        }
    }
done:
    return status;
}

bb_status bb_factor_device_solve(const bb_factor_problem *problem,
                                 const bb_factor_pipeline *pipeline, const bb_policy_map *map,
                                 double **r, bb_outcome *outcome, bb_factor_device_times *times)
{
    bb_status status = BB_OK;
    running run = {.problem = problem, .gpus = problem->solver->gpus, .n = problem->matrix->rows};
    *times = (bb_factor_device_times){0};
    for (bb_index t = 0; t < problem->target_count; ++t) {
        run.m += problem->sides[t]->rows;
    }
    run.rows = run.m + problem->part.count;
    bb_panel_plan plan = plan_of(problem->solver, pipeline, run.n, run.rows);
    BB_TRY(bb_factor_device_check(problem->solver, pipeline));
    if (problem->part.count > 0) {
        BB_TRY(transpose_part(&run));
    }
    BB_TRY(read_map(&run, map, &plan));
    BB_TRY(open_devices(&run));
    times->operator_bytes = bb_panel_factor_bytes(&plan);
    BB_TRY(factor_and_sweep(&run, &plan, outcome, times));
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(bb_panel_low_rank_apply(run.devices[0], &problem->part, run.n, run.m, run.r, outcome,
                                       &times->solve_s));
    }
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(take_results(&run, r, outcome));
    }
done:
    stop(&run);
    return status;
}

bb_status bb_factor_device_score(const bb_matrix_source *cmm, bool on_device, bb_index count,
                                 const bb_residual_task *tasks)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    if (!on_device) {
        return bb_residual_covariance(cmm, count, tasks);
    }
    BB_TRY(bb_device_open(BB_DEVICE_CUDA, 0, &device));
    BB_TRY(bb_residual_covariance_device(device, cmm, count, tasks));
done:
    bb_device_close(&device);
    return status;
}

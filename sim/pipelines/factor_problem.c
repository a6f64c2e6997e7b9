// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_problem.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "precision/draw.h"
#include "precision/scaling.h"
#include "sim/energy.h"
#include "sim/pipelines/engine/factor_engine.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_warm.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double find_noise_floor(const bb_factor_problem *problem)
{
    double minimum = INFINITY;
    for (bb_index i = 0; problem->noise != NULL && i < problem->matrix->rows; ++i) {
        double scale = problem->scale != NULL ? problem->scale[i] : 1.0;
        minimum = fmin(minimum, scale * scale * problem->noise[i]);
    }
    return isfinite(minimum) && minimum > 0.0 ? minimum : NAN;
}

// Whether the unit diagonal has a scale; else the problem's outcome.
static bool scales(bb_factor_problem *problem, double *diagonal, bb_index n)
{
    const char *name = problem->matrix->name;
    const bb_index bad = bb_stage_inspect("diagonal", diagonal, n);
    bb_index i = 0;
    if (bad >= 0) {
        bb_outcome_set(&problem->outcome, BB_OUTCOME_NON_FINITE,
                       "%s, diagonal %td: %g, expected a finite value", name, bad, diagonal[bad]);
        return false;
    }
    while (i < n && diagonal[i] > 0.0) {
        ++i;
    }
    if (i < n) {
        bb_outcome_set(&problem->outcome, BB_OUTCOME_NOT_SPD,
                       "%s, diagonal %td: %g, expected a positive value", name, i, diagonal[i]);
    }
    return i == n;
}

bb_status bb_factor_problem_prepare(bb_factor_problem *problem)
{
    bb_status status = BB_OK;
    double *diagonal = NULL;
    bb_index n = problem->matrix->rows;
    problem->noise_floor = NAN;
    if (problem->solver->scale == (int)BB_FACTOR_SCALE_UNIT_DIAGONAL) {
        BB_TRY(BB_ALLOCATE(n, &diagonal));
        BB_TRY(bb_matrix_source_diagonal(problem->matrix, diagonal));
        if (!scales(problem, diagonal, n)) {
            goto done;
        }
        BB_TRY(BB_ALLOCATE(n, &problem->scale));
        BB_TRY(bb_scaling_unit_diagonal(diagonal, n, problem->scale));
    }
    problem->noise_floor = find_noise_floor(problem);
done:
    BB_RELEASE(&diagonal);
    return status;
}

void bb_factor_problem_release(bb_factor_problem *problem)
{
    BB_RELEASE(&problem->scale);
}

static bb_index count_sides(const bb_factor_problem *problem)
{
    bb_index count = problem->part.count;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        count += problem->sides[t]->rows;
    }
    return count;
}

// Of the operations of a solution without refinement: the factorization.
static double factor_share(const bb_factor_problem *problem)
{
    const bb_index n = problem->matrix->rows;
    return bb_tile_cholesky_flops(n, 0) / bb_tile_cholesky_flops(n, count_sides(problem));
}

// One right-hand side, loaded and looked at.
static bb_status load_side(const bb_matrix_source *side, double **out, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(side->rows * side->columns, out));
    BB_TRY(bb_matrix_source_load(side, *out));
    bb_index bad = bb_stage_inspect("right-hand side", *out, side->rows * side->columns);
    if (bad >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE,
                       "%s, row %td, column %td: %g, expected a finite value", side->name,
                       bad / side->columns, bad % side->columns, (*out)[bad]);
    }
done:
    return status;
}

// R of every target from one inverse.
static bb_status solve_sides(const bb_factor_problem *problem, const bb_inverse *inverse,
                             double **r, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_low_rank_update *update = NULL;
    const double sides = (double)count_sides(problem);
    double done = factor_share(problem);
    bb_log_progress_part(done, done);
    BB_TRY(bb_low_rank_update_make(inverse, &problem->part, outcome, &update));
    for (bb_index t = 0; t < problem->target_count && outcome->kind == BB_OUTCOME_OK; ++t) {
        bb_index rows = problem->sides[t]->rows;
        const double share = (1.0 - factor_share(problem)) * (double)rows / sides;
        bb_log_progress_part(done, done + share);
        done += share;
        BB_TRY(load_side(problem->sides[t], &r[t], outcome));
        if (outcome->kind != BB_OUTCOME_OK) {
            break;
        }
        BB_TRY(bb_reconstructor_make(inverse, update, rows, r[t], outcome));
        bb_index bad = bb_stage_inspect("reconstructor", r[t], rows * inverse->n);
        if (bad >= 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "reconstructor %td, row %td, column %td",
                           t, bad / inverse->n, bad % inverse->n);
        }
    }
done:
    bb_low_rank_update_destroy(&update);
    return status;
}

static void note_refinement(const bb_factor_problem *problem, const bb_refinement_report *refined,
                            bb_factor_report *report)
{
    bb_index sides = count_sides(problem);
    report->break_even = bb_refinement_break_even(problem->matrix->rows, sides);
    report->iterations_mean = (double)refined->iterations / (double)refined->rows;
    report->iterations_most = (double)refined->slowest;
    bb_log_info("refinement of %td right-hand sides: %.1f iterations, at most %td; a direct "
                "factorization in x3 costs as much as %.2f",
                sides, report->iterations_mean, refined->slowest, report->break_even);
}

// With the factor alone, or refined as the pipeline says; adds to the operations.
static bb_status solve_with(const bb_factor_problem *problem, const bb_factor_pipeline *pipeline,
                            const bb_tile_matrix *factor, double **r, bb_evaluation *evaluation,
                            double *flops)
{
    bb_status status = BB_OK;
    bb_factor_inverse direct = {factor, problem->scale};
    bb_refinement refined = {.matrix = problem->matrix,
                             .scale = problem->scale,
                             .factor = factor,
                             .config = pipeline->refine};
    bool refines = pipeline->refine.method != (int)BB_REFINE_NONE;
    const bb_inverse inverse =
        refines ? bb_inverse_of_refinement(&refined) : bb_inverse_of_factor(&direct);
    BB_TRY(solve_sides(problem, &inverse, r, &evaluation->outcome));
    *flops += evaluation->flops_dense;
    if (refines) {
        note_refinement(problem, &refined.report, &evaluation->factor);
        *flops += bb_refinement_flops(factor->n, &refined.report);
    }
done:
    return status;
}

static void report(bb_index draw, const bb_evaluation *evaluation)
{
    if (draw > 0) {
        bb_log_detail("pipeline %s, draw %td: %s %s", evaluation->pipeline, draw,
                      bb_outcome_name(evaluation->outcome.kind), evaluation->outcome.detail);
    } else if (evaluation->outcome.kind == BB_OUTCOME_OK) {
        bb_log_detail("pipeline %s: %.1f MB encoded in %.1f ms, factored and solved in %.1f ms",
                      evaluation->pipeline, 1e-6 * evaluation->operator_bytes,
                      1e3 * evaluation->encode_seconds, 1e3 * evaluation->solve_seconds);
    } else {
        bb_log_warning("pipeline %s: %s, %s", evaluation->pipeline,
                       bb_outcome_name(evaluation->outcome.kind), evaluation->outcome.detail);
    }
}

static void note_factor(const bb_policy_map *map, const bb_tile_matrix *factor,
                        bb_factor_report *report)
{
    double flops = 0.0;
    bb_policy_map_shares(map, report->tile_share);
    report->tolerance = map->tolerance;
    if (factor->work.factored < factor->n) {
        return; // the rest is known of whole factorizations only
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        flops += factor->work.flops[v];
    }
    for (int v = 0; flops > 0.0 && v < BB_VARIANT_COUNT; ++v) { // one tile has no updates
        report->product_share[v] = factor->work.flops[v] / flops;
    }
    report->cost = flops > 0.0 ? bb_variant_relative_cost(report->product_share) : NAN;
    report->certificate = factor->work.certificate;
    report->saturated = (double)factor->work.saturated;
}

// What all attempts of a pipeline took.
typedef struct effort {
    double bytes, flops, encode_seconds, solve_seconds;
} effort;

// On a device sp beside half planes is computed as x3.
static bb_variant computed_as(bb_variant variant, const bb_factor_pipeline *pipeline)
{
    const bb_variant_info *info = bb_variant_describe((bb_variant)pipeline->arithmetic);
    return info->panels == BB_VARIANT_PANELS_HALVES ? bb_variant_describe(variant)->in_halves
                                                    : variant;
}

// What a map says of the products into its tiles, all of tile_size: a tile of column j takes j.
static void note_map(const bb_policy_map *map, const bb_factor_pipeline *pipeline,
                     bb_factor_report *report)
{
    double total = 0.0;
    bb_policy_map_shares(map, report->tile_share);
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_variant computed = computed_as((bb_variant)v, pipeline);
        if ((int)computed != v) {
            report->tile_share[computed] += report->tile_share[v];
            report->tile_share[v] = 0.0;
        }
    }
    report->tolerance = map->tolerance;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        report->product_share[v] = 0.0;
    }
    for (bb_index i = 0; i < map->tile_rows; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            double products = (i == j ? 1.0 : 2.0) * (double)j + (i == j ? 1.0 / 3.0 : 1.0);
            report->product_share[computed_as(bb_policy_map_at(map, i, j), pipeline)] += products;
            total += products;
        }
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        report->product_share[v] /= total;
    }
    report->cost = bb_variant_relative_cost(report->product_share);
}

// Bytes of L that were copied, of what there was to copy.
static void note_traffic(const bb_factor_solver_config *solver, const bb_factor_device_times *times,
                         bb_factor_report *report)
{
    const bb_panel_traffic *traffic = &times->traffic;
    report->host_to_device_bytes = times->swapped ? traffic->host_to_device_bytes : NAN;
    report->device_to_host_bytes = times->swapped ? traffic->device_to_host_bytes : NAN;
    report->device_to_device_bytes = solver->gpus > 1 ? traffic->device_to_device_bytes : NAN;
}

static bb_status solve_on_device(const bb_factor_problem *problem, const bb_factor_problem *drawn,
                                 const bb_factor_pipeline *pipeline, double **r,
                                 bb_evaluation *evaluation, effort *spent)
{
    bb_status status = BB_OK;
    bb_policy_map *map = NULL;
    bb_factor_device_times times;
    BB_TRY(
        bb_factor_map_create(problem, &pipeline->policy, (bb_variant)pipeline->arithmetic, &map));
    BB_TRY(bb_factor_device_solve(drawn, pipeline, map, r, &evaluation->outcome, &times));
    note_map(map, pipeline, &evaluation->factor);
    note_traffic(problem->solver, &times, &evaluation->factor);
    spent->bytes += times.operator_bytes;
    spent->encode_seconds += times.fill_s;
    spent->solve_seconds += times.solve_s;
    spent->flops += evaluation->outcome.kind == BB_OUTCOME_OK ? evaluation->flops_dense : 0.0;
done:
    bb_policy_map_destroy(&map);
    return status;
}

// One factorization and its solves with the scale of `drawn`; adds to what was spent.
static bb_status solve_scaled(const bb_factor_problem *problem, const bb_factor_problem *drawn,
                              const bb_factor_pipeline *pipeline, double **r,
                              bb_evaluation *evaluation, effort *spent)
{
    bb_status status = BB_OK;
    bb_tile_matrix *factor = NULL;
    bb_policy_map *map = NULL;
    bb_tile_plan plan = bb_factor_pipeline_tiles(problem->solver, pipeline);
    double begin = bb_clock_seconds();
    if (evaluation->device == BB_DEVICE_CUDA) {
        return solve_on_device(problem, drawn, pipeline, r, evaluation, spent);
    }
    BB_TRY(bb_factor_map_create(problem, &plan.policy, plan.arithmetic, &map));
    plan.map = map;
    BB_TRY(bb_factor_engine_load(problem->engine, problem->matrix, drawn->scale, &plan, &factor));
    spent->bytes += (double)bb_tile_matrix_bytes(factor);
    double encoded = bb_clock_seconds();
    spent->encode_seconds += encoded - begin;
    bb_log_progress_part(0.0, factor_share(problem));
    BB_TRY(bb_factor_engine_factor(problem->engine, factor, pipeline->accumulate_k,
                                   &evaluation->outcome, &evaluation->factor));
    note_factor(map, factor, &evaluation->factor);
    if (evaluation->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(solve_with(drawn, pipeline, factor, r, evaluation, &spent->flops));
    } else {
        spent->flops += bb_tile_cholesky_flops(factor->work.factored, 0);
    }
    spent->solve_seconds += bb_clock_seconds() - encoded;
done:
    bb_tile_matrix_destroy(&factor);
    bb_policy_map_destroy(&map);
    return status;
}

// The same with the dither and the factors of the problem's draw on the rows, after the scale.
static bb_status solve_once(const bb_factor_problem *problem, const bb_factor_pipeline *pipeline,
                            double **r, bb_evaluation *evaluation, effort *spent)
{
    bb_status status = BB_OK;
    bb_factor_problem drawn = *problem;
    double *scale = NULL;
    const bb_index n = problem->matrix->rows;
    const double dither = problem->solver->scale == (int)BB_FACTOR_SCALE_UNIT_DIAGONAL
                              ? problem->solver->dither
                              : 0.0;
    if (problem->draw > 0 || dither > 0.0) {
        BB_TRY(BB_ALLOCATE(n, &scale));
        for (bb_index i = 0; i < n; ++i) {
            scale[i] = problem->scale != NULL ? problem->scale[i] : 1.0;
        }
        if (dither > 0.0) {
            bb_draw_scale(problem->seed, BB_STREAM_DITHER, 0, 1.0 - dither, n, scale);
        }
        if (problem->draw > 0) {
            bb_draw_scale(problem->seed, BB_STREAM_DRAW, problem->draw, BB_DRAW_LEAST, n, scale);
        }
        drawn.scale = scale;
    }
    BB_TRY(solve_scaled(problem, &drawn, pipeline, r, evaluation, spent));
done:
    BB_RELEASE(&scale);
    return status;
}

// The next more precise pipeline, one variant throughout; false where there is none.
static bool raise_precision(bb_factor_pipeline *pipeline)
{
    const int next = (int)bb_variant_describe((bb_variant)pipeline->arithmetic)->next;
    if (pipeline->arithmetic == next && bb_policy_describe(&pipeline->policy)->is_uniform) {
        return false;
    }
    pipeline->arithmetic = next;
    pipeline->policy = (bb_policy_config){.kind = BB_POLICY_UNIFORM};
    pipeline->sweeps = BB_POLICY_SWEEPS_SP;
    return true;
}

// The kernels of a pipeline and of all that may follow its failure.
static bb_status warm_levels(const bb_factor_solver_config *solver,
                             const bb_factor_pipeline *pipeline)
{
    bb_status status = BB_OK;
    bb_factor_pipeline level = *pipeline;
    do {
        BB_TRY(bb_factor_warm(solver, &level));
    } while (pipeline->escalate && raise_precision(&level));
done:
    return status;
}

// Attempts that failed, as a sentence.
typedef struct escalation {
    char text[200];
    bool cut; // there was more
} escalation;

// Keeps what failed in `story`, and makes room for the next attempt.
static void leave_evaluation(const bb_factor_problem *problem, const char *variant, double **r,
                             bb_outcome *outcome, escalation *story)
{
    size_t used = strlen(story->text);
    int written = snprintf(story->text + used, sizeof story->text - used, "%s: %s, %s; ", variant,
                           bb_outcome_name(outcome->kind), outcome->detail);
    story->cut = story->cut || written < 0 || (size_t)written >= sizeof story->text - used;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        BB_RELEASE(&r[t]);
    }
    *outcome = (bb_outcome){0};
}

// Whether there is a matrix to solve with, and a floor of its noise where the policy goes by that;
// else the evaluation's outcome.
static bool is_solvable(const bb_factor_problem *problem, const bb_policy_config *policy,
                        bb_outcome *outcome)
{
    if (problem->outcome.kind != BB_OUTCOME_OK) {
        *outcome = problem->outcome;
    } else if (problem->noise != NULL && bb_policy_describe(policy)->by_tolerance &&
               isnan(policy->tolerance) && isnan(problem->noise_floor)) {
        bb_outcome_set(outcome, BB_OUTCOME_UNDERDETERMINED,
                       "policy %s without a tolerance: noise gives %s no floor above 0",
                       bb_policy_kind_names[policy->kind], problem->matrix->name);
    }
    return outcome->kind == BB_OUTCOME_OK;
}

// A factorization and its solves once more, from the assembly on, for their joules.
typedef struct repetition {
    const bb_factor_problem *problem;
    const bb_factor_pipeline *pipeline;
    bb_device_kind device;
} repetition;

static bb_status solve_again(void *context)
{
    bb_status status = BB_OK;
    const repetition *again = context;
    bb_evaluation scratch = bb_evaluation_start(again->pipeline->name);
    effort spent = {0};
    double **r = NULL;
    scratch.device = again->device;
    BB_TRY(BB_ZEROED(again->problem->target_count, &r));
    BB_TRY(solve_once(again->problem, again->pipeline, r, &scratch, &spent));
done:
    for (bb_index t = 0; r != NULL && t < again->problem->target_count; ++t) {
        BB_RELEASE(&r[t]);
    }
    BB_RELEASE(&r);
    return status;
}

// One GPU's counter says nothing of several.
static bb_status measure_energy(const bb_factor_problem *problem,
                                const bb_factor_pipeline *pipeline, bb_evaluation *evaluation)
{
    bb_status status = BB_OK;
    repetition again = {problem, pipeline, evaluation->device};
    if (problem->draw == 0 && problem->solver->gpus == 1 &&
        evaluation->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_energy_measure(evaluation->device, solve_again, &again, evaluation));
    }
done:
    return status;
}

bb_status bb_factor_problem_solve(const bb_factor_problem *problem,
                                  const bb_factor_pipeline *pipeline, double **r,
                                  bb_evaluation *evaluation)
{
    bb_status status = BB_OK;
    bb_index n = problem->matrix->rows;
    bb_factor_pipeline level = *pipeline;
    effort spent = {0};
    escalation story = {.text = ""};
    const bb_tile_plan single = {.tile_size = problem->solver->tile, .arithmetic = BB_VARIANT_SP};
    evaluation->flops_dense = bb_tile_cholesky_flops(n, count_sides(problem));
    evaluation->fp32_bytes = (double)bb_tile_plan_bytes(&single, n);
    if (!is_solvable(problem, &pipeline->policy, &evaluation->outcome)) {
        report(problem->draw, evaluation);
        return BB_OK;
    }
    evaluation->factor.escalations = 0.0;
    evaluation->factor.tile_size = (double)problem->solver->tile;
    double begin = bb_clock_seconds();
    if (evaluation->device == BB_DEVICE_CUDA) {
        BB_TRY(warm_levels(problem->solver, pipeline));
        bb_log_detail("pipeline %s: kernels made ready in %.3f s", pipeline->name,
                      bb_clock_seconds() - begin);
    }
    begin = bb_clock_seconds();
    BB_TRY(solve_once(problem, &level, r, evaluation, &spent));
    while (pipeline->escalate && evaluation->outcome.kind != BB_OUTCOME_OK) {
        const char *failed = bb_variant_names[level.arithmetic];
        if (!raise_precision(&level)) {
            break;
        }
        leave_evaluation(problem, failed, r, &evaluation->outcome, &story);
        evaluation->factor.escalations += 1.0;
        BB_TRY(solve_once(problem, &level, r, evaluation, &spent));
    }
    if (evaluation->factor.escalations > 0.0 && evaluation->outcome.kind == BB_OUTCOME_OK) {
        (void)snprintf(evaluation->outcome.detail, sizeof evaluation->outcome.detail, "%s%sthen %s",
                       story.text, story.cut ? "... " : "", bb_variant_names[level.arithmetic]);
    }
    evaluation->operator_bytes = spent.bytes;
    evaluation->encode_seconds = spent.encode_seconds;
    if (evaluation->outcome.kind == BB_OUTCOME_OK) {
        evaluation->solve_seconds = spent.solve_seconds;
        evaluation->wall_seconds = bb_clock_seconds() - begin;
        evaluation->flops = spent.flops;
    }
    BB_TRY(measure_energy(problem, &level, evaluation));
    report(problem->draw, evaluation);
done:
    return status;
}

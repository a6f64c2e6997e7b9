// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_problem.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"
#include "precision/draw.h"
#include "precision/scaling.h"
#include "sim/pipelines/energy.h"
#include "sim/pipelines/factor_engine.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bb_factor_resident_release(bb_factor_resident *self)
{
    if (self->device != NULL) {
        bb_device_release(self->device, &self->r);
    }
    bb_device_close(&self->device);
}

static double find_noise_floor(const bb_factor_problem *problem)
{
    double minimum = INFINITY;
    for (bb_index i = 0; problem->noise != NULL && i < problem->matrix->rows; ++i) {
        double scale = problem->scale != NULL ? problem->scale[i] : 1.0;
        minimum = fmin(minimum, scale * scale * problem->noise[i]);
    }
    return isfinite(minimum) && minimum > 0.0 ? minimum : NAN;
}

// True if the unit diagonal can be scaled; if not, sets the problem's outcome.
static bool scales(bb_factor_problem *problem, double *diagonal, bb_index n)
{
    const char *name = problem->matrix->name;
    const bb_index bad = bb_stage_find_nonfinite("diagonal", diagonal, n);
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

bb_index bb_factor_problem_sides(const bb_factor_problem *problem)
{
    bb_index count = problem->part.count;
    for (bb_index t = 0; t < problem->target_count; ++t) {
        count += problem->sides[t]->rows;
    }
    return count;
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

// Solves once. The dither and the draw's factors multiply the row scales.
static bb_status solve_once(const bb_factor_problem *problem, const bb_factor_pipeline *pipeline,
                            double **r, bb_evaluation *evaluation, bb_factor_effort *spent)
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
    BB_TRY(bb_factor_engine_of(evaluation->device)
               ->solve(problem, &drawn, pipeline, r, evaluation, spent));
done:
    BB_RELEASE(&scale);
    return status;
}

// Raises a pipeline to the next more precise variant, uniformly; false if there is none.
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

bb_status bb_factor_problem_warm(const bb_factor_solver_config *solver,
                                 const bb_factor_pipeline *pipeline, bb_device_kind device)
{
    bb_status status = BB_OK;
    const bb_factor_engine_row *engine = bb_factor_engine_of(device);
    bb_factor_pipeline level = *pipeline;
    const double begin = bb_clock_seconds();
    if (engine->warm == NULL) {
        return BB_OK;
    }
    do {
        BB_TRY(engine->warm(solver, &level));
    } while (pipeline->escalate && raise_precision(&level));
    if (!bb_thread_is_worker()) { // its log lines would mix with others
        bb_log_detail("pipeline %s: kernels warmed up in %.3f s", pipeline->name,
                      bb_clock_seconds() - begin);
    }
done:
    return status;
}

// Failed attempts, as a sentence.
typedef struct escalation {
    char text[200];
    bool cut; // text was truncated
} escalation;

// Records a failed attempt in `story`, and resets the evaluation for the next one.
static void record_failure(const bb_factor_problem *problem, const char *variant, double **r,
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

// True if there is a matrix to solve with, and a noise floor if the policy needs one; if not, sets
// the outcome.
static bool is_solvable(const bb_factor_problem *problem, const bb_policy_config *policy,
                        bb_outcome *outcome)
{
    if (problem->outcome.kind != BB_OUTCOME_OK) {
        *outcome = problem->outcome;
    } else if (problem->noise != NULL && bb_policy_describe(policy)->by_tolerance &&
               isnan(policy->tolerance) && isnan(problem->noise_floor)) {
        bb_outcome_set(outcome, BB_OUTCOME_UNDERDETERMINED,
                       "policy %s without a tolerance: noise gives %s no positive floor",
                       bb_policy_kind_names[policy->kind], problem->matrix->name);
    }
    return outcome->kind == BB_OUTCOME_OK;
}

// Repetition of a factorization and its solves, including the assembly, to measure energy.
typedef struct repetition {
    const bb_factor_problem *problem;
    const bb_factor_pipeline *pipeline;
    bb_device_kind device;
} repetition;

static bb_status repeat_solve(void *context)
{
    bb_status status = BB_OK;
    const repetition *again = context;
    bb_evaluation scratch = bb_evaluation_start(again->pipeline->name);
    bb_factor_effort spent = {0};
    bb_factor_resident resident = {0};
    bb_factor_problem problem = *again->problem;
    double **r = NULL;
    scratch.device = again->device;
    problem.resident = problem.resident != NULL ? &resident : NULL;
    BB_TRY(BB_ZEROED(again->problem->target_count, &r));
    BB_TRY(solve_once(&problem, again->pipeline, r, &scratch, &spent));
done:
    bb_factor_resident_release(&resident);
    for (bb_index t = 0; r != NULL && t < again->problem->target_count; ++t) {
        BB_RELEASE(&r[t]);
    }
    BB_RELEASE(&r);
    return status;
}

// The counter of one GPU does not cover several.
static bb_status measure_energy(const bb_factor_problem *problem,
                                const bb_factor_pipeline *pipeline, bb_evaluation *evaluation)
{
    bb_status status = BB_OK;
    repetition again = {problem, pipeline, evaluation->device};
    if (problem->draw == 0 && problem->solver->gpus == 1 &&
        evaluation->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_energy_measure(evaluation->device, repeat_solve, &again, evaluation));
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
    bb_factor_effort spent = {0};
    escalation story = {.text = ""};
    const bb_tile_plan single = {.tile_size = problem->solver->tile, .arithmetic = BB_VARIANT_SP};
    evaluation->flops_dense = bb_tile_cholesky_flops(n, bb_factor_problem_sides(problem));
    evaluation->fp32_bytes = (double)bb_tile_plan_bytes(&single, n);
    if (!is_solvable(problem, &pipeline->policy, &evaluation->outcome)) {
        report(problem->draw, evaluation);
        return BB_OK;
    }
    evaluation->factor.escalations = 0.0;
    evaluation->factor.tile_size = (double)problem->solver->tile;
    BB_TRY(bb_factor_problem_warm(problem->solver, pipeline, evaluation->device));
    const double begin = bb_clock_seconds();
    BB_TRY(solve_once(problem, &level, r, evaluation, &spent));
    while (pipeline->escalate && evaluation->outcome.kind != BB_OUTCOME_OK) {
        const char *failed = bb_variant_names[level.arithmetic];
        if (!raise_precision(&level)) {
            break;
        }
        record_failure(problem, failed, r, &evaluation->outcome, &story);
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

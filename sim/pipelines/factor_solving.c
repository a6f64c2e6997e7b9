// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_solving.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "precision/scaling.h"
#include "solvers/tile_cholesky.h"

#include <math.h>

bb_status bb_factor_problem_prepare(bb_factor_problem *problem)
{
    bb_status status = BB_OK;
    double *diagonal = NULL;
    bb_index n = problem->matrix->rows;
    if (problem->solver->scale == (int)BB_FACTOR_SCALE_UNIT_DIAGONAL) {
        BB_TRY(BB_ALLOCATE(n, &diagonal));
        BB_TRY(BB_ALLOCATE(n, &problem->scale));
        BB_TRY(bb_matrix_source_diagonal(problem->matrix, diagonal));
        bb_index bad = bb_stage_inspect("diagonal", diagonal, n);
        BB_REQUIRE(bad < 0, BB_INVALID, "%s, diagonal %td: %g, expected a finite value",
                   problem->matrix->name, bad, diagonal[bad]);
        BB_TRY(bb_scaling_unit_diagonal(diagonal, n, problem->scale));
    }
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

// One right-hand side, loaded and looked at.
static bb_status load_side(const bb_matrix_source *side, double **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(side->rows * side->columns, out));
    BB_TRY(bb_matrix_source_load(side, *out));
    bb_index bad = bb_stage_inspect("right-hand side", *out, side->rows * side->columns);
    BB_REQUIRE(bad < 0, BB_INVALID, "%s, row %td, column %td: %g, expected a finite value",
               side->name, bad / side->columns, bad % side->columns, (*out)[bad]);
done:
    return status;
}

// R of every target from one factor.
static bb_status solve_sides(const bb_factor_problem *problem, const bb_tile_matrix *factor,
                             double **r, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_low_rank_update *update = NULL;
    BB_TRY(bb_low_rank_update_create(factor, problem->scale, &problem->part, outcome, &update));
    for (bb_index t = 0; t < problem->target_count && outcome->kind == BB_OUTCOME_OK; ++t) {
        bb_index rows = problem->sides[t]->rows;
        BB_TRY(load_side(problem->sides[t], &r[t]));
        BB_TRY(bb_reconstructor_solve(factor, problem->scale, update, rows, r[t], outcome));
        bb_index bad = bb_stage_inspect("reconstructor", r[t], rows * factor->n);
        if (bad >= 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "reconstructor %td, row %td, column %td",
                           t, bad / factor->n, bad % factor->n);
        }
    }
done:
    bb_low_rank_update_destroy(&update);
    return status;
}

static void report(const bb_attempt *attempt)
{
    if (attempt->outcome.kind == BB_OUTCOME_OK) {
        bb_log_detail("pipeline %s: %.1f MB encoded in %.1f ms, factored and solved in %.1f ms",
                      attempt->pipeline, 1e-6 * attempt->operator_bytes,
                      1e3 * attempt->encode_seconds, 1e3 * attempt->solve_seconds);
    } else {
        bb_log_warning("pipeline %s: %s, %s", attempt->pipeline,
                       bb_outcome_name(attempt->outcome.kind), attempt->outcome.detail);
    }
}

bb_status bb_factor_problem_solve(const bb_factor_problem *problem,
                                  const bb_factor_pipeline *pipeline, double **r,
                                  bb_attempt *attempt)
{
    bb_status status = BB_OK;
    bb_tile_matrix *factor = NULL;
    bb_index n = problem->matrix->rows;
    const bb_tile_plan plan = bb_factor_pipeline_tiles(problem->solver, pipeline);
    const bb_tile_plan single = {.tile_size = plan.tile_size, .arithmetic = BB_VARIANT_SP};
    attempt->flops_dense = bb_tile_cholesky_flops(n, count_sides(problem));
    attempt->fp32_bytes = (double)bb_tile_plan_bytes(&single, n);
    double begin = bb_clock_seconds();
    BB_TRY(bb_tile_matrix_create(problem->matrix, problem->scale, &plan, &factor));
    attempt->operator_bytes = (double)bb_tile_matrix_bytes(factor);
    double encoded = bb_clock_seconds();
    attempt->encode_seconds = encoded - begin;
    BB_TRY(bb_tile_cholesky_factor(factor, pipeline->accumulate_k, &attempt->outcome));
    if (attempt->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(solve_sides(problem, factor, r, &attempt->outcome));
    }
    if (attempt->outcome.kind == BB_OUTCOME_OK) {
        attempt->solve_seconds = bb_clock_seconds() - encoded;
        attempt->flops = attempt->flops_dense;
    }
    report(attempt);
done:
    bb_tile_matrix_destroy(&factor);
    return status;
}

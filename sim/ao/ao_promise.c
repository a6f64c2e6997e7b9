// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_promise.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_ladder.h"
#include "sim/pipelines/factor_map.h"

#include <math.h>
#include <stdio.h>

enum { MOST_TRIALS = (BB_FACTOR_MIXTURES + 3) * BB_STUDY_PIPELINES };

// A rung that was tried.
typedef struct trial {
    const char *pipeline; // borrowed from the study
    char arithmetic[BB_FACTOR_RUNG_NAME];
    double tolerance, loss, cost;
    bool kept;
} trial;

struct bb_ao_promises {
    bb_index count;
    trial *trials;      // [MOST_TRIALS]
    double reference;   // Strehl ratio, NaN until it is asked for
    double *tile_norms; // of the matrix, NULL until they are asked for
};

bb_status bb_ao_promises_create(bb_ao_promises **out)
{
    bb_status status = BB_OK;
    bb_ao_promises *promises = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &promises));
    promises->reference = NAN;
    BB_TRY(BB_ZEROED(MOST_TRIALS, &promises->trials));
    *out = promises;
    promises = NULL;
done:
    bb_ao_promises_destroy(&promises);
    return status;
}

void bb_ao_promises_destroy(bb_ao_promises **promises)
{
    if (*promises != NULL) {
        BB_RELEASE(&(*promises)->trials);
        BB_RELEASE(&(*promises)->tile_norms);
        BB_RELEASE(promises);
    }
}

// Strehl ratio of an estimate in the first target's direction.
static bb_status find_strehl(const bb_ao_promise_task *task, const double *r, bb_outcome *outcome,
                             double *out)
{
    bb_status status = BB_OK;
    const bb_tomography_target *target = &task->problem->targets[0];
    bb_residual_task residual = {r, target->ctm, target->ctt, NULL};
    bb_tomography_score score = {.kind = task->score, .strehl = out};
    bb_index m = target->ctm->rows;
    *out = NAN;
    BB_TRY(BB_ALLOCATE(m * m, &residual.cee));
    BB_TRY(bb_factor_device_score(task->problem->cmm, task->scores_on_device, 1, &residual));
    BB_TRY(bb_tomography_rate(task->problem, 0, residual.cee, 1, task->wavelengths_m, &score,
                              outcome));
done:
    BB_RELEASE(&residual.cee);
    return status;
}

// One pipeline's search.
typedef struct searching {
    const bb_ao_promise_task *task;
    const bb_factor_pipeline *pipeline;
    bb_factor_ladder ladder;
    bb_factor_problem solving; // with the norms of its tiles
} searching;

// Factors a rung and finds its Strehl ratio, as one of its draws.
static bb_status try_draw(const searching *search, const bb_factor_pipeline *level, bb_index draw,
                          bb_ao_attempt *attempt, bb_draws *draws)
{
    bb_status status = BB_OK;
    const bb_ao_promise_task *task = search->task;
    bb_factor_problem solving = search->solving;
    bb_outcome scored = {0};
    double strehl = NAN;
    solving.draw = draw;
    BB_TRY(bb_factor_problem_solve(&solving, level, attempt->r, &attempt->common));
    bb_ao_attempt_share(attempt, task->correction, task->problem);
    if (attempt->common.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(find_strehl(task, attempt->r[0], &scored, &strehl));
    } else {
        scored = attempt->common.outcome;
    }
    bb_draws_add(draws, &scored, strehl);
done:
    return status;
}

static bool keeps(const bb_ao_promises *promises, const searching *search, double strehl)
{
    return promises->reference - strehl <= search->pipeline->policy.strehl_loss;
}

// The draws after the first, until one fails or leaves the promise: the rung is lost then.
static bb_status try_draws(const bb_ao_promises *promises, const searching *search,
                           const bb_factor_pipeline *level, bb_device_kind device, bb_draws *draws)
{
    bb_status status = BB_OK;
    const bb_index targets = search->task->problem->target_count;
    bb_ao_attempt drawn = {0};
    for (bb_index d = 1; d < level->draws && keeps(promises, search, draws->prices[d - 1]); ++d) {
        BB_TRY(bb_ao_attempt_create(level->name, targets, 1, 0, &drawn));
        drawn.common.device = device;
        BB_TRY(try_draw(search, level, d, &drawn, draws));
        bb_ao_attempt_release(&drawn, targets);
    }
done:
    bb_ao_attempt_release(&drawn, targets);
    return status;
}

// Smallest Strehl ratio of the draws, NaN where one has none.
static double least_strehl(const bb_draws *draws)
{
    double least = INFINITY;
    for (bb_index d = 0; d < draws->tried; ++d) {
        double strehl = draws->prices[d];
        least = isnan(strehl) || strehl < least ? strehl : least;
        if (isnan(least)) {
            break;
        }
    }
    return least;
}

// Tries one rung: its work goes to `attempt`, what came out to the trials.
static bb_status try_rung(bb_ao_promises *promises, const searching *search, int rung,
                          bb_ao_attempt *attempt)
{
    bb_status status = BB_OK;
    trial *at = &promises->trials[promises->count];
    bb_draws draws = {0};
    const bb_factor_pipeline *pipeline = search->pipeline;
    const bb_factor_pipeline level =
        bb_factor_ladder_climb(&search->ladder, pipeline, rung, at->arithmetic);
    bb_device_kind device = attempt->common.device;
    attempt->common = bb_attempt_start(pipeline->name);
    attempt->common.device = device;
    BB_TRY(try_draw(search, &level, 0, attempt, &draws));
    BB_TRY(try_draws(promises, search, &level, device, &draws));
    attempt->common.draws = draws;
    at->pipeline = pipeline->name;
    at->tolerance = level.policy.kind == (int)BB_POLICY_UNIFORM ? NAN : level.policy.tolerance;
    at->loss = promises->reference - least_strehl(&draws);
    at->cost = attempt->common.factor.cost;
    at->kept = keeps(promises, search, least_strehl(&draws));
    ++promises->count;
    bb_log_detail("pipeline %s: %s, loss %.2e, %s", pipeline->name, at->arithmetic, at->loss,
                  at->kept ? "kept" : "not kept");
done:
    return status;
}

// The work of `from` becomes that of `to`, whose own is dropped.
static void take_over(bb_ao_attempt *to, bb_ao_attempt *from, bb_index targets)
{
    to->common = from->common;
    for (bb_index t = 0; t < targets; ++t) {
        BB_RELEASE(&to->r[t]);
        to->r[t] = from->r[t];
        from->r[t] = NULL;
    }
}

static void drop(bb_ao_attempt *attempt, bb_index targets)
{
    for (bb_index t = 0; t < targets; ++t) {
        BB_RELEASE(&attempt->r[t]);
    }
}

// The least rung in (failed, kept] that keeps the promise, by bisection.
static bb_status find_least(bb_ao_promises *promises, const searching *search,
                            bb_ao_attempt *attempt)
{
    bb_status status = BB_OK;
    bb_index targets = search->task->problem->target_count;
    bb_ao_attempt tried = {0};
    int failed = -1;
    int kept = bb_factor_ladder_rungs(&search->ladder);
    BB_TRY(bb_ao_attempt_create(search->pipeline->name, targets, 1, 0, &tried));
    tried.common.device = attempt->common.device;
    while (kept - failed > 1) {
        int rung = failed < 0 ? 0 : (failed + kept) / 2;
        BB_TRY(try_rung(promises, search, rung, &tried));
        if (promises->trials[promises->count - 1].kept) {
            kept = rung;
            take_over(attempt, &tried, targets);
        } else {
            failed = rung;
            drop(&tried, targets);
        }
    }
done:
    bb_ao_attempt_release(&tried, targets);
    return status;
}

bb_status bb_ao_promise_keep(bb_ao_promises *promises, const bb_ao_promise_task *task,
                             const bb_factor_pipeline *pipeline, bb_ao_attempt *attempt)
{
    bb_status status = BB_OK;
    const trial *best = NULL;
    bb_outcome scored = {0};
    bb_index first = promises->count;
    searching search = {.task = task, .pipeline = pipeline, .solving = *task->solving};
    if (isnan(promises->reference) && task->reference->common.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(find_strehl(task, task->reference->r[0], &scored, &promises->reference));
    }
    if (isnan(promises->reference)) {
        bb_outcome_set(&attempt->common.outcome, BB_OUTCOME_UNDERDETERMINED,
                       "promise: the reference has no Strehl ratio");
        goto done;
    }
    if (attempt->common.device == BB_DEVICE_CUDA && promises->tile_norms == NULL) {
        BB_TRY(bb_factor_map_norms(&search.solving, &promises->tile_norms));
    }
    search.solving.tile_norms = promises->tile_norms;
    BB_TRY(
        bb_factor_ladder_make(&search.solving, pipeline, attempt->common.device, &search.ladder));
    BB_TRY(find_least(promises, &search, attempt));
    for (bb_index i = first; i < promises->count; ++i) {
        const trial *at = &promises->trials[i];
        best = at->kept ? at : best; // bisection keeps ever cheaper ones
    }
    if (best == NULL) {
        bb_outcome_set(&attempt->common.outcome, BB_OUTCOME_NOT_CONVERGED,
                       "promise of a loss of %g: not kept by any of %td trials",
                       pipeline->policy.strehl_loss, promises->count - first);
    } else {
        bb_outcome *outcome = &attempt->common.outcome;
        (void)snprintf(outcome->detail, sizeof outcome->detail,
                       "promise of %g kept: %s, loss %.2e, nominal cost %.2f of sp, %td trials",
                       pipeline->policy.strehl_loss, best->arithmetic, best->loss, best->cost,
                       promises->count - first);
        bb_log_info("pipeline %s: %s", pipeline->name, outcome->detail);
    }
done:
    return status;
}

enum { TOLERANCE, LOSS, COST, KEPT, INDEX, COLUMNS };

static const struct {
    const char *path, *long_name;
} columns[COLUMNS] = {
    [TOLERANCE] = {"promise/tolerance",     "tolerance of the rule, NaN where there is none"      },
    [LOSS] = {"promise/strehl_loss",   "Strehl ratio of the reference minus this one's"      },
    [COST] = {"promise/relative_cost", "time of the updates at nominal rates over that in sp"},
    [KEPT] = {"promise/kept",          "1 where the loss is within the promise"              },
    [INDEX] = {"promise/trial",         "index of the trial"                                  },
};

static void list_row(const bb_ao_promises *promises, bb_index i, double out[COLUMNS])
{
    const trial *at = &promises->trials[i];
    out[TOLERANCE] = at->tolerance;
    out[LOSS] = at->loss;
    out[COST] = at->cost;
    out[KEPT] = at->kept ? 1.0 : 0.0;
    out[INDEX] = (double)i;
}

bb_status bb_ao_promises_publish(const bb_ao_promises *promises, bb_results *results)
{
    bb_status status = BB_OK;
    const char **texts = NULL; // [2][count]
    double *values = NULL;     // [COLUMNS][count]
    bb_index count = promises->count;
    if (count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(2 * count, &texts));
    BB_TRY(BB_ALLOCATE((bb_index)COLUMNS * count, &values));
    for (bb_index i = 0; i < count; ++i) {
        double row[COLUMNS];
        list_row(promises, i, row);
        for (int c = 0; c < COLUMNS; ++c) {
            values[c * count + i] = row[c];
        }
        texts[i] = promises->trials[i].pipeline;
        texts[count + i] = promises->trials[i].arithmetic;
    }
    BB_TRY(bb_results_axis(results, columns[INDEX].path, "1", columns[INDEX].long_name, count,
                           values + INDEX * count));
    BB_TRY(bb_results_texts(results, "promise/pipeline", "pipeline that asked", "trial", texts));
    BB_TRY(
        bb_results_texts(results, "promise/arithmetic", "what was tried", "trial", texts + count));
    for (int c = 0; c < INDEX; ++c) {
        BB_TRY(bb_results_values(results, columns[c].path, "1", columns[c].long_name, "trial",
                                 values + c * count));
    }
done:
    BB_RELEASE(&texts);
    BB_RELEASE(&values);
    return status;
}

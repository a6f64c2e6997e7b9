// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_promise.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/pipelines/factor_candidates.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"

#include <math.h>
#include <stdio.h>

// A mixture is worth a search where its cheaper variant costs less than this part of the other.
static const double worth = 0.9;
// The variant after the one that kept a promise mixes, too, where it costs no more than this.
static const double beside = 1.25;

// What was tried last, and where what is found goes.
typedef struct searching {
    const bb_factor_promise_task *task;
    const bb_factor_pipeline *pipeline;
    bb_factor_problem problem; // with the norms of its tiles
    bb_index targets;
    bb_device_kind device;
    bb_evaluation tried;      // draw 0 of the candidate
    bb_factor_pipeline level; // the candidate
    double **r;               // [targets] its reconstructors
    double **drawn;           // [targets] those of another draw
    bb_evaluation *found;
    double **found_r;
    bb_factor_pipeline *found_level; // NULL: not asked for
} searching;

static void release(double **r, bb_index targets)
{
    for (bb_index t = 0; r != NULL && t < targets; ++t) {
        BB_RELEASE(&r[t]);
    }
}

// Factors and prices one draw into `r`; its price goes to the draws of the candidate.
static bb_status solve_draw(searching *work, const bb_factor_pipeline *level, bb_index draw,
                            double **r, bb_evaluation *solved, bb_draws *draws, double *price)
{
    bb_status status = BB_OK;
    bb_factor_problem problem = work->problem;
    bb_factor_price found = {NAN, NAN};
    *solved = bb_evaluation_start(work->pipeline->name);
    solved->device = work->device;
    problem.draw = draw;
    BB_TRY(bb_factor_problem_solve(&problem, level, r, solved));
    if (solved->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(work->task->price(work->task->context, r, solved, &found));
    }
    bb_outcome outcome = solved->outcome;
    if (outcome.kind == BB_OUTCOME_OK && isnan(found.drawn)) {
        bb_outcome_set(&outcome, BB_OUTCOME_NON_FINITE, "%s", work->task->quantity);
    }
    bb_draws_add(draws, &outcome, found.drawn);
    *price = outcome.kind == BB_OUTCOME_OK ? found.price : NAN;
done:
    return status;
}

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *price)
{
    bb_status status = BB_OK;
    searching *work = context;
    bb_evaluation solved;
    if (draw == 0) {
        bb_draws draws = {0};
        release(work->r, work->targets);
        work->level = *(const bb_factor_pipeline *)pipeline;
        BB_TRY(solve_draw(work, &work->level, draw, work->r, &work->tried, &draws, price));
        work->tried.draws = draws;
    } else {
        BB_TRY(
            solve_draw(work, &work->level, draw, work->drawn, &solved, &work->tried.draws, price));
    }
done:
    release(work->drawn, work->targets);
    return status;
}

static double cost(void *context)
{
    const searching *work = context;
    return work->tried.factor.cost;
}

static void adopt(void *context)
{
    searching *work = context;
    *work->found = work->tried;
    if (work->found_level != NULL) {
        *work->found_level = work->level;
    }
    for (bb_index t = 0; t < work->targets; ++t) {
        BB_RELEASE(&work->found_r[t]);
        work->found_r[t] = work->r[t];
        work->r[t] = NULL;
    }
}

static double cost_throughout(bb_variant variant)
{
    double shares[BB_VARIANT_COUNT] = {0.0};
    shares[variant] = 1.0;
    return bb_variant_relative_cost(shares);
}

// A device does not run everything.
static bool is_possible(const searching *work, const bb_factor_pipeline *level)
{
    bool possible = true;
    if (work->device == BB_DEVICE_CUDA) {
        possible = bb_factor_device_check(work->problem.solver, level) == BB_OK;
        bb_status_clear();
    }
    return possible;
}

// The mixtures of two variants; the candidate that was made last stands in it.
typedef struct mixtures {
    bb_factor_pipeline pair;
    bb_factor_candidates candidates;
    bb_factor_pipeline level;
    char name[BB_FACTOR_CANDIDATE_NAME];
} mixtures;

static double tolerance_of(const bb_factor_pipeline *level)
{
    return bb_policy_describe(&level->policy)->is_uniform ? NAN : level->policy.tolerance;
}

static void make_mixture(void *context, int step, bb_promise_candidate *out)
{
    mixtures *all = context;
    all->level = bb_factor_candidates_mixture(&all->candidates, &all->pair, step, all->name);
    *out = (bb_promise_candidate){all->name, tolerance_of(&all->level), &all->level};
}

static bb_status search_mixtures(searching *work, bb_promise_search *search, bb_variant narrow,
                                 bb_variant wide)
{
    bb_status status = BB_OK;
    mixtures all = {.pair = *work->pipeline};
    bb_promise_ladder ladder = {.context = &all, .make = make_mixture};
    all.pair.arithmetic = (int)narrow;
    all.pair.policy.inside = (int)wide;
    if (is_possible(work, &all.pair)) {
        BB_TRY(bb_factor_candidates_make(&work->problem, &all.pair, work->device, &all.candidates));
        ladder.steps = all.candidates.mixtures;
        BB_TRY(bb_promise_bisect(search, &ladder));
    }
done:
    return status;
}

// Variants throughout, cheap ones first, until one keeps the promise: variants[*wide - 1] then.
// `failed` gets those before it.
static bb_status search_variants(searching *work, bb_promise_search *search,
                                 const bb_variant *variants, int count, bb_variant *failed,
                                 int *failures, int *wide)
{
    bb_status status = BB_OK;
    for (*wide = *failures = 0; *wide < count && !search->found; ++*wide) {
        const bb_variant variant = variants[*wide];
        const bb_factor_pipeline level =
            bb_factor_candidates_uniform(work->pipeline, variant, work->device);
        const bb_promise_candidate candidate = {bb_variant_names[variant], tolerance_of(&level),
                                                &level};
        bool kept = false;
        if (is_possible(work, &level)) {
            BB_TRY(bb_promise_try(search, &candidate, &kept));
            failed[*failures] = variant;
            *failures += kept ? 0 : 1;
        }
    }
done:
    return status;
}

// The cheapest variant throughout that keeps the promise, then what mixes it with cheaper ones that
// did not: the cheapest of them, and the dearest that is half as dear or less. Products in hp2 and
// hp3 do not mix with others, those of a variant that costs about the same may.
static bb_status search_candidates(searching *work, bb_promise_search *search)
{
    bb_status status = BB_OK;
    bb_variant variants[BB_VARIANT_COUNT];
    bb_variant failed[BB_VARIANT_COUNT];
    const int count = bb_factor_candidates_variants(work->pipeline, variants);
    int failures = 0;
    int wide = 0;
    BB_TRY(search_variants(work, search, variants, count, failed, &failures, &wide));
    if (!search->found || failures == 0) {
        goto done;
    }
    const bb_variant kept = variants[wide - 1];
    int second = failures - 1;
    while (second > 0 && cost_throughout(failed[second]) > 0.5 * cost_throughout(kept)) {
        --second;
    }
    for (int k = 0; k <= second; k += second > 0 ? second : 1) {
        if (cost_throughout(failed[k]) < worth * cost_throughout(kept)) {
            BB_TRY(search_mixtures(work, search, failed[k], kept));
        }
    }
    if (wide < count && cost_throughout(variants[wide]) < beside * cost_throughout(kept) &&
        cost_throughout(failed[0]) < worth * cost_throughout(kept)) {
        BB_TRY(search_mixtures(work, search, failed[0], variants[wide]));
    }
done:
    return status;
}

// What came of a search, as the evaluation's detail.
static void report(const bb_promise_search *search, bb_outcome *outcome)
{
    if (!search->found) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_CONVERGED,
                       "promise of a loss of %g: not kept by any of %td trials", search->limit,
                       search->trial_count);
    } else {
        (void)snprintf(outcome->detail, sizeof outcome->detail,
                       "promise of %g kept: %s, loss %.2e, nominal cost %.3f of sp, %td trials",
                       search->limit, search->best.name, search->best.price, search->best.cost,
                       search->trial_count);
        bb_log_info("pipeline %s: %s", search->name, outcome->detail);
    }
}

bb_status bb_factor_promise_keep(const bb_factor_promise_task *task, bb_promise_trials *trials,
                                 bb_evaluation *evaluation, double **r, bb_factor_pipeline *level)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = &task->pipelines[task->pipeline];
    searching work = {.task = task,
                      .pipeline = pipeline,
                      .problem = *task->problem,
                      .targets = task->problem->target_count,
                      .device = evaluation->device,
                      .found = evaluation,
                      .found_r = r,
                      .found_level = level};
    bb_promise_search search = {.trials = trials,
                                .pipeline = task->pipeline,
                                .name = pipeline->name,
                                .limit = pipeline->policy.price,
                                .draws = pipeline->draws,
                                .context = &work,
                                .evaluate = evaluate,
                                .cost = cost,
                                .adopt = adopt};
    if (work.problem.outcome.kind != BB_OUTCOME_OK) {
        evaluation->outcome = work.problem.outcome;
        goto done;
    }
    if (work.device == BB_DEVICE_CUDA && *task->tile_norms == NULL) {
        BB_TRY(bb_factor_map_norms(&work.problem, task->tile_norms));
    }
    work.problem.tile_norms = *task->tile_norms;
    BB_TRY(BB_ZEROED(work.targets, &work.r));
    BB_TRY(BB_ZEROED(work.targets, &work.drawn));
    BB_TRY(search_candidates(&work, &search));
    report(&search, &evaluation->outcome);
done:
    release(work.r, work.targets);
    BB_RELEASE(&work.r);
    BB_RELEASE(&work.drawn);
    return status;
}

static const bb_output outputs[] = {
    {"arithmetic", "trial", NULL, "what was tried", .note = "of ao and reconstructor",
     .member = offsetof(bb_promise_row, candidate)},
    {"tolerance", "trial", "1", "tolerance of the rule, NaN where there is none",
     .note = "on a GPU `tile_norm`; of ao and reconstructor",
     .member = offsetof(bb_promise_row, tolerance)},
    {"relative_cost", "trial", "1", "time of the updates at nominal rates over that in sp",
     .note = "of ao and reconstructor", .member = offsetof(bb_promise_row, cost)},
};

const bb_output_table bb_factor_promise_outputs = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(outputs)};

bb_status bb_factor_promise_publish(const bb_promise_trials *trials, const bb_list *pipelines,
                                    const bb_output_table *price, bb_results *results)
{
    const bb_factor_pipeline *items = pipelines->items;
    const bb_promise_tables tables = {&bb_factor_promise_outputs, price};
    const char *names[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < pipelines->count; ++p) {
        names[p] = items[p].name;
    }
    return bb_promise_trials_publish(trials, names, &tables, results);
}

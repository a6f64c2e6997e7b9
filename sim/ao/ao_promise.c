// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_promise.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/pipelines/factor_candidates.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Of one search: every variant, and bisections of three ladders.
enum { MOST_TRIALS = (BB_VARIANT_COUNT + 3 * 8) * BB_STUDY_PIPELINES };

// A mixture is worth a search where its cheaper variant costs less than this part of the other.
static const double worth = 0.9;
// The variant after the one that kept a promise mixes, too, where it costs no more than this.
static const double beside = 1.25;

// A candidate that was tried.
typedef struct trial {
    bb_index pipeline; // of the study
    char arithmetic[BB_FACTOR_CANDIDATE_NAME];
    double tolerance, loss, cost;
    bool kept;
} trial;

struct bb_ao_promises {
    bb_index count;
    trial *trials;      // [MOST_TRIALS]
    double *tile_norms; // of the matrix, NULL until they are asked for
};

bb_status bb_ao_promises_create(bb_ao_promises **out)
{
    bb_status status = BB_OK;
    bb_ao_promises *promises = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &promises));
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

// Targets and wavelengths that a promise is about.
static bb_index scored(bb_index count, int over)
{
    return over == (int)BB_POLICY_OVER_FIRST ? 1 : count;
}

// Strehl ratios of an evaluation, [targets][wavelengths]; NaN of what is not asked for or has none.
static bb_status find_strehls(const bb_ao_promise_task *task, const bb_ao_evaluation *evaluation,
                              int over, double *out)
{
    bb_status status = BB_OK;
    const bb_index targets = scored(task->problem->target_count, over);
    const bb_index wavelengths = scored(task->wavelength_count, over);
    bb_residual_task *tasks = NULL;
    bb_outcome outcome = {0};
    for (bb_index i = 0; i < task->problem->target_count * task->wavelength_count; ++i) {
        out[i] = NAN;
    }
    BB_TRY(BB_ZEROED(targets, &tasks));
    for (bb_index t = 0; t < targets; ++t) {
        const bb_tomography_target *target = &task->problem->targets[t];
        const bb_index m = target->ctm->rows;
        tasks[t] = (bb_residual_task){bb_ao_evaluation_reconstructor(evaluation, t), target->ctm,
                                      target->ctt, NULL};
        BB_TRY(BB_ALLOCATE(m * m, &tasks[t].cee));
    }
    BB_TRY(bb_factor_device_score(task->problem->cmm, task->scores_on_device, targets, tasks));
    for (bb_index t = 0; t < targets; ++t) {
        bb_tomography_score score = {.kind = task->score,
                                     .strehl = out + t * task->wavelength_count};
        BB_TRY(bb_tomography_rate(task->problem, t, tasks[t].cee, wavelengths, task->wavelengths_m,
                                  &score, &outcome));
    }
done:
    for (bb_index t = 0; tasks != NULL && t < targets; ++t) {
        BB_RELEASE(&tasks[t].cee);
    }
    BB_RELEASE(&tasks);
    return status;
}

// One pipeline's search.
typedef struct searching {
    const bb_ao_promise_task *task;
    const bb_factor_pipeline *pipeline;
    bb_factor_problem factor_problem; // with the norms of its tiles
    bb_ao_evaluation tried;
    bb_ao_evaluation *found; // the cheapest that kept the promise
    const trial *best;       // its trial, NULL: none
    double cost;             // infinite: none
} searching;

// The worst loss of what a promise is about, NaN where a Strehl ratio is, and the first one.
static bb_status find_loss(const searching *search, const bb_ao_evaluation *tried, double *loss,
                           double *strehl)
{
    bb_status status = BB_OK;
    const bb_ao_promise_task *task = search->task;
    const int over = search->pipeline->policy.over;
    double *strehls = NULL;
    BB_TRY(BB_ALLOCATE(task->problem->target_count * task->wavelength_count, &strehls));
    BB_TRY(find_strehls(task, tried, over, strehls));
    *strehl = strehls[0];
    *loss = -INFINITY;
    for (bb_index t = 0; t < scored(task->problem->target_count, over); ++t) {
        for (bb_index w = 0; w < scored(task->wavelength_count, over); ++w) {
            const bb_index i = t * task->wavelength_count + w;
            const double lost = task->reference->strehl[i] - strehls[i];
            *loss = isnan(lost) || isnan(*loss) ? NAN : fmax(*loss, lost);
        }
    }
done:
    BB_RELEASE(&strehls);
    return status;
}

// Factors a candidate as one of its draws: its Strehl ratio goes to the draws, `*loss` is NaN where
// it failed.
static bb_status try_draw(const searching *search, const bb_factor_pipeline *level, bb_index draw,
                          bb_ao_evaluation *tried, bb_draws *draws, double *loss)
{
    bb_status status = BB_OK;
    const bb_ao_promise_task *task = search->task;
    bb_factor_problem factor_problem = search->factor_problem;
    bb_outcome outcome = {0};
    double strehl = NAN;
    *loss = NAN;
    factor_problem.draw = draw;
    BB_TRY(bb_factor_problem_solve(&factor_problem, level, tried->r, &tried->common));
    bb_ao_evaluation_share(tried, task->correction, task->problem);
    outcome = tried->common.outcome;
    if (outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(find_loss(search, tried, loss, &strehl));
    }
    if (outcome.kind == BB_OUTCOME_OK && isnan(strehl)) {
        bb_outcome_set(&outcome, BB_OUTCOME_NON_FINITE, "Strehl ratio");
    }
    bb_draws_add(draws, &outcome, strehl);
done:
    return status;
}

// The draws after the first, until one fails or leaves the promise: the candidate is lost then.
// `*worst` is the largest loss, NaN where one failed.
static bb_status try_draws(const searching *search, const bb_factor_pipeline *level,
                           bb_draws *draws, double *worst)
{
    bb_status status = BB_OK;
    const bb_index targets = search->task->problem->target_count;
    bb_ao_evaluation drawn = {0};
    for (bb_index d = 1; d < level->draws && *worst <= search->pipeline->policy.price; ++d) {
        double loss = NAN;
        BB_TRY(bb_ao_evaluation_create(level->name, targets, 1, 0, 0, &drawn));
        drawn.shared = search->tried.shared;
        drawn.common.device = search->found->common.device;
        BB_TRY(try_draw(search, level, d, &drawn, draws, &loss));
        *worst = isnan(loss) ? NAN : fmax(*worst, loss);
        bb_ao_evaluation_release(&drawn, targets);
    }
done:
    bb_ao_evaluation_release(&drawn, targets);
    return status;
}

// The work of the trial becomes what was found, whose own is dropped.
static void take_over(searching *search)
{
    const bb_index targets = search->task->problem->target_count;
    search->found->common = search->tried.common;
    search->found->level = search->tried.level;
    for (bb_index t = 0; t < targets; ++t) {
        BB_RELEASE(&search->found->r[t]);
        search->found->r[t] = search->tried.r[t];
        search->tried.r[t] = NULL;
    }
}

// Tries one pipeline by the full chain; what came out goes to the trials, the cheapest that kept
// the promise to what was found.
static bb_status try_candidate(bb_ao_promises *promises, searching *search,
                               const bb_factor_pipeline *level, const char *name)
{
    bb_status status = BB_OK;
    const bb_ao_promise_task *task = search->task;
    trial *entry = &promises->trials[promises->count];
    bb_ao_evaluation *tried = &search->tried;
    const bb_device_kind device = search->found->common.device;
    bb_draws draws = {0};
    tried->common = bb_evaluation_start(search->pipeline->name);
    tried->common.device = device;
    tried->level = *level;
    BB_TRY(try_draw(search, level, 0, tried, &draws, &entry->loss));
    BB_TRY(try_draws(search, level, &draws, &entry->loss));
    tried->common.draws = draws;
    entry->pipeline = search->pipeline - task->pipelines;
    (void)snprintf(entry->arithmetic, sizeof entry->arithmetic, "%s", name);
    entry->tolerance =
        bb_policy_describe(&level->policy)->is_uniform ? NAN : level->policy.tolerance;
    entry->cost = tried->common.factor.cost;
    entry->kept = entry->loss <= search->pipeline->policy.price;
    ++promises->count;
    bb_log_detail("pipeline %s: %s, loss %.2e, cost %.3f, %s", search->pipeline->name, name,
                  entry->loss, entry->cost, entry->kept ? "kept" : "not kept");
    if (entry->kept && entry->cost < search->cost) {
        search->cost = entry->cost;
        search->best = entry;
        take_over(search);
    }
done:
    for (bb_index t = 0; t < task->problem->target_count; ++t) {
        BB_RELEASE(&tried->r[t]);
    }
    return status;
}

static double cost_throughout(bb_variant variant)
{
    double shares[BB_VARIANT_COUNT] = {0.0};
    shares[variant] = 1.0;
    return bb_variant_relative_cost(shares);
}

// A device does not run everything.
static bool is_possible(const searching *search, const bb_factor_pipeline *level)
{
    bool possible = true;
    if (search->found->common.device == BB_DEVICE_CUDA) {
        possible = bb_factor_device_check(search->factor_problem.solver, level) == BB_OK;
        bb_status_clear();
    }
    return possible;
}

// Bisects the mixtures of two variants for the cheapest that keeps the promise.
static bb_status search_mixtures(bb_ao_promises *promises, searching *search, bb_variant narrow,
                                 bb_variant wide)
{
    bb_status status = BB_OK;
    bb_factor_pipeline pair = *search->pipeline;
    bb_factor_candidates candidates;
    char name[BB_FACTOR_CANDIDATE_NAME];
    pair.arithmetic = (int)narrow;
    pair.policy.inside = (int)wide;
    if (!is_possible(search, &pair)) {
        goto done;
    }
    BB_TRY(bb_factor_candidates_make(&search->factor_problem, &pair, search->found->common.device,
                                     &candidates));
    int failed = -1;
    int kept = candidates.mixtures;
    while (kept - failed > 1) {
        const int middle = (failed + kept) / 2;
        const bb_factor_pipeline level =
            bb_factor_candidates_mixture(&candidates, &pair, middle, name);
        BB_TRY(try_candidate(promises, search, &level, name));
        const bool keeps = promises->trials[promises->count - 1].kept;
        kept = keeps ? middle : kept;
        failed = keeps ? failed : middle;
    }
done:
    return status;
}

// The cheapest variant throughout that keeps the promise, then what mixes it with cheaper ones that
// did not: the cheapest of them, and the dearest that is half as dear or less. Products in hp2 and
// hp3 do not mix with others, those of a variant that costs about the same may.
static bb_status search_candidates(bb_ao_promises *promises, searching *search)
{
    bb_status status = BB_OK;
    bb_variant variants[BB_VARIANT_COUNT];
    bb_variant failed[BB_VARIANT_COUNT];
    const int count = bb_factor_candidates_variants(search->pipeline, variants);
    const bb_device_kind device = search->found->common.device;
    int failures = 0;
    int wide = 0;
    for (; wide < count && search->best == NULL; ++wide) {
        const bb_factor_pipeline level =
            bb_factor_candidates_uniform(search->pipeline, variants[wide], device);
        if (!is_possible(search, &level)) {
            continue;
        }
        BB_TRY(try_candidate(promises, search, &level, bb_variant_names[variants[wide]]));
        failed[failures] = variants[wide];
        failures += search->best == NULL ? 1 : 0;
    }
    if (search->best == NULL || failures == 0) {
        goto done;
    }
    const bb_variant kept = variants[wide - 1];
    int second = failures - 1;
    while (second > 0 && cost_throughout(failed[second]) > 0.5 * cost_throughout(kept)) {
        --second;
    }
    for (int k = 0; k <= second; k += second > 0 ? second : 1) {
        if (cost_throughout(failed[k]) < worth * cost_throughout(kept)) {
            BB_TRY(search_mixtures(promises, search, failed[k], kept));
        }
    }
    if (wide < count && cost_throughout(variants[wide]) < beside * cost_throughout(kept) &&
        cost_throughout(failed[0]) < worth * cost_throughout(kept)) {
        BB_TRY(search_mixtures(promises, search, failed[0], variants[wide]));
    }
done:
    return status;
}

// What came of a search, as the evaluation's detail.
static void report(const searching *search, bb_index trials, bb_outcome *outcome)
{
    const double loss = search->pipeline->policy.price;
    if (search->best == NULL) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_CONVERGED,
                       "promise of a loss of %g: not kept by any of %td trials", loss, trials);
    } else {
        (void)snprintf(outcome->detail, sizeof outcome->detail,
                       "promise of %g kept: %s, loss %.2e, nominal cost %.3f of sp, %td trials",
                       loss, search->best->arithmetic, search->best->loss, search->best->cost,
                       trials);
        bb_log_info("pipeline %s: %s", search->pipeline->name, outcome->detail);
    }
}

bb_status bb_ao_promise_keep(bb_ao_promises *promises, const bb_ao_promise_task *task,
                             const bb_factor_pipeline *pipeline, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index targets = task->problem->target_count;
    const bb_index first = promises->count;
    searching search = {.task = task,
                        .pipeline = pipeline,
                        .factor_problem = *task->factor_problem,
                        .found = evaluation,
                        .cost = INFINITY};
    if (search.factor_problem.outcome.kind != BB_OUTCOME_OK) {
        evaluation->common.outcome = search.factor_problem.outcome;
        goto done;
    }
    if (isnan(bb_ao_evaluation_headline(task->reference))) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_UNDERDETERMINED,
                       "promise: the reference has no Strehl ratio");
        goto done;
    }
    if (evaluation->common.device == BB_DEVICE_CUDA && promises->tile_norms == NULL) {
        BB_TRY(bb_factor_map_norms(&search.factor_problem, &promises->tile_norms));
    }
    search.factor_problem.tile_norms = promises->tile_norms;
    BB_TRY(bb_ao_evaluation_create(pipeline->name, targets, task->wavelength_count, 0, 0,
                                   &search.tried));
    search.tried.shared = evaluation->shared;
    BB_TRY(search_candidates(promises, &search));
    report(&search, promises->count - first, &evaluation->common.outcome);
done:
    bb_ao_evaluation_release(&search.tried, targets);
    return status;
}

void bb_ao_promises_list(const bb_ao_promises *promises,
                         bb_checkpoint_piece pieces[BB_AO_PROMISES_PIECES])
{
    pieces[0] = (bb_checkpoint_piece){&promises->count, sizeof promises->count};
    pieces[1] = (bb_checkpoint_piece){promises->trials,
                                      promises->count * (bb_index)sizeof *promises->trials};
}

bb_status bb_ao_promises_take(bb_ao_promises *promises, bb_index pipelines,
                              bb_checkpoint *checkpoint)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_checkpoint_take(checkpoint, &count, sizeof count));
    BB_REQUIRE(count >= 0 && count <= MOST_TRIALS, BB_IO,
               "checkpoint with %td trials of promises, expected at most %d", count, MOST_TRIALS);
    BB_TRY(bb_checkpoint_take(checkpoint, promises->trials,
                              count * (bb_index)sizeof *promises->trials));
    for (bb_index i = 0; i < count; ++i) {
        const trial *entry = &promises->trials[i];
        unsigned char kept = 0; // the byte: another one than 0 or 1 is no bool
        memcpy(&kept, &entry->kept, 1);
        BB_REQUIRE(entry->pipeline >= 0 && entry->pipeline < pipelines && kept <= 1 &&
                       memchr(entry->arithmetic, '\0', sizeof entry->arithmetic) != NULL,
                   BB_IO, "checkpoint with a trial of pipeline %td, expected below %td",
                   entry->pipeline, pipelines);
    }
    promises->count = count;
done:
    return status;
}

enum { TOLERANCE, LOSS, COST, KEPT, INDEX, COLUMNS };

static const struct {
    const char *path, *long_name;
} columns[COLUMNS] = {
    [TOLERANCE] = {"promise/tolerance",     "tolerance of the rule, NaN where there is none"      },
    [LOSS] = {"promise/strehl_loss",   "worst Strehl ratio of the reference minus this one's"},
    [COST] = {"promise/relative_cost", "time of the updates at nominal rates over that in sp"},
    [KEPT] = {"promise/kept",          "1 where the loss is within the promise"              },
    [INDEX] = {"promise/trial",         "index of the trial"                                  },
};

static void list_row(const bb_ao_promises *promises, bb_index i, double out[COLUMNS])
{
    const trial *entry = &promises->trials[i];
    out[TOLERANCE] = entry->tolerance;
    out[LOSS] = entry->loss;
    out[COST] = entry->cost;
    out[KEPT] = entry->kept ? 1.0 : 0.0;
    out[INDEX] = (double)i;
}

bb_status bb_ao_promises_publish(const bb_ao_promises *promises,
                                 const bb_factor_pipeline *pipelines, bb_results *results)
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
        texts[i] = pipelines[promises->trials[i].pipeline].name;
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

// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage/promised_storage.h"

#include "core/log.h"
#include "precision/codec_ladder.h"

#include <math.h>
#include <stdio.h>

enum { SENTENCE_BYTES = 240, PATH_BYTES = 64 };

// Trials of a ladder by what the one before lost, at most; more go to the middle of what is left.
enum { GUESSES = 4 };

// A ladder of a pipeline's storage: steps from `first` on are possible.
typedef struct searched_ladder {
    bb_codec_ladder ladder;
    int first;
} searched_ladder;

bool bb_promised_storage_is_given(const bb_factor_pipeline *pipeline)
{
    return pipeline->promise.price > 0.0;
}

// Those that the keys of the storage leave open; returns how many.
static int list_ladders(const bb_factor_pipeline *pipeline, searched_ladder out[BB_CODEC_LADDERS])
{
    const bb_codec_config *storage = &pipeline->storage;
    int count = 0;
    if (!bb_promised_storage_is_given(pipeline) || storage->codec < 0) {
        return 0;
    }
    for (int i = 0; bb_codec_ladder_of(storage, i) != NULL; ++i) {
        out[count].ladder = bb_codec_ladder_refine(bb_codec_ladder_of(storage, i));
        out[count].first =
            bb_codec_ladder_first(&out[count].ladder, storage, (bb_row_scale)pipeline->row_scale);
        count += out[count].first < out[count].ladder.steps;
    }
    return count;
}

bb_factor_pipeline bb_promised_storage_widest(const bb_factor_pipeline *pipeline)
{
    bb_factor_pipeline level = *pipeline;
    searched_ladder ladders[BB_CODEC_LADDERS];
    if (list_ladders(pipeline, ladders) > 0) {
        level.storage = bb_codec_ladder_storage(&ladders[0].ladder, &pipeline->storage,
                                                ladders[0].ladder.steps - 1);
    }
    return level;
}

double bb_promised_storage_trials(const bb_factor_pipeline *pipeline)
{
    searched_ladder ladders[BB_CODEC_LADDERS];
    const int count = list_ladders(pipeline, ladders);
    double trials = 0.0;
    for (int i = 0; i < count; ++i) {
        const double steps = (double)(ladders[i].ladder.steps - ladders[i].first);
        trials += fmin(steps, GUESSES + 1.0 + floor(log2(steps)));
    }
    return trials * (double)pipeline->draws;
}

bool bb_promised_storage_at(const bb_factor_pipeline *pipeline, double step, bb_codec_config *out)
{
    searched_ladder ladders[BB_CODEC_LADDERS];
    const int count = list_ladders(pipeline, ladders);
    for (int i = 0; i < count; ++i) {
        const int steps = ladders[i].ladder.steps;
        if (step >= (double)ladders[i].first && step < (double)steps) {
            *out = bb_codec_ladder_storage(&ladders[i].ladder, &pipeline->storage, (int)step);
            return true;
        }
        step -= (double)steps;
    }
    return false;
}

// Codecs with something to find, as "bfp, integer or quantiser".
static void list_codecs(char *out, size_t bytes)
{
    int last = -1;
    size_t length = 0;
    out[0] = '\0';
    for (int pass = 0; pass < 2; ++pass) {
        for (int codec = 0; codec < bb_codec_count(); ++codec) {
            const bb_codec_config storage = {.codec = codec};
            if (bb_codec_ladder_of(&storage, 0) == NULL) {
                continue;
            }
            if (pass == 1 && length < bytes) {
                const char *between = length == 0 ? "" : codec == last ? " or " : ", ";
                const int written =
                    snprintf(out + length, bytes - length, "%s%s", between, bb_codec_name(codec));
                length += written > 0 ? (size_t)written : 0;
            }
            last = pass == 0 ? codec : last;
        }
    }
}

// Why no search goes through a storage, as a sentence.
static void explain(const bb_factor_pipeline *pipeline, char *out, size_t bytes)
{
    const bb_codec_config *storage = &pipeline->storage;
    char text[SENTENCE_BYTES];
    if (bb_codec_ladder_of(storage, 0) == NULL) {
        list_codecs(text, sizeof text);
        (void)snprintf(out, bytes, "%s has neither bits nor a tolerance to find, expected %s",
                       bb_codec_name(storage->codec), text);
    } else if (bb_codec_check(storage, (bb_row_scale)pipeline->row_scale, text, sizeof text)) {
        bb_codec_describe(storage, text, sizeof text);
        (void)snprintf(out, bytes,
                       "%s leaves nothing to find, expected it without its bits or tolerance",
                       text);
    } else {
        const bb_codec_ladder *ladder = bb_codec_ladder_of(storage, 0);
        const bb_codec_config widest = bb_codec_ladder_storage(ladder, storage, ladder->steps - 1);
        (void)bb_codec_check(&widest, (bb_row_scale)pipeline->row_scale, text, sizeof text);
        (void)snprintf(out, bytes, "%s", text);
    }
}

bb_status bb_promised_storage_check(const bb_factor_pipeline *pipeline, bb_index index,
                                    const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    searched_ladder ladders[BB_CODEC_LADDERS];
    char sentence[2 * SENTENCE_BYTES];
    if (list_ladders(pipeline, ladders) == 0) {
        explain(pipeline, sentence, sizeof sentence);
        BB_TRY(bb_study_refuse(true, config, problems,
                               "pipelines[%td].storage beside a promise: %s", index, sentence));
    } else if (pipeline->draws > 1 && !bb_codec_has_draws(&pipeline->storage)) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "pipelines[%td].draws = %td: the steps of its storage follow the "
                               "rows, so that no draw differs, expected 1 beside a promise",
                               index, pipeline->draws));
    }
done:
    return status;
}

// What was tried last, and what was found.
typedef struct searching {
    const bb_promised_storage_task *task;
    const bb_factor_pipeline *pipeline;
    const bb_evaluation *solved;
    searched_ladder ladder;
    int before;               // steps of ladders before that one
    int step;                 // of the candidate, among those of all ladders
    bb_factor_pipeline level; // the candidate
    char name[BB_PROMISE_NAME];
    double worst;        // its price, of the draws so far
    bb_evaluation tried; // draw 0 of the candidate
    bb_evaluation found;
    bb_factor_pipeline found_level;
} searching;

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *price)
{
    bb_status status = BB_OK;
    searching *work = context;
    bb_evaluation drawn = *work->solved;
    bb_factor_price found = {NAN, NAN};
    BB_TRY(work->task->price(work->task->context, pipeline, draw, &drawn, &found));
    bb_outcome outcome = drawn.outcome;
    if (outcome.kind == BB_OUTCOME_OK && isnan(found.drawn)) {
        bb_outcome_set(&outcome, BB_OUTCOME_NON_FINITE, "%s", work->task->quantity);
    }
    if (draw == 0) {
        work->worst = -INFINITY;
        work->tried = drawn;
        work->tried.draws = (bb_draws){0};
        work->tried.factor.stored_step = (double)work->step;
    }
    bb_draws_add(&work->tried.draws, &outcome, found.drawn);
    *price = outcome.kind == BB_OUTCOME_OK ? found.price : NAN;
    work->worst = isnan(*price) || isnan(work->worst) ? NAN : fmax(work->worst, *price);
done:
    return status;
}

static double cost(void *context)
{
    const searching *work = context;
    return work->tried.factor.stored_bytes;
}

static void adopt(void *context)
{
    searching *work = context;
    work->found = work->tried;
    work->found_level = work->level;
}

static bb_status try_step(searching *work, bb_promise_search *search, int step, bool *kept)
{
    work->step = work->before + step;
    work->level.storage =
        bb_codec_ladder_storage(&work->ladder.ladder, &work->pipeline->storage, step);
    bb_codec_describe(&work->level.storage, work->name, sizeof work->name);
    const bb_promise_candidate candidate = {work->name, work->level.storage.tolerance_of_range,
                                            &work->level};
    return bb_promise_try(search, &candidate, kept);
}

// The step after `last` to try: a loss goes with the square of what values are rounded to, so that
// a bit is a factor of four. Where that says nothing, or did not end the search, the middle.
static int next_step(const searching *work, const bb_promise_bisection *bracket, int last,
                     int trials)
{
    const double bits = 0.5 * log2(work->worst / work->pipeline->promise.price);
    const double step = last + ceil(bits * bb_codec_ladder_bit(&work->ladder.ladder));
    if (trials == 0 || trials > GUESSES || !isfinite(step)) {
        return bb_promise_bisection_step(bracket);
    }
    return (int)fmin(fmax(step, bracket->failed + 1.0), bracket->kept - 1.0);
}

// Until a step keeps the price and the one before it does not.
static bb_status search_ladder(searching *work, bb_promise_search *search)
{
    bb_status status = BB_OK;
    bb_promise_bisection bracket = {work->ladder.first - 1, work->ladder.ladder.steps};
    int step = 0;
    for (int trials = 0; bb_promise_bisection_step(&bracket) >= 0; ++trials) {
        bool kept = false;
        step = next_step(work, &bracket, step, trials);
        BB_TRY(try_step(work, search, step, &kept));
        *(kept ? &bracket.kept : &bracket.failed) = step;
    }
done:
    return status;
}

// What came of a search.
static void report(const bb_promise_search *search, const searching *work, bb_evaluation *solved)
{
    const bb_promise_trial *nearest = &search->nearest;
    char rest[SENTENCE_BYTES] = "";
    if (search->found) {
        solved->draws = work->found.draws;
        solved->factor.stored_step = work->found.factor.stored_step;
        (void)snprintf(solved->outcome.detail, sizeof solved->outcome.detail,
                       "promise of a loss of %g kept: %s, loss %.2e, %.2f bits a value, %td trials",
                       search->limit, search->best.name, search->best.price,
                       work->found.factor.stored_bits, search->trial_count);
        bb_log_info("pipeline %s: %s", search->name, solved->outcome.detail);
        return;
    }
    if (nearest->name[0] != '\0') {
        (void)snprintf(rest, sizeof rest, "; the nearest, %s, loses %.2e", nearest->name,
                       nearest->price);
    }
    bb_outcome_set(&solved->outcome, BB_OUTCOME_NOT_CONVERGED,
                   "promise of a loss of %g: not kept by any of %td trials%s", search->limit,
                   search->trial_count, rest);
}

bb_status bb_promised_storage_keep(const bb_promised_storage_task *task, bb_promise_trials *trials,
                                   bb_evaluation *solved, bb_factor_pipeline *level)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = &task->pipelines[task->pipeline];
    searched_ladder ladders[BB_CODEC_LADDERS];
    const int count = list_ladders(pipeline, ladders);
    searching work = {.task = task, .pipeline = pipeline, .solved = solved, .level = *pipeline};
    bb_promise_search search = {.trials = trials,
                                .pipeline = task->pipeline,
                                .name = pipeline->name,
                                .limit = pipeline->promise.price,
                                .draws = pipeline->draws,
                                .context = &work,
                                .evaluate = evaluate,
                                .cost = cost,
                                .adopt = adopt};
    for (int i = 0; i < count; ++i) {
        work.ladder = ladders[i];
        BB_TRY(search_ladder(&work, &search));
        work.before += ladders[i].ladder.steps;
    }
    report(&search, &work, solved);
    if (search.found) {
        *level = work.found_level;
    }
done:
    return status;
}

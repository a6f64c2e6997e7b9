// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/promise.h"

#include "core/log.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct bb_promise_trials {
    bb_index most, count;
    bb_promise_trial *items; // [most]
};

bb_status bb_promise_trials_create(bb_index limit, bb_promise_trials **out)
{
    bb_status status = BB_OK;
    bb_promise_trials *trials = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &trials));
    trials->most = limit;
    BB_TRY(BB_ZEROED(limit, &trials->items));
    *out = trials;
    trials = NULL;
done:
    bb_promise_trials_destroy(&trials);
    return status;
}

void bb_promise_trials_destroy(bb_promise_trials **trials)
{
    if (*trials != NULL) {
        BB_RELEASE(&(*trials)->items);
        BB_RELEASE(trials);
    }
}

// Every draw, until one fails or leaves the promise: the candidate is lost then. `*worst` is the
// largest price, NaN where one has none.
static bb_status evaluate(const bb_promise_search *search, const void *pipeline, double *worst,
                          double *cost)
{
    bb_status status = BB_OK;
    BB_TRY(search->evaluate(search->context, pipeline, 0, worst));
    *cost = search->cost(search->context);
    for (bb_index d = 1; d < search->draws && *worst <= search->limit; ++d) {
        double price = NAN;
        BB_TRY(search->evaluate(search->context, pipeline, d, &price));
        *worst = isnan(price) ? NAN : fmax(*worst, price);
    }
done:
    return status;
}

bb_status bb_promise_take(bb_promise_search *search, const bb_promise_candidate *candidate,
                          double price, double cost, bool *kept)
{
    bb_status status = BB_OK;
    bb_promise_trials *trials = search->trials;
    *kept = false;
    BB_REQUIRE(trials->count < trials->most, BB_INTERNAL, "promises: more than %td trials",
               trials->most);
    bb_promise_trial *trial = &trials->items[trials->count];
    (void)snprintf(trial->name, sizeof trial->name, "%s", candidate->name);
    trial->pipeline = search->pipeline;
    trial->tolerance = candidate->tolerance;
    trial->price = price;
    trial->cost = cost;
    trial->kept = *kept = price <= search->limit;
    ++trials->count;
    ++search->trial_count;
    bb_log_detail("pipeline %s: %s, price %.2e, cost %.3f, %s", search->name, trial->name,
                  trial->price, trial->cost, *kept ? "kept" : "not kept");
    if (*kept && (!search->found || trial->cost < search->best.cost)) {
        search->found = true;
        search->best = *trial;
        search->adopt(search->context);
    }
done:
    return status;
}

bb_status bb_promise_try(bb_promise_search *search, const bb_promise_candidate *candidate,
                         bool *kept)
{
    bb_status status = BB_OK;
    double price = NAN;
    double cost = NAN;
    *kept = false;
    BB_TRY(evaluate(search, candidate->pipeline, &price, &cost));
    BB_TRY(bb_promise_take(search, candidate, price, cost, kept));
done:
    return status;
}

int bb_promise_bisection_step(const bb_promise_bisection *bisection)
{
    return bisection->kept - bisection->failed > 1 ? (bisection->failed + bisection->kept) / 2 : -1;
}

void bb_promise_bisection_take(bb_promise_bisection *bisection, bool kept)
{
    *(kept ? &bisection->kept : &bisection->failed) = bb_promise_bisection_step(bisection);
}

bb_status bb_promise_bisect(bb_promise_search *search, const bb_promise_ladder *ladder)
{
    bb_status status = BB_OK;
    bb_promise_bisection bisection = {-1, ladder->steps};
    int step = bb_promise_bisection_step(&bisection);
    for (; step >= 0; step = bb_promise_bisection_step(&bisection)) {
        bb_promise_candidate candidate = {0};
        bool kept = false;
        ladder->make(ladder->context, step, &candidate);
        BB_TRY(bb_promise_try(search, &candidate, &kept));
        bb_promise_bisection_take(&bisection, kept);
    }
done:
    return status;
}

void bb_promise_trials_list(const bb_promise_trials *trials,
                            bb_checkpoint_piece pieces[BB_PROMISE_PIECES])
{
    pieces[0] = (bb_checkpoint_piece){&trials->count, sizeof trials->count};
    pieces[1] =
        (bb_checkpoint_piece){trials->items, trials->count * (bb_index)sizeof *trials->items};
}

bb_status bb_promise_trials_take(bb_promise_trials *trials, bb_index pipelines,
                                 bb_checkpoint *checkpoint)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_checkpoint_take(checkpoint, &count, sizeof count));
    BB_REQUIRE(count >= 0 && count <= trials->most, BB_IO,
               "checkpoint with %td trials of promises, expected at most %td", count, trials->most);
    BB_TRY(bb_checkpoint_take(checkpoint, trials->items, count * (bb_index)sizeof *trials->items));
    for (bb_index i = 0; i < count; ++i) {
        const bb_promise_trial *trial = &trials->items[i];
        unsigned char kept = 0; // the byte: another one than 0 or 1 is no bool
        memcpy(&kept, &trial->kept, 1);
        BB_REQUIRE(trial->pipeline >= 0 && trial->pipeline < pipelines && kept <= 1 &&
                       memchr(trial->name, '\0', sizeof trial->name) != NULL,
                   BB_IO, "checkpoint with a trial of pipeline %td, expected below %td",
                   trial->pipeline, pipelines);
    }
    trials->count = count;
done:
    return status;
}

enum { TOLERANCE, PRICE, COST, KEPT, INDEX, COLUMNS };

static void list_row(const bb_promise_trials *trials, bb_index i, double out[COLUMNS])
{
    const bb_promise_trial *trial = &trials->items[i];
    out[TOLERANCE] = trial->tolerance;
    out[PRICE] = trial->price;
    out[COST] = trial->cost;
    out[KEPT] = trial->kept ? 1.0 : 0.0;
    out[INDEX] = (double)i;
}

static bb_status write_columns(const bb_promise_words *words, bb_index count, const double *values,
                               const char *const *texts, bb_results *results)
{
    bb_status status = BB_OK;
    const struct {
        const char *name, *unit, *long_name;
    } columns[INDEX] = {
        [TOLERANCE] = {"tolerance", "1", words->tolerance_long_name},
        [PRICE] = {words->price, words->price_unit, words->price_long_name},
        [COST] = {words->cost, words->cost_unit, words->cost_long_name},
        [KEPT] = {"kept", "1", words->kept_long_name},
    };
    char path[64];
    BB_TRY(bb_results_axis(results, "promise/trial", "1", "index of the trial", count,
                           values + INDEX * count));
    BB_TRY(bb_results_texts(results, "promise/pipeline", "pipeline that asked", "trial", texts));
    (void)snprintf(path, sizeof path, "promise/%s", words->candidate);
    BB_TRY(bb_results_texts(results, path, "what was tried", "trial", texts + count));
    for (int c = 0; c < INDEX; ++c) {
        (void)snprintf(path, sizeof path, "promise/%s", columns[c].name);
        BB_TRY(bb_results_values(results, path, columns[c].unit, columns[c].long_name, "trial",
                                 values + c * count));
    }
done:
    return status;
}

bb_status bb_promise_trials_publish(const bb_promise_trials *trials, const char *const *names,
                                    const bb_promise_words *words, bb_results *results)
{
    bb_status status = BB_OK;
    const char **texts = NULL; // [2][count]
    double *values = NULL;     // [COLUMNS][count]
    const bb_index count = trials->count;
    if (count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(2 * count, &texts));
    BB_TRY(BB_ALLOCATE((bb_index)COLUMNS * count, &values));
    for (bb_index i = 0; i < count; ++i) {
        double row[COLUMNS];
        list_row(trials, i, row);
        for (int c = 0; c < COLUMNS; ++c) {
            values[c * count + i] = row[c];
        }
        texts[i] = names[trials->items[i].pipeline];
        texts[count + i] = trials->items[i].name;
    }
    BB_TRY(write_columns(words, count, values, texts, results));
done:
    BB_RELEASE(&texts);
    BB_RELEASE(&values);
    return status;
}

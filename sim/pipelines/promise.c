// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/promise.h"

#include "core/log.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct bb_promise_trials {
    bb_index limit, count;
    bb_promise_trial *items; // [limit]
};

bb_status bb_promise_trials_create(bb_index limit, bb_promise_trials **out)
{
    bb_status status = BB_OK;
    bb_promise_trials *trials = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &trials));
    trials->limit = limit;
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

static bool holds(const bb_promise_search *search, const bb_promise_trial *trial)
{
    return trial->price <= search->limit && trial->wrong <= search->wrong_limit;
}

static double worse(double first, double second)
{
    return isnan(first) || isnan(second) ? NAN : fmax(first, second);
}

// Every draw, until one fails or leaves the promise: the candidate is lost then. Price and count
// are the largest, NaN where one has none.
static bb_status evaluate(const bb_promise_search *search, const void *pipeline,
                          bb_promise_trial *out)
{
    bb_status status = BB_OK;
    out->price = -INFINITY;
    for (bb_index d = 0; d < search->draws && holds(search, out); ++d) {
        double price = NAN;
        BB_TRY(search->evaluate(search->context, pipeline, d, &price));
        out->price = worse(out->price, price);
        if (search->wrong != NULL) {
            out->wrong = worse(out->wrong, search->wrong(search->context));
        }
        if (d == 0) {
            out->cost = search->cost(search->context);
        }
    }
done:
    return status;
}

// Lists a trial, and adopts it where it is the cheapest.
static bb_status take(bb_promise_search *search, const bb_promise_candidate *candidate,
                      bb_promise_trial trial, bool *kept)
{
    bb_status status = BB_OK;
    bb_promise_trials *trials = search->trials;
    *kept = false;
    BB_REQUIRE(trials->count < trials->limit, BB_INTERNAL, "promises: more than %td trials",
               trials->limit);
    (void)snprintf(trial.name, sizeof trial.name, "%s", candidate->name);
    trial.pipeline = search->pipeline;
    trial.tolerance = candidate->tolerance;
    trial.kept = *kept = holds(search, &trial);
    trials->items[trials->count++] = trial;
    ++search->trial_count;
    bb_log_detail("pipeline %s: %s, price %.2e, cost %.3f, %s", search->name, trial.name,
                  trial.price, trial.cost, *kept ? "kept" : "not kept");
    if (!*kept && !isnan(trial.price) &&
        (search->nearest.name[0] == '\0' || trial.price < search->nearest.price)) {
        search->nearest = trial;
    }
    if (*kept && (!search->found || trial.cost < search->best.cost)) {
        search->found = true;
        search->best = trial;
        search->adopt(search->context);
    }
done:
    return status;
}

bb_status bb_promise_take(bb_promise_search *search, const bb_promise_candidate *candidate,
                          double price, double cost, bool *kept)
{
    return take(search, candidate, (bb_promise_trial){.price = price, .cost = cost}, kept);
}

bb_status bb_promise_try(bb_promise_search *search, const bb_promise_candidate *candidate,
                         bool *kept)
{
    bb_status status = BB_OK;
    bb_promise_trial trial = {.cost = NAN};
    *kept = false;
    BB_TRY(evaluate(search, candidate->pipeline, &trial));
    BB_TRY(take(search, candidate, trial, kept));
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
                            bb_store_piece pieces[BB_PROMISE_PIECES])
{
    pieces[0] = (bb_store_piece){&trials->count, sizeof trials->count};
    pieces[1] = (bb_store_piece){trials->items, trials->count * (bb_index)sizeof *trials->items};
}

bb_status bb_promise_trials_take(bb_promise_trials *trials, bb_index pipelines,
                                 bb_store *checkpoint)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_store_take(checkpoint, &count, sizeof count));
    BB_REQUIRE(count >= 0 && count <= trials->limit, BB_IO,
               "checkpoint with %td trials of promises, expected at most %td", count,
               trials->limit);
    BB_TRY(bb_store_take(checkpoint, trials->items, count * (bb_index)sizeof *trials->items));
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

const char bb_promise_title[] =
    "/promise, ao and reconstructor with a policy `promise`, wafer, fringe and ao with a `promise`";

static const bb_output outputs[] = {
    {"trial", "trial", "1", "index of the trial", .note = "of wafer pass after pass",
     .member = offsetof(bb_promise_row, index)},
    {"pipeline", "trial", NULL, "pipeline that asked",
     .member = offsetof(bb_promise_row, pipeline)},
    {"kept", "trial", "1", "1 where it is within the promise",
     .member = offsetof(bb_promise_row, kept)},
};

const bb_output_table bb_promise_outputs = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(outputs)};

static const bb_output storage_rows[] = {
    {"storage", "trial", NULL, "what was tried", .note = "of wafer and ao",
     .member = offsetof(bb_promise_row, candidate)},
    {"tolerance", "trial", "1", "tolerance_of_range, NaN of storages without one",
     .note = "of wafer and ao", .member = offsetof(bb_promise_row, tolerance)},
    {"operator_bytes", "trial", "byte", "operator as stored", .note = "of wafer and ao",
     .member = offsetof(bb_promise_row, cost)},
};

const bb_output_table bb_promise_storages = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(storage_rows)};

bb_status bb_promise_trials_publish(const bb_promise_trials *trials, const char *const *names,
                                    const bb_promise_tables *tables, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *const all_tables[] = {&bb_promise_outputs, tables->candidates,
                                                 tables->price};
    bb_promise_row *rows = NULL; // [trials->count]
    if (trials->count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(trials->count, &rows));
    for (bb_index i = 0; i < trials->count; ++i) {
        const bb_promise_trial *trial = &trials->items[i];
        rows[i] = (bb_promise_row){(double)i,        names[trial->pipeline], trial->name,
                                   trial->tolerance, trial->price,           trial->cost,
                                   trial->wrong,     trial->kept ? 1.0 : 0.0};
    }
    for (size_t t = 0; t < sizeof all_tables / sizeof *all_tables; ++t) {
        BB_TRY(bb_output_table_publish_records(all_tables[t], rows, sizeof *rows, trials->count,
                                               NULL, results));
    }
done:
    BB_RELEASE(&rows);
    return status;
}

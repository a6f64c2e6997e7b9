// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/search.h"

#include "core/log.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct bb_search_trials {
    bb_index limit, count;
    bb_search_trial *items; // [limit]
};

bb_status bb_search_trials_create(bb_index limit, bb_search_trials **out)
{
    bb_status status = BB_OK;
    bb_search_trials *trials = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &trials));
    trials->limit = limit;
    BB_TRY(BB_ZEROED(limit, &trials->items));
    *out = trials;
    trials = NULL;
done:
    bb_search_trials_destroy(&trials);
    return status;
}

void bb_search_trials_destroy(bb_search_trials **trials)
{
    if (*trials != NULL) {
        BB_RELEASE(&(*trials)->items);
        BB_RELEASE(trials);
    }
}

static bool is_within(const bb_search *search, const bb_search_trial *trial)
{
    return trial->loss <= search->max_loss && trial->wrong <= search->max_wrong;
}

static double worse(double first, double second)
{
    return isnan(first) || isnan(second) ? NAN : fmax(first, second);
}

// Evaluates draws until one fails or exceeds a limit, which rejects the candidate.
static bb_status evaluate(const bb_search *search, const void *pipeline, bb_search_trial *out)
{
    bb_status status = BB_OK;
    out->loss = -INFINITY;
    for (bb_index d = 0; d < search->draws && is_within(search, out); ++d) {
        double loss = NAN;
        BB_TRY(search->evaluate(search->context, pipeline, d, &loss));
        out->loss = worse(out->loss, loss);
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

// Lists a trial, and adopts it if it is the cheapest.
static bb_status add(bb_search *search, const bb_search_candidate *candidate,
                     const bb_search_trial *computed, bool *accepted)
{
    bb_status status = BB_OK;
    bb_search_trials *trials = search->trials;
    bb_search_trial *trial = &search->last;
    *accepted = false;
    BB_REQUIRE(trials == NULL || trials->count < trials->limit, BB_INTERNAL,
               "search: more than %td trials", trials->limit);
    *trial = *computed;
    (void)snprintf(trial->name, sizeof trial->name, "%s", candidate->name);
    trial->pipeline = search->pipeline;
    trial->tolerance = candidate->tolerance;
    trial->accepted = *accepted = is_within(search, trial);
    if (trials != NULL) {
        trials->items[trials->count++] = *trial;
    }
    ++search->trial_count;
    bb_log_detail("pipeline %s: %s, loss %.2e, cost %.3f, %s", search->name, trial->name,
                  trial->loss, trial->cost, *accepted ? "accepted" : "rejected");
    if (!*accepted && !isnan(trial->loss) &&
        (search->nearest.name[0] == '\0' || trial->loss < search->nearest.loss)) {
        search->nearest = *trial;
    }
    if (*accepted && (!search->found || trial->cost < search->best.cost)) {
        search->found = true;
        search->best = *trial;
        if (search->adopt != NULL) {
            search->adopt(search->context);
        }
    }
done:
    return status;
}

bb_status bb_search_try(bb_search *search, const bb_search_candidate *candidate, bool *accepted)
{
    bb_status status = BB_OK;
    bb_search_trial trial = {.cost = NAN};
    *accepted = false;
    BB_TRY(evaluate(search, candidate->pipeline, &trial));
    BB_TRY(add(search, candidate, &trial, accepted));
done:
    return status;
}

void bb_search_report(const bb_search *search, const char *unit, const char *rest,
                      bb_outcome *outcome)
{
    const bb_search_trial *trial = search->found ? &search->best : &search->nearest;
    char text[sizeof outcome->detail - 48] = ""; // leaves space for the surrounding text
    if (trial->name[0] != '\0') {
        (void)snprintf(text, sizeof text, "%s, loss %.3g%s%s", trial->name, trial->loss, unit,
                       rest);
    }
    if (search->found) {
        *outcome = (bb_outcome){.kind = BB_OUTCOME_OK};
        (void)snprintf(outcome->detail, sizeof outcome->detail,
                       "max_loss %g%s: met by %s, %td trials", search->max_loss, unit, text,
                       search->trial_count);
        bb_log_info("pipeline %s: %s", search->name, outcome->detail);
    } else {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_CONVERGED,
                       "max_loss %g%s: not met in %td trial%s%s%s", search->max_loss, unit,
                       search->trial_count, search->trial_count == 1 ? "" : "s",
                       text[0] == '\0' ? "" : "; nearest is ", text);
    }
}

// Step in the middle of a bracket; -1: none is left.
static int middle_of(const bb_search_bracket *bracket)
{
    return bracket->accepted - bracket->rejected > 1 ? (bracket->rejected + bracket->accepted) / 2
                                                     : -1;
}

// Step after `last`. The loss is proportional to the square of the rounding step, so one bit
// changes it by a factor of four. The step is the middle if there is no prediction, or after too
// many predictions.
static int next_step(const bb_search *search, const bb_search_ladder *ladder,
                     const bb_search_bracket *bracket, int last, int trials)
{
    const double bits = 0.5 * log2(search->last.loss / search->max_loss);
    const double step = last + ceil(bits * ladder->bit);
    if (ladder->bit == 0.0 || trials == 0 || trials > BB_SEARCH_GUESSES || !isfinite(step)) {
        return middle_of(bracket);
    }
    return (int)fmin(fmax(step, bracket->rejected + 1.0), bracket->accepted - 1.0);
}

bb_status bb_search_run_ladder(bb_search *search, const bb_search_ladder *ladder)
{
    bb_status status = BB_OK;
    bb_search_bracket bracket = {ladder->first - 1, ladder->steps};
    int step = 0;
    for (int trials = 0; middle_of(&bracket) >= 0; ++trials) {
        bb_search_candidate candidate = {0};
        bool accepted = false;
        step = next_step(search, ladder, &bracket, step, trials);
        ladder->make(ladder->context, step, &candidate);
        BB_TRY(bb_search_try(search, &candidate, &accepted));
        *(accepted ? &bracket.accepted : &bracket.rejected) = step;
    }
done:
    return status;
}

bb_status bb_search_run_lanes(const bb_search_lanes *all)
{
    bb_status status = BB_OK;
    for (bool runs = true; runs;) {
        runs = false;
        for (bb_index i = 0; i < all->count; ++i) {
            all->lanes[i].step = middle_of(&all->lanes[i].bracket);
            runs = runs || all->lanes[i].step >= 0;
        }
        BB_TRY(runs ? all->compute(all->context) : BB_OK);
        for (bb_index i = 0; i < all->count; ++i) {
            bb_search_lane *lane = &all->lanes[i];
            bb_search_candidate candidate = {0};
            bb_search_trial trial = {.loss = NAN, .cost = NAN};
            bool accepted = false;
            if (lane->step >= 0) {
                all->read(all->context, i, &candidate, &trial.loss, &trial.cost);
                BB_TRY(add(lane->search, &candidate, &trial, &accepted));
                *(accepted ? &lane->bracket.accepted : &lane->bracket.rejected) = lane->step;
            }
        }
    }
done:
    return status;
}

void bb_slot_table_describe(const bb_slot_table *table, const int *state, char out[BB_SEARCH_NAME])
{
    size_t length = 0;
    out[0] = '\0';
    for (int slot = 0; slot < table->slot_count && length < BB_SEARCH_NAME; ++slot) {
        length += (size_t)snprintf(out + length, BB_SEARCH_NAME - length, "%s%s %s",
                                   slot == 0 ? "" : ", ", table->slots[slot],
                                   table->numbers[state[slot]]);
    }
}

// Change of one slot; slot -1: none.
typedef struct change {
    int slot, numbers;
} change;

// Change with the largest saving that has not been rejected.
static change find_change(const bb_search_slots *slots,
                          bool is_rejected[BB_SEARCH_SLOTS][BB_SEARCH_NUMBERS])
{
    const bb_slot_table *table = slots->table;
    int state[BB_SEARCH_SLOTS];
    change out = {-1, 0};
    memcpy(state, slots->state, sizeof state);
    double least = table->bytes(slots->study, state);
    for (int slot = 0; slot < table->slot_count; ++slot) {
        for (int numbers = 0; numbers < table->number_count; ++numbers) {
            state[slot] = numbers;
            const double bytes = table->bytes(slots->study, state);
            if (!is_rejected[slot][numbers] && bytes < least) {
                out = (change){slot, numbers};
                least = bytes;
            }
        }
        state[slot] = slots->state[slot];
    }
    return out;
}

static bb_status try_state(bb_search *search, const bb_search_slots *slots, int slot,
                           bool *accepted)
{
    bb_status status = BB_OK;
    char name[BB_SEARCH_NAME];
    const bb_search_candidate candidate = {name, NAN, slots->state};
    bb_slot_table_describe(slots->table, slots->state, name);
    BB_TRY(bb_search_try(search, &candidate, accepted));
    if (slots->tried != NULL) {
        slots->tried(search->context, slot, slots->state, *accepted);
    }
done:
    return status;
}

bb_status bb_search_run_slots(bb_search *search, bb_search_slots *slots)
{
    bb_status status = BB_OK;
    const bb_slot_table *table = slots->table;
    bool is_rejected[BB_SEARCH_SLOTS][BB_SEARCH_NUMBERS] = {{false}};
    bool accepted = false;
    BB_REQUIRE(table->slot_count > 0 && table->slot_count <= BB_SEARCH_SLOTS &&
                   table->number_count > 0 && table->number_count <= BB_SEARCH_NUMBERS,
               BB_INVALID, "%d slots with %d formats, expected at most %d with %d",
               table->slot_count, table->number_count, BB_SEARCH_SLOTS, BB_SEARCH_NUMBERS);
    memset(slots->state, 0, sizeof slots->state);
    slots->change_count = 0;
    BB_TRY(try_state(search, slots, -1, &accepted));
    while (search->found) {
        const change next = find_change(slots, is_rejected);
        if (next.slot < 0) {
            break;
        }
        const int before = slots->state[next.slot];
        slots->state[next.slot] = next.numbers;
        BB_TRY(try_state(search, slots, next.slot, &accepted));
        if (accepted) {
            slots->changes[slots->change_count].slot = next.slot;
            slots->changes[slots->change_count++].before = before;
        } else {
            slots->state[next.slot] = before;
            is_rejected[next.slot][next.numbers] = true;
        }
    }
done:
    return status;
}

int bb_search_slots_most(const bb_slot_table *table)
{
    return 1 + table->slot_count * (table->number_count - 1);
}

bool bb_search_slots_retreat(bb_search_slots *slots)
{
    if (slots->change_count > 0) {
        --slots->change_count;
        slots->state[slots->changes[slots->change_count].slot] =
            slots->changes[slots->change_count].before;
        return true;
    }
    return false;
}

void bb_search_trials_list(const bb_search_trials *trials, bb_store_piece pieces[BB_SEARCH_PIECES])
{
    pieces[0] = (bb_store_piece){&trials->count, sizeof trials->count};
    pieces[1] = (bb_store_piece){trials->items, trials->count * (bb_index)sizeof *trials->items};
}

bb_status bb_search_trials_restore(bb_search_trials *trials, bb_index pipelines,
                                   bb_store *checkpoint)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_store_read(checkpoint, &count, sizeof count));
    BB_REQUIRE(count >= 0 && count <= trials->limit, BB_IO,
               "checkpoint with %td trials of searches, expected at most %td", count,
               trials->limit);
    BB_TRY(bb_store_read(checkpoint, trials->items, count * (bb_index)sizeof *trials->items));
    for (bb_index i = 0; i < count; ++i) {
        const bb_search_trial *trial = &trials->items[i];
        unsigned char accepted =
            0; // read as a byte, because values other than 0 and 1 are not valid bools
        memcpy(&accepted, &trial->accepted, 1);
        BB_REQUIRE(trial->pipeline >= 0 && trial->pipeline < pipelines && accepted <= 1 &&
                       memchr(trial->name, '\0', sizeof trial->name) != NULL,
                   BB_IO, "checkpoint with a trial of pipeline %td, expected below %td",
                   trial->pipeline, pipelines);
    }
    trials->count = count;
done:
    return status;
}

const char bb_search_title[] = "/search, ao, fringe, reconstructor and wafer with a `max_loss`";

static const bb_output outputs[] = {
    {"trial", "trial", "1", "index of the trial", .note = "for wafer pass by pass",
     .member = offsetof(bb_search_row, index)},
    {"pipeline", "trial", NULL, "pipeline with the `max_loss`",
     .member = offsetof(bb_search_row, pipeline)},
    {"accepted", "trial", "1", "1 if no draw exceeds `max_loss`",
     .member = offsetof(bb_search_row, accepted)},
};

const bb_output_table bb_search_outputs = BB_SEARCH_TABLE(outputs);

bb_status bb_search_trials_publish(const bb_search_trials *trials, const char *const *names,
                                   size_t stride, const bb_output_table *candidates,
                                   const bb_output_table *losses, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *const tables[] = {&bb_search_outputs, candidates, losses};
    bb_search_row *rows = NULL; // [trials->count]
    if (trials == NULL || trials->count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(trials->count, &rows));
    for (bb_index i = 0; i < trials->count; ++i) {
        const bb_search_trial *trial = &trials->items[i];
        const char *name = (const char *)names + (size_t)trial->pipeline * stride;
        rows[i] = (bb_search_row){(double)i,    *(const char *const *)(const void *)name,
                                  trial->name,  trial->tolerance,
                                  trial->loss,  trial->cost,
                                  trial->wrong, trial->accepted ? 1.0 : 0.0};
    }
    for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t) {
        BB_TRY(bb_output_table_publish_records(tables[t], rows, sizeof *rows, trials->count, NULL,
                                               results));
    }
done:
    BB_RELEASE(&rows);
    return status;
}

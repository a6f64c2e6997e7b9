// SPDX-License-Identifier: Apache-2.0
//
// What a search came to, in words and in the collected file: bb_sweep_search_answer,
// bb_sweep_search_publish.
#include "core/memory.h"
#include "sim/sweep/search/search_steps.h"
#include "sim/sweep/search/sweep_search.h"

#include <math.h>

enum { LISTED_GROUPS = 1000 };

// A text of the searched key at a step.
static const char *text_at(const bb_sweep *sweep, bb_index index)
{
    return sweep->axes.axes[sweep->axes.count - 1].keys[0].texts[index];
}

// Where a step fails, and by how much.
static bb_status describe_step(const bb_collection *collection, bb_index index,
                               const bb_search_step *state, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    if (isnan(state->price)) {
        BB_TRY(bb_text_add(out, "%s fails at ", text_at(sweep, index)));
    } else {
        BB_TRY(bb_text_add(out, "%s has %.4g at ", text_at(sweep, index), state->price));
    }
    BB_TRY(bb_sweep_describe(sweep, state->worst_point, out));
done:
    return status;
}

// Whether the limit is kept, lost and kept again along the steps that were run.
static bool is_monotone(const bb_collection *collection, bb_search_group conditions)
{
    bb_index changes = 0;
    bool keeps = false;
    bool any = false;
    for (bb_index s = 0; s < bb_search_step_count(collection->plan->sweep); ++s) {
        const bb_search_step state = bb_search_step_at(collection, conditions, s);
        if (state.run) {
            changes += any && state.keeps != keeps;
            keeps = state.keeps;
            any = true;
        }
    }
    return changes <= 1;
}

// One line, no line end.
static bb_status answer_group(const bb_collection *collection, bb_search_group conditions,
                              bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const char *key = sweep->axes.axes[sweep->axes.count - 1].keys[0].path;
    const double limit = sweep->search.subject_to.price.at_most;
    const bb_index steps = bb_search_step_count(sweep);
    bb_index run = 0;
    bb_search_step found;
    const bb_index best = bb_search_steps_best(collection, conditions, &found, &run);
    if (bb_search_group_count(sweep) > 1) {
        BB_TRY(bb_sweep_describe_conditions(sweep, conditions.first * steps, out));
        BB_TRY(bb_text_add(out, ": "));
    }
    if (run == 0) {
        BB_TRY(bb_text_add(out, "not run"));
        goto done;
    }
    if (best < 0) {
        BB_TRY(bb_text_add(out, "%s: none of %td steps keeps %s of at most %g", key, run,
                           sweep->experiment->price_name, limit));
        goto done;
    }
    BB_TRY(bb_text_add(out, "%s = %s: %s %.4g, %s at worst %.4g, within %g (", key,
                       text_at(sweep, best), sweep->search.minimise, found.value,
                       sweep->experiment->price_name, found.price, limit));
    BB_TRY(bb_sweep_describe(sweep, found.worst_point, out));
    BB_TRY(bb_text_add(out, "); %td of %td steps run", run, steps));
    for (int side = -1; side <= 1; side += 2) {
        const bb_index next = best + side;
        const bb_search_step state = next >= 0 && next < steps
                                         ? bb_search_step_at(collection, conditions, next)
                                         : (bb_search_step){0};
        if (state.run && !state.keeps) {
            BB_TRY(bb_text_add(out, "; "));
            BB_TRY(describe_step(collection, next, &state, out));
        }
    }
    if (!is_monotone(collection, conditions)) {
        BB_TRY(bb_text_add(out, "; the price is not monotone along the axis: a better step may lie "
                                "where none was run"));
    }
done:
    return status;
}

bb_status bb_sweep_search_answer(const bb_collection *collection, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const bb_index groups = bb_search_group_count(sweep);
    for (bb_index g = 0; g < groups && g < LISTED_GROUPS; ++g) {
        BB_TRY(answer_group(collection, bb_search_group_at(sweep, g), out));
        BB_TRY(bb_text_add(out, "\n"));
    }
    if (groups > LISTED_GROUPS) {
        BB_TRY(bb_text_add(out, "... and %td more conditions in the result file\n",
                           groups - LISTED_GROUPS));
    }
    bb_index failed = 0;
    for (int c = BB_POINT_DONE + 1; c < BB_POINT_CLASSES; ++c) {
        failed += collection->progress->counts[c];
    }
    if (failed > 0) {
        BB_TRY(bb_text_add(out,
                           "%td points failed as a whole and count as not keeping the price: "
                           "'bitbudget sweep retry' opens them again\n",
                           failed));
    }
done:
    return status;
}

// An answer as /search has it.
typedef struct search_row {
    double index, first_point, steps_run, value, price, worst_point;
    const char *setting;
    const char *answer;
} search_row;

static const bb_output outputs[] = {
    {"group", "group", "1", "index of the conditions that have one answer",
     .note = "one bb_search_group for all, or each condition",
     .member = offsetof(search_row, index)},
    {"first_point", "group", "1", "number of the first point of the group", .note = NULL,
     .member = offsetof(search_row, first_point)},
    {"found", "group", NULL, "value of the searched key",
     .note = "empty where no step keeps the price", .member = offsetof(search_row, setting)},
    {"minimised", "group", "1", "largest value of what is minimised, over the group", .note = NULL,
     .member = offsetof(search_row, value)},
    {"price_most", "group", "<the price's>", "largest price over the group", .note = NULL,
     .member = offsetof(search_row, price)},
    {"price_point", "group", "1", "number of the point where it is", .note = NULL,
     .member = offsetof(search_row, worst_point)},
    {"answer", "group", NULL, "what the search found, in words", .note = NULL,
     .member = offsetof(search_row, answer)},
    {"steps_run", "group", "1", "steps of the searched axis that were run", .note = NULL,
     .member = offsetof(search_row, steps_run)},
};

const bb_output_table bb_sweep_search_outputs = {.title =
                                                     "/search, collections of sweeps that search",
                                                 .group = "search",
                                                 .axes = "group",
                                                 BB_OUTPUT_ROWS(outputs)};

bb_status bb_sweep_search_publish(const bb_collection *collection, const char *price_unit,
                                  bb_results *results)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const bb_index groups = bb_search_group_count(sweep);
    search_row *rows = NULL;
    bb_text *answers = NULL;
    const bb_output_fill fill = {.unit = price_unit};
    BB_TRY(BB_ALLOCATE(groups, &rows));
    BB_TRY(BB_ZEROED(groups, &answers));
    for (bb_index g = 0; g < groups; ++g) {
        const bb_search_group conditions = bb_search_group_at(sweep, g);
        bb_index run = 0;
        bb_search_step found;
        const bb_index best = bb_search_steps_best(collection, conditions, &found, &run);
        BB_TRY(answer_group(collection, conditions, &answers[g]));
        rows[g] =
            (search_row){.index = (double)g,
                         .first_point = (double)(conditions.first * bb_search_step_count(sweep)),
                         .steps_run = (double)run,
                         .value = best < 0 ? NAN : found.value,
                         .price = found.price,
                         .worst_point = best < 0 ? NAN : (double)found.worst_point,
                         .setting = best < 0 ? "" : text_at(sweep, best),
                         .answer = bb_text_string(&answers[g])};
    }
    BB_TRY(bb_output_table_publish_records(&bb_sweep_search_outputs, rows, sizeof *rows, groups,
                                           &fill, results));
done:
    for (bb_index g = 0; answers != NULL && g < groups; ++g) {
        bb_text_release(&answers[g]);
    }
    BB_RELEASE(&answers);
    BB_RELEASE(&rows);
    return status;
}

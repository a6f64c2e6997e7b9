// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/search/search_steps.h"

#include "sim/sweep/choice_statistics.h"

#include <math.h>
#include <string.h>

bb_index bb_search_step_count(const bb_sweep *sweep)
{
    return sweep->axes.axes[sweep->axes.count - 1].count;
}

bb_index bb_search_group_count(const bb_sweep *sweep)
{
    return sweep->search.across == (int)BB_SWEEP_ACROSS_EACH
               ? sweep->point_count / bb_search_step_count(sweep)
               : 1;
}

bb_search_group bb_search_group_at(const bb_sweep *sweep, bb_index index)
{
    const bb_index conditions = sweep->point_count / bb_search_step_count(sweep);
    return sweep->search.across == (int)BB_SWEEP_ACROSS_EACH ? (bb_search_group){index, 1}
                                                             : (bb_search_group){0, conditions};
}

// Whether a pipeline's price counts: those that the searched key belongs to, else all.
static bool is_searched(const bb_collection *collection, bb_index pipeline)
{
    const bb_sweep *sweep = collection->plan->sweep;
    const bb_sweep_axis *axis = &sweep->axes.axes[sweep->axes.count - 1];
    return strncmp(axis->keys[0].path, "pipelines.", strlen("pipelines.")) != 0 ||
           bb_choice_owns(collection, axis->keys[0].path, pipeline);
}

static double minimised(const bb_collection *collection, bb_index slot, bb_index pipeline)
{
    const char *name = collection->plan->sweep->search.minimise;
    return strcmp(name, "bits_per_value") == 0
               ? 32.0 / bb_collection_number(collection, "compression_ratio", slot, pipeline)
               : bb_collection_number(collection, name, slot, pipeline);
}

// Takes one point into a step. Its price is that of the dearest pipeline that counts.
static void take_point(const bb_collection *collection, bb_index point, bb_search_step *out)
{
    const bb_index slot = collection->slots[point];
    const bool done = collection->progress->points[point].class == BB_POINT_DONE;
    double price = done ? -INFINITY : NAN;
    for (bb_index p = 0; done && p < collection->pipeline_count; ++p) {
        if (is_searched(collection, p)) {
            const double own = bb_choice_price(collection, slot, p);
            price = isnan(own) || isnan(price) ? NAN : fmax(price, own);
            const double value = minimised(collection, slot, p);
            out->value = isnan(value) || isnan(out->value) ? NAN : fmax(out->value, value);
        }
    }
    if (isnan(price) || (!isnan(out->price) && price > out->price)) {
        out->price = price;
        out->worst_point = point;
    }
}

bb_search_step bb_search_step_at(const bb_collection *collection, bb_search_group conditions,
                                 bb_index index)
{
    const bb_sweep *sweep = collection->plan->sweep;
    bb_search_step out = {.run = true, .price = -INFINITY, .value = -INFINITY, .worst_point = -1};
    bb_index taken = 0;
    for (bb_index c = conditions.first; c < conditions.first + conditions.count; ++c) {
        const bb_index point = c * bb_search_step_count(sweep) + index;
        if (bb_sweep_is_excluded(sweep, point)) {
            continue;
        }
        if (collection->slots[point] < 0) {
            return (bb_search_step){.worst_point = -1, .price = NAN, .value = NAN};
        }
        take_point(collection, point, &out);
        ++taken;
    }
    if (taken == 0) { // all its points are excluded
        return (bb_search_step){.worst_point = -1, .price = NAN, .value = NAN};
    }
    out.keeps = out.price <= sweep->search.subject_to.price.at_most;
    return out;
}

// The best step of a bb_search_group that was run and keeps the limit, -1: none; `*run` of them
// were.
bb_index bb_search_steps_best(const bb_collection *collection, bb_search_group conditions,
                              bb_search_step *found, bb_index *run)
{
    bb_index best = -1;
    *run = 0;
    *found = (bb_search_step){.value = INFINITY, .price = NAN, .worst_point = -1};
    for (bb_index s = 0; s < bb_search_step_count(collection->plan->sweep); ++s) {
        const bb_search_step state = bb_search_step_at(collection, conditions, s);
        *run += state.run;
        if (state.keeps && state.value < found->value) {
            best = s;
            *found = state;
        }
    }
    return best;
}

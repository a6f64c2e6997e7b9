// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_search.h"

#include "core/disk_file.h"
#include "core/memory.h"
#include "sim/output/file.h"
#include "sim/sweep/choice_statistics.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAXIMUM_GENERATIONS = 1000, LISTED_GROUPS = 20 };

// What is known of a step at the conditions of a group.
typedef struct step {
    bool run;             // at all conditions
    bool keeps;           // the limit, at all of them
    double price;         // the largest, NaN: one failed
    double value;         // the largest of what is minimised
    bb_index worst_point; // where the price is that, or where it failed; -1: not run
} step;

// Conditions that have one answer: `count` of them from `first`.
typedef struct group {
    bb_index first, count;
} group;

static bb_index step_count(const bb_sweep *sweep)
{
    return sweep->axes.axes[sweep->axes.count - 1].count;
}

static bb_index group_count(const bb_sweep *sweep)
{
    return sweep->search.across == (int)BB_SWEEP_ACROSS_EACH
               ? sweep->point_count / step_count(sweep)
               : 1;
}

static group group_at(const bb_sweep *sweep, bb_index index)
{
    const bb_index conditions = sweep->point_count / step_count(sweep);
    return sweep->search.across == (int)BB_SWEEP_ACROSS_EACH ? (group){index, 1}
                                                             : (group){0, conditions};
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
static void take_point(const bb_collection *collection, bb_index point, step *out)
{
    const bb_index slot = collection->slots[point];
    const bool done = collection->progress->points[point].class == BB_POINT_DONE;
    double price = done ? -INFINITY : NAN;
    for (bb_index p = 0; done && p < collection->pipeline_count; ++p) {
        if (is_searched(collection, p)) {
            const double own = bb_choice_price(collection, slot, p);
            price = isnan(own) || isnan(price) ? NAN : fmax(price, own);
            out->value = fmax(out->value, minimised(collection, slot, p));
        }
    }
    if (isnan(price) || (!isnan(out->price) && price > out->price)) {
        out->price = price;
        out->worst_point = point;
    }
}

static step look_at(const bb_collection *collection, group conditions, bb_index index)
{
    const bb_sweep *sweep = collection->plan->sweep;
    step out = {.run = true, .price = -INFINITY, .value = -INFINITY, .worst_point = -1};
    for (bb_index c = conditions.first; c < conditions.first + conditions.count; ++c) {
        const bb_index point = c * step_count(sweep) + index;
        if (bb_sweep_is_excluded(sweep, point)) {
            continue;
        }
        if (collection->slots[point] < 0) {
            return (step){.worst_point = -1, .price = NAN, .value = NAN};
        }
        take_point(collection, point, &out);
    }
    out.keeps = out.price <= sweep->search.subject_to.price.at_most;
    return out;
}

// The gap of a group: between neighbouring steps that were run, one of which keeps the limit and
// one does not. False where there is none left.
static bool find_gap(const bb_collection *collection, group conditions, bb_index *low,
                     bb_index *high)
{
    const bb_index steps = step_count(collection->plan->sweep);
    bb_index before = -1;
    bool keeps = false;
    for (bb_index s = 0; s < steps; ++s) {
        const step state = look_at(collection, conditions, s);
        if (!state.run) {
            continue;
        }
        if (before >= 0 && state.keeps != keeps && s - before > 1) {
            *low = before;
            *high = s;
            return true;
        }
        before = s;
        keeps = state.keeps;
    }
    return false;
}

static void want_step(const bb_sweep *sweep, group conditions, bb_index index, bool *wanted)
{
    for (bb_index c = conditions.first; c < conditions.first + conditions.count; ++c) {
        wanted[c * step_count(sweep) + index] = true;
    }
}

// Parts that a gap is cut into, so that every shard has points.
static bb_index sections(const bb_sweep_plan *plan)
{
    const bb_index conditions = plan->sweep->point_count / step_count(plan->sweep);
    return (plan->shards + conditions - 1) / conditions;
}

static bool want_next(const bb_collection *collection, bool *wanted)
{
    const bb_sweep_plan *plan = collection->plan;
    bool any = false;
    for (bb_index g = 0; g < group_count(plan->sweep); ++g) {
        const group conditions = group_at(plan->sweep, g);
        bb_index low = 0;
        bb_index high = 0;
        if (!find_gap(collection, conditions, &low, &high)) {
            continue;
        }
        any = true;
        const bb_index between = high - low - 1;
        const bb_index cuts = sections(plan) < between ? sections(plan) : between;
        for (bb_index i = 1; i <= cuts; ++i) {
            want_step(plan->sweep, conditions, low + i * (high - low) / (cuts + 1), wanted);
        }
    }
    return any;
}

static bb_status generation_path(const bb_sweep_plan *plan, bb_index generation, char **out)
{
    return bb_memory_printf(out, "%s/generation.%td.json", plan->folder, generation);
}

static bb_status read_generation(const bb_sweep_plan *plan, const char *path, bool *wanted)
{
    bb_status status = BB_OK;
    FILE *file = NULL;
    json_t *object = NULL;
    BB_TRY(bb_disk_file_open(path, true, &file));
    object = json_loadf(file, 0, NULL);
    const char *id = json_string_value(json_object_get(object, "plan"));
    const json_t *points = json_object_get(object, "points");
    BB_REQUIRE(id != NULL && strcmp(id, plan->id) == 0 && json_is_array(points), BB_IO,
               "'%s' is no generation of this plan", path);
    for (size_t i = 0; i < json_array_size(points); ++i) {
        const bb_index point = (bb_index)json_integer_value(json_array_get(points, i));
        BB_REQUIRE(point >= 0 && point < plan->sweep->point_count, BB_IO, "'%s': point %td", path,
                   point);
        wanted[point] = true;
    }
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    json_decref(object);
    return status;
}

bb_status bb_sweep_search_wanted(const bb_sweep_plan *plan, bool *wanted, bb_index *generation)
{
    bb_status status = BB_OK;
    char *path = NULL;
    const bb_sweep *sweep = plan->sweep;
    memset(wanted, 0, (size_t)sweep->point_count * sizeof *wanted);
    *generation = 0;
    for (bb_index g = 1; g < MAXIMUM_GENERATIONS; ++g) {
        BB_RELEASE(&path);
        BB_TRY(generation_path(plan, g, &path));
        if (access(path, F_OK) != 0) {
            break;
        }
        *generation = g;
    }
    if (*generation == 0) {
        for (bb_index g = 0; g < group_count(sweep); ++g) {
            want_step(sweep, group_at(sweep, g), 0, wanted);
            want_step(sweep, group_at(sweep, g), step_count(sweep) - 1, wanted);
        }
        goto done;
    }
    BB_RELEASE(&path);
    BB_TRY(generation_path(plan, *generation, &path));
    BB_TRY(read_generation(plan, path, wanted));
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status write_generation(const bb_sweep_plan *plan, bb_index generation,
                                  const bool *wanted)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    char *path = NULL;
    const char *between = "";
    BB_TRY(bb_text_add(&text, "{\"plan\": \"%s\", \"generation\": %td, \"points\": [", plan->id,
                       generation));
    for (bb_index p = 0; p < plan->sweep->point_count; ++p) {
        if (wanted[p]) {
            BB_TRY(bb_text_add(&text, "%s%td", between, p));
            between = ", ";
        }
    }
    BB_TRY(bb_text_add(&text, "]}\n"));
    BB_TRY(generation_path(plan, generation, &path));
    // It follows from the lines alone: whoever writes it writes the same.
    BB_TRY(bb_file_write(path, true, bb_text_string(&text), text.length));
done:
    BB_RELEASE(&path);
    bb_text_release(&text);
    return status;
}

static bb_index count_open(const bb_sweep_plan *plan, const bb_sweep_progress *progress,
                           const bool *wanted)
{
    bb_index open = 0;
    for (bb_index p = 0; p < plan->sweep->point_count; ++p) {
        open += wanted[p] && progress->points[p].class == BB_POINT_OPEN &&
                !bb_sweep_is_excluded(plan->sweep, p);
    }
    return open;
}

bb_status bb_sweep_search_next(const bb_sweep_plan *plan, bb_index *open, bool *advanced,
                               bool *finished)
{
    bb_status status = BB_OK;
    bb_sweep_progress progress = {0};
    bb_collection *collection = NULL;
    bool *wanted = NULL;
    bb_index generation = 0;
    *advanced = *finished = false;
    BB_TRY(BB_ZEROED(plan->sweep->point_count, &wanted));
    BB_TRY(bb_sweep_search_wanted(plan, wanted, &generation));
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    *open = count_open(plan, &progress, wanted);
    if (*open > 0) {
        goto done;
    }
    BB_TRY(bb_collection_read(plan, &progress, &collection));
    memset(wanted, 0, (size_t)plan->sweep->point_count * sizeof *wanted);
    *finished = !want_next(collection, wanted);
    if (!*finished) {
        BB_TRY(write_generation(plan, generation + 1, wanted));
        *advanced = true;
        *open = count_open(plan, &progress, wanted);
    }
done:
    bb_collection_destroy(&collection);
    bb_sweep_progress_release(&progress);
    BB_RELEASE(&wanted);
    return status;
}

// A text of the searched key at a step.
static const char *text_at(const bb_sweep *sweep, bb_index index)
{
    return sweep->axes.axes[sweep->axes.count - 1].keys[0].texts[index];
}

// Where a step fails, and by how much.
static bb_status describe_step(const bb_collection *collection, bb_index index, const step *state,
                               bb_text *out)
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
static bool is_monotone(const bb_collection *collection, group conditions)
{
    bb_index changes = 0;
    bool keeps = false;
    bool any = false;
    for (bb_index s = 0; s < step_count(collection->plan->sweep); ++s) {
        const step state = look_at(collection, conditions, s);
        if (state.run) {
            changes += any && state.keeps != keeps;
            keeps = state.keeps;
            any = true;
        }
    }
    return changes <= 1;
}

static bb_status answer_group(const bb_collection *collection, group conditions, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const char *key = sweep->axes.axes[sweep->axes.count - 1].keys[0].path;
    const double limit = sweep->search.subject_to.price.at_most;
    const bb_index steps = step_count(sweep);
    bb_index best = -1;
    bb_index run = 0;
    step found = {.value = INFINITY};
    for (bb_index s = 0; s < steps; ++s) {
        const step state = look_at(collection, conditions, s);
        run += state.run;
        if (state.keeps && state.value < found.value) {
            best = s;
            found = state;
        }
    }
    if (best < 0) {
        BB_TRY(bb_text_add(out, "%s: none of %td steps keeps %s of at most %g\n", key, run,
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
        const step state =
            next >= 0 && next < steps ? look_at(collection, conditions, next) : (step){0};
        if (state.run && !state.keeps) {
            BB_TRY(bb_text_add(out, "; "));
            BB_TRY(describe_step(collection, next, &state, out));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
    if (!is_monotone(collection, conditions)) {
        BB_TRY(bb_text_add(out, "  the price is not monotone along the axis: a better step may lie "
                                "where none was run\n"));
    }
done:
    return status;
}

bb_status bb_sweep_search_answer(const bb_collection *collection, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const bb_index groups = group_count(sweep);
    for (bb_index g = 0; g < groups && g < LISTED_GROUPS; ++g) {
        BB_TRY(answer_group(collection, group_at(sweep, g), out));
    }
    if (groups > LISTED_GROUPS) {
        BB_TRY(bb_text_add(out, "... and %td more conditions in the result file\n",
                           groups - LISTED_GROUPS));
    }
done:
    return status;
}

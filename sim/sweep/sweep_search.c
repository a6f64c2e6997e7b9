// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_search.h"

#include "core/disk_file.h"
#include "core/file.h"
#include "core/memory.h"
#include "sim/sweep/choice_statistics.h"
#include "sim/sweep/collection.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Step of the search axis at the conditions of a group.
typedef struct search_step {
    bool run;             // the step was run at all conditions
    bool within_limit;    // the step is within the limit at all conditions
    double loss;          // largest loss, NaN: one condition failed
    double value;         // largest value of the minimised quantity
    bb_index worst_point; // point with the largest loss, or a failed one; -1: not run
} search_step;

// Conditions with a common answer: `count` of them from `first`.
typedef struct search_group {
    bb_index first, count;
} search_group;

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

static search_group group_at(const bb_sweep *sweep, bb_index index)
{
    const bb_index conditions = sweep->point_count / step_count(sweep);
    return sweep->search.across == (int)BB_SWEEP_ACROSS_EACH ? (search_group){index, 1}
                                                             : (search_group){0, conditions};
}

// True if a pipeline's loss is limited: those with the searched key, else all.
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

// Adds a point to a step, with the largest loss of the pipelines that count.
static void add_point(const bb_collection *collection, bb_index point, search_step *out)
{
    const bb_index slot = collection->slots[point];
    const bool done = collection->progress->points[point].class == BB_POINT_DONE;
    double loss = done ? -INFINITY : NAN;
    for (bb_index p = 0; done && p < collection->pipeline_count; ++p) {
        if (is_searched(collection, p)) {
            const double own = bb_choice_loss(collection, slot, p);
            loss = isnan(own) || isnan(loss) ? NAN : fmax(loss, own);
            const double value = minimised(collection, slot, p);
            out->value = isnan(value) || isnan(out->value) ? NAN : fmax(out->value, value);
        }
    }
    if (isnan(loss) || (!isnan(out->loss) && loss > out->loss)) {
        out->loss = loss;
        out->worst_point = point;
    }
}

static search_step step_at(const bb_collection *collection, search_group conditions, bb_index index)
{
    const bb_sweep *sweep = collection->plan->sweep;
    search_step out = {.run = true, .loss = -INFINITY, .value = -INFINITY, .worst_point = -1};
    bb_index counted = 0;
    for (bb_index c = conditions.first; c < conditions.first + conditions.count; ++c) {
        const bb_index point = c * step_count(sweep) + index;
        if (bb_sweep_is_excluded(sweep, point)) {
            continue;
        }
        if (collection->slots[point] < 0) {
            return (search_step){.worst_point = -1, .loss = NAN, .value = NAN};
        }
        add_point(collection, point, &out);
        ++counted;
    }
    if (counted == 0) { // all its points are excluded
        return (search_step){.worst_point = -1, .loss = NAN, .value = NAN};
    }
    out.within_limit = out.loss <= sweep->search.max_loss;
    return out;
}

// Answer from the steps of a group that were run.
typedef struct search_answer {
    bb_index best, run; // best step within the limit, -1: none; number of steps run
    search_step found;  // step `best`
    bool is_monotone;   // the limit is crossed at most once along the axis
} search_answer;

static search_answer find_answer(const bb_collection *collection, search_group conditions)
{
    search_answer out = {.best = -1, .found = {.value = INFINITY, .loss = NAN, .worst_point = -1}};
    bb_index changes = 0;
    bool within_limit = false;
    for (bb_index s = 0; s < step_count(collection->plan->sweep); ++s) {
        const search_step state = step_at(collection, conditions, s);
        if (!state.run) {
            continue;
        }
        changes += out.run > 0 && state.within_limit != within_limit;
        within_limit = state.within_limit;
        ++out.run;
        if (state.within_limit && state.value < out.found.value) {
            out.best = s;
            out.found = state;
        }
    }
    out.is_monotone = changes <= 1;
    return out;
}

enum { MAXIMUM_GENERATIONS = 1000 };

// Finds the gap of a group: between neighbouring steps that were run, one within the limit and one
// beyond it. False if there is none.
static bool find_gap(const bb_collection *collection, search_group conditions, bb_index *low,
                     bb_index *high)
{
    const bb_index steps = step_count(collection->plan->sweep);
    bb_index before = -1;
    bool within_limit = false;
    for (bb_index s = 0; s < steps; ++s) {
        const search_step state = step_at(collection, conditions, s);
        if (!state.run) {
            continue;
        }
        if (before >= 0 && state.within_limit != within_limit && s - before > 1) {
            *low = before;
            *high = s;
            return true;
        }
        before = s;
        within_limit = state.within_limit;
    }
    return false;
}

static void want_step(const bb_sweep *sweep, search_group conditions, bb_index index, bool *wanted)
{
    for (bb_index c = conditions.first; c < conditions.first + conditions.count; ++c) {
        wanted[c * step_count(sweep) + index] = true;
    }
}

// Number of parts of a divided gap, so that every shard has points.
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
        const search_group conditions = group_at(plan->sweep, g);
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
               "'%s' is not a generation of this plan", path);
    for (size_t i = 0; i < json_array_size(points); ++i) {
        const bb_index point = (bb_index)json_integer_value(json_array_get(points, i));
        BB_REQUIRE(point >= 0 && point < plan->sweep->point_count, BB_IO, "'%s': invalid point %td",
                   path, point);
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
    for (bb_index g = 0; g < group_count(sweep); ++g) {
        want_step(sweep, group_at(sweep, g), 0, wanted);
        want_step(sweep, group_at(sweep, g), step_count(sweep) - 1, wanted);
    }
    // All generations: a failed point of an earlier one may have been reopened.
    for (bb_index g = 1; g < MAXIMUM_GENERATIONS; ++g) {
        BB_RELEASE(&path);
        BB_TRY(generation_path(plan, g, &path));
        if (access(path, F_OK) != 0) {
            break;
        }
        *generation = g;
        BB_TRY(read_generation(plan, path, wanted));
    }
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
    // The content follows from the records alone: all processes write the same.
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

// Finds the points of the generations so far, [combinations], and the number of those pending.
static bb_status find_open(const bb_sweep_plan *plan, const bb_sweep_progress *progress,
                           bool **wanted, bb_index *generation, bb_index *open)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(plan->sweep->point_count, wanted));
    BB_TRY(bb_sweep_search_wanted(plan, *wanted, generation));
    *open = count_open(plan, progress, *wanted);
done:
    return status;
}

bb_status bb_sweep_search_open(const bb_sweep_plan *plan, bb_index *open)
{
    bb_status status = BB_OK;
    bb_sweep_progress progress = {0};
    bool *wanted = NULL;
    bb_index generation = 0;
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    BB_TRY(find_open(plan, &progress, &wanted, &generation, open));
done:
    bb_sweep_progress_release(&progress);
    BB_RELEASE(&wanted);
    return status;
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
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    BB_TRY(find_open(plan, &progress, &wanted, &generation, open));
    if (*open > 0) {
        goto done;
    }
    BB_TRY(bb_collection_read(plan, &progress, &collection));
    const char *name = plan->sweep->search.minimise;
    const bb_collected *minimised = bb_collection_find(collection, name);
    BB_REQUIRE(strcmp(name, "bits_per_value") == 0 || (minimised != NULL && !minimised->is_text),
               BB_INVALID, "sweep.search.minimise: the results have no numeric dataset '%s'", name);
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

bb_status bb_sweep_search_is_finished(const bb_collection *collection, bool *out)
{
    bb_status status = BB_OK;
    bool *wanted = NULL;
    bb_index generation = 0;
    bb_index open = 0;
    *out = false;
    BB_TRY(find_open(collection->plan, collection->progress, &wanted, &generation, &open));
    *out = open == 0 && !want_next(collection, wanted);
done:
    BB_RELEASE(&wanted);
    return status;
}

enum { LISTED_GROUPS = 1000 };

// Text of the searched key at a step.
static const char *text_at(const bb_sweep *sweep, bb_index index)
{
    return sweep->axes.axes[sweep->axes.count - 1].keys[0].texts[index];
}

// Describes the failure or the loss of a step.
static bb_status describe_step(const bb_collection *collection, bb_index index,
                               const search_step *state, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    if (isnan(state->loss)) {
        BB_TRY(bb_text_add(out, "%s fails at ", text_at(sweep, index)));
    } else {
        BB_TRY(bb_text_add(out, "%s has %.4g at ", text_at(sweep, index), state->loss));
    }
    BB_TRY(bb_sweep_describe(sweep, state->worst_point, sweep->axes.count, out));
done:
    return status;
}

// Writes one line without line end.
static bb_status answer_group(const bb_collection *collection, search_group conditions,
                              const search_answer *answer, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const char *key = sweep->axes.axes[sweep->axes.count - 1].keys[0].path;
    const double limit = sweep->search.max_loss;
    const bb_index steps = step_count(sweep);
    const bb_index best = answer->best;
    const search_step *found = &answer->found;
    if (group_count(sweep) > 1) {
        BB_TRY(bb_sweep_describe(sweep, conditions.first * steps, sweep->axes.count - 1, out));
        BB_TRY(bb_text_add(out, ": "));
    }
    if (answer->run == 0) {
        BB_TRY(bb_text_add(out, "not run"));
        goto done;
    }
    if (best < 0) {
        BB_TRY(bb_text_add(out, "%s: none of %td steps is within %s %g", key, answer->run,
                           sweep->experiment->loss_name, limit));
        goto done;
    }
    BB_TRY(bb_text_add(out, "%s = %s: %s %.4g, %s at worst %.4g, within %g (", key,
                       text_at(sweep, best), sweep->search.minimise, found->value,
                       sweep->experiment->loss_name, found->loss, limit));
    BB_TRY(bb_sweep_describe(sweep, found->worst_point, sweep->axes.count, out));
    BB_TRY(bb_text_add(out, "); %td of %td steps run", answer->run, steps));
    for (int side = -1; side <= 1; side += 2) {
        const bb_index next = best + side;
        const search_step state =
            next >= 0 && next < steps ? step_at(collection, conditions, next) : (search_step){0};
        if (state.run && !state.within_limit) {
            BB_TRY(bb_text_add(out, "; "));
            BB_TRY(describe_step(collection, next, &state, out));
        }
    }
    if (!answer->is_monotone) {
        BB_TRY(bb_text_add(out, "; the loss is not monotone along the axis: a better step may "
                                "exist between the points"));
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
        const search_answer answer = find_answer(collection, group_at(sweep, g));
        BB_TRY(answer_group(collection, group_at(sweep, g), &answer, out));
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
                           "%td points failed and count as exceeding max_loss: 'bitbudget sweep "
                           "retry' runs them again\n",
                           failed));
    }
done:
    return status;
}

// Row of /search.
typedef struct search_row {
    double index, first_point, steps_run, value, loss, worst_point;
    const char *setting;
    const char *answer;
} search_row;

static const bb_output outputs[] = {
    {"group", "group", "1", "index of a group of conditions with a common answer",
     .note = "one for all conditions, or one for each", .member = offsetof(search_row, index)},
    {"first_point", "group", "1", "number of the first point of the group", .note = NULL,
     .member = offsetof(search_row, first_point)},
    {"found", "group", NULL, "value of the searched key",
     .note = "empty if no step is within max_loss", .member = offsetof(search_row, setting)},
    {"minimised", "group", "1", "largest value of the minimised quantity in the group",
     .note = NULL, .member = offsetof(search_row, value)},
    {"loss_most", "group", "<of the loss>", "largest loss over the group", .note = NULL,
     .member = offsetof(search_row, loss)},
    {"loss_point", "group", "1", "number of the point with that loss", .note = NULL,
     .member = offsetof(search_row, worst_point)},
    {"answer", "group", NULL, "result of the search, in words", .note = NULL,
     .member = offsetof(search_row, answer)},
    {"steps_run", "group", "1", "steps of the searched axis that were run", .note = NULL,
     .member = offsetof(search_row, steps_run)},
};

const bb_output_table bb_sweep_search_outputs = {.title =
                                                     "/search, collections of sweeps that search",
                                                 .group = "search",
                                                 .axes = "group",
                                                 BB_OUTPUT_ROWS(outputs)};

bb_status bb_sweep_search_publish(const bb_collection *collection, const char *loss_unit,
                                  bb_results *results)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const bb_index groups = group_count(sweep);
    search_row *rows = NULL;
    bb_text *answers = NULL;
    const bb_output_fill fill = {.unit = loss_unit};
    BB_TRY(BB_ALLOCATE(groups, &rows));
    BB_TRY(BB_ZEROED(groups, &answers));
    for (bb_index g = 0; g < groups; ++g) {
        const search_group conditions = group_at(sweep, g);
        const search_answer answer = find_answer(collection, conditions);
        const bool any = answer.best >= 0;
        BB_TRY(answer_group(collection, conditions, &answer, &answers[g]));
        rows[g] = (search_row){.index = (double)g,
                               .first_point = (double)(conditions.first * step_count(sweep)),
                               .steps_run = (double)answer.run,
                               .value = any ? answer.found.value : NAN,
                               .loss = answer.found.loss,
                               .worst_point = any ? (double)answer.found.worst_point : NAN,
                               .setting = any ? text_at(sweep, answer.best) : "",
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

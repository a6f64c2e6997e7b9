// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/search/sweep_search.h"

#include "core/disk_file.h"
#include "core/memory.h"
#include "sim/output/file.h"
#include "sim/sweep/search/search_steps.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAXIMUM_GENERATIONS = 1000 };

// The gap of a group: between neighbouring steps that were run, one of which keeps the limit and
// one does not. False where there is none left.
static bool find_gap(const bb_collection *collection, bb_search_group conditions, bb_index *low,
                     bb_index *high)
{
    const bb_index steps = bb_search_step_count(collection->plan->sweep);
    bb_index before = -1;
    bool keeps = false;
    for (bb_index s = 0; s < steps; ++s) {
        const bb_search_step state = bb_search_step_at(collection, conditions, s);
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

static void want_step(const bb_sweep *sweep, bb_search_group conditions, bb_index index,
                      bool *wanted)
{
    for (bb_index c = conditions.first; c < conditions.first + conditions.count; ++c) {
        wanted[c * bb_search_step_count(sweep) + index] = true;
    }
}

// Parts that a gap is cut into, so that every shard has points.
static bb_index sections(const bb_sweep_plan *plan)
{
    const bb_index conditions = plan->sweep->point_count / bb_search_step_count(plan->sweep);
    return (plan->shards + conditions - 1) / conditions;
}

static bool want_next(const bb_collection *collection, bool *wanted)
{
    const bb_sweep_plan *plan = collection->plan;
    bool any = false;
    for (bb_index g = 0; g < bb_search_group_count(plan->sweep); ++g) {
        const bb_search_group conditions = bb_search_group_at(plan->sweep, g);
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
    for (bb_index g = 0; g < bb_search_group_count(sweep); ++g) {
        want_step(sweep, bb_search_group_at(sweep, g), 0, wanted);
        want_step(sweep, bb_search_group_at(sweep, g), bb_search_step_count(sweep) - 1, wanted);
    }
    // All of them: what failed in an earlier one may have been opened again.
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

bb_status bb_sweep_search_open(const bb_sweep_plan *plan, bb_index *open)
{
    bb_status status = BB_OK;
    bb_sweep_progress progress = {0};
    bool *wanted = NULL;
    bb_index generation = 0;
    BB_TRY(BB_ZEROED(plan->sweep->point_count, &wanted));
    BB_TRY(bb_sweep_search_wanted(plan, wanted, &generation));
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    *open = count_open(plan, &progress, wanted);
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
    BB_TRY(BB_ZEROED(plan->sweep->point_count, &wanted));
    BB_TRY(bb_sweep_search_wanted(plan, wanted, &generation));
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    *open = count_open(plan, &progress, wanted);
    if (*open > 0) {
        goto done;
    }
    BB_TRY(bb_collection_read(plan, &progress, &collection));
    const char *name = plan->sweep->search.minimise;
    const bb_collected *minimised = bb_collection_find(collection, name);
    BB_REQUIRE(strcmp(name, "bits_per_value") == 0 || (minimised != NULL && !minimised->is_text),
               BB_INVALID, "sweep.search.minimise: the results have no number '%s'", name);
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
    const bb_sweep_plan *plan = collection->plan;
    bool *wanted = NULL;
    bb_index generation = 0;
    *out = false;
    BB_TRY(BB_ZEROED(plan->sweep->point_count, &wanted));
    BB_TRY(bb_sweep_search_wanted(plan, wanted, &generation));
    *out = count_open(plan, collection->progress, wanted) == 0 && !want_next(collection, wanted);
done:
    BB_RELEASE(&wanted);
    return status;
}

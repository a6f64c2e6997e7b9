// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/collection.h"

#include "core/file.h"
#include "core/memory.h"
#include "sim/output/former_name.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/sweep/choice_statistics.h"
#include "sim/sweep/record_file.h"
#include "sim/sweep/sweep_search.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Finds the unit of the experiment's loss in the brackets of its name.
static void find_loss_unit(const bb_experiment *experiment, char out[32])
{
    const char *start = strchr(experiment->loss_name, '[');
    const size_t length = start == NULL ? 0 : strcspn(start + 1, "]");
    (void)snprintf(out, 32, "%.*s", (int)(start == NULL ? 1 : length),
                   start == NULL ? "1" : start + 1);
}

// Notes missing planned points, first in the status of the file.
static bb_status note_points(const bb_choices *choices, bool searches, bb_results *results)
{
    bb_status status = BB_OK;
    char reason[96];
    BB_TRY(bb_results_note_number(results, "", "points_planned", (double)choices->planned));
    BB_TRY(bb_results_note_number(results, "", "points_run", (double)choices->run));
    if (choices->partial) {
        (void)snprintf(reason, sizeof reason,
                       searches ? "the search has not ended: %td of %td combinations were run"
                                : "%td of %td planned points were run",
                       choices->run, choices->planned);
        BB_TRY(bb_results_note(results, "", "status", "partial"));
        BB_TRY(bb_results_note(results, "", "status_reason", reason));
    }
done:
    return status;
}

static bb_status build_results(const bb_sweep_collect_request *request,
                               const bb_collection *collection, const bb_choices *choices,
                               bb_results **out)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    bb_config *config = NULL;
    bb_problems problems = {0};
    char unit[32];
    const bb_sweep *sweep = request->plan->sweep;
    find_loss_unit(sweep->experiment, unit);
    BB_TRY(bb_config_base_bind(sweep->base, NULL, 0, &problems, &config));
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_provenance_begin(results, config, bb_config_study(config), request->argument_count,
                               request->arguments, request->threads));
    BB_TRY(bb_collection_publish(collection, results));
    BB_TRY(bb_choices_publish(choices, unit, results));
    if (sweep->searches) {
        BB_TRY(bb_sweep_search_publish(collection, unit, results));
    }
    BB_TRY(bb_results_note(results, "provenance", "sweep_plan", request->plan->text));
    BB_TRY(bb_provenance_end(results));
    BB_TRY(note_points(choices, sweep->searches, results));
    *out = results;
    results = NULL;
done:
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    bb_problems_release(&problems);
    return status;
}

static bb_status write_csv(const bb_sweep_collect_request *request, const bb_collection *collection)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_collection_list(collection, &text));
    BB_TRY(bb_file_write(request->csv, request->force, bb_text_string(&text), text.length));
done:
    bb_text_release(&text);
    return status;
}

static bb_status check_complete(const bb_sweep_collect_request *request,
                                const bb_sweep_progress *progress)
{
    bb_status status = BB_OK;
    bb_index done = progress->counts[BB_POINT_DONE];
    BB_REQUIRE(done > 0, BB_INVALID, "no point has been run yet");
    // Points that a search skips are not missing.
    BB_REQUIRE(request->partial || progress->open == 0 || request->plan->sweep->searches,
               BB_INVALID,
               "%td points are missing; run them with 'bitbudget sweep run %s', or collect the "
               "others with --partial",
               progress->open, request->plan->folder);
done:
    return status;
}

// State of a sweep so far. Zero-initialise; release with release_state.
typedef struct sweep_state {
    bb_sweep_progress progress;
    bb_collection *collection;
    bb_choices choices;
} sweep_state;

static void release_state(sweep_state *state)
{
    bb_choices_release(&state->choices);
    bb_collection_destroy(&state->collection);
    bb_sweep_progress_release(&state->progress);
}

static bb_status read_state(const bb_sweep_collect_request *request, sweep_state *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_sweep_progress_read(request->plan, &out->progress));
    BB_TRY(check_complete(request, &out->progress));
    BB_TRY(bb_collection_read(request->plan, &out->progress, &out->collection));
    BB_TRY(bb_choices_find(out->collection, &out->choices));
done:
    return status;
}

bb_status bb_sweep_collect_results(const bb_sweep_collect_request *request, bb_results **out)
{
    bb_status status = BB_OK;
    sweep_state state = {.collection = NULL};
    BB_TRY(read_state(request, &state));
    BB_TRY(build_results(request, state.collection, &state.choices, out));
done:
    release_state(&state);
    return status;
}

static bb_status write_answer(const bb_sweep_collect_request *request, const sweep_state *state,
                              bb_text *answer)
{
    bb_status status = BB_OK;
    if (!request->plan->sweep->searches) {
        BB_TRY(bb_sweep_progress_list(&state->progress, answer));
        BB_TRY(bb_text_add(answer, "\n"));
        BB_TRY(bb_choices_list(&state->choices, state->collection, request->max_loss, answer));
        goto done;
    }
    BB_TRY(bb_text_add(answer, "%td of %td combinations run\n", state->collection->slot_count,
                       bb_sweep_plan_points(request->plan)));
    BB_TRY(bb_sweep_search_answer(state->collection, answer));
    if (state->choices.partial) {
        BB_TRY(bb_text_add(answer,
                           "Partial result: the search has not ended; continue it with 'bitbudget "
                           "sweep run %s'.\n",
                           request->plan->folder));
    }
done:
    return status;
}

bb_status bb_sweep_collect(const bb_sweep_collect_request *request, bb_text *answer)
{
    bb_status status = BB_OK;
    sweep_state state = {.collection = NULL};
    bb_results *results = NULL;
    BB_TRY(read_state(request, &state));
    if (request->output != NULL) {
        BB_TRY(build_results(request, state.collection, &state.choices, &results));
        BB_TRY(bb_image_save(results, request->output, request->force));
    }
    if (request->csv != NULL) {
        BB_TRY(write_csv(request, state.collection));
    }
    BB_TRY(write_answer(request, &state, answer));
done:
    bb_results_destroy(&results);
    release_state(&state);
    return status;
}

enum { MAXIMUM_PIPELINES = 4096, MAXIMUM_DATASETS = 1000, MAXIMUM_ITEMS = 1 << 30 };

static void release_texts(char ***texts, bb_index count)
{
    for (bb_index i = 0; *texts != NULL && i < count; ++i) {
        BB_RELEASE(&(*texts)[i]);
    }
    BB_RELEASE(texts);
}

static bb_index pipelines_of(const bb_collection *collection, const bb_collected *dataset)
{
    return dataset->over_pipelines ? collection->pipeline_count : 1;
}

void bb_collection_destroy(bb_collection **collection)
{
    bb_collection *it = *collection;
    for (bb_index d = 0; it != NULL && d < it->dataset_count; ++d) {
        bb_collected *dataset = &it->datasets[d];
        release_texts(&dataset->texts, it->slot_count * pipelines_of(it, dataset) * dataset->inner);
        BB_RELEASE(&dataset->numbers);
        BB_RELEASE(&dataset->long_name);
    }
    for (bb_index a = 0; it != NULL && a < it->axis_count; ++a) {
        release_texts(&it->axes[a].texts, it->axes[a].count);
        BB_RELEASE(&it->axes[a].numbers);
        BB_RELEASE(&it->axes[a].long_name);
    }
    if (it != NULL) {
        release_texts(&it->pipelines, it->pipeline_count);
        BB_RELEASE(&it->datasets);
        BB_RELEASE(&it->axes);
        BB_RELEASE(&it->slots);
        BB_RELEASE(&it->points);
    }
    BB_RELEASE(collection);
}

// Assigns a slot to every combination that was run; if all were run, the collection is dense.
static bb_status assign_slots(bb_collection *collection)
{
    bb_status status = BB_OK;
    const bb_sweep_progress *progress = collection->progress;
    const bb_index points = progress->point_count;
    BB_TRY(BB_ALLOCATE(points, &collection->slots));
    BB_TRY(BB_ALLOCATE(points, &collection->points));
    for (bb_index p = 0; p < points; ++p) {
        const bool run = progress->points[p].class != BB_POINT_OPEN;
        collection->slots[p] = run ? collection->slot_count : -1;
        if (run) {
            collection->points[collection->slot_count++] = p;
        }
    }
    collection->dense =
        collection->slot_count == points &&
        collection->plan->sweep->axes.count + 1 + BB_COLLECTION_RANK <= BB_RESULTS_RANK;
done:
    return status;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static bb_status add_axis(bb_collection *collection, const json_t *description)
{
    bb_status status = BB_OK;
    const char *name = text_of(description, "name");
    for (bb_index a = 0; a < collection->axis_count; ++a) {
        if (strcmp(collection->axes[a].name, name) == 0) {
            goto done;
        }
    }
    BB_TRY(bb_memory_resize(collection->axis_count + 1, sizeof *collection->axes,
                            (void **)&collection->axes));
    bb_collected_axis *axis = &collection->axes[collection->axis_count];
    *axis = (bb_collected_axis){0};
    (void)snprintf(axis->name, sizeof axis->name, "%s", name);
    (void)snprintf(axis->unit, sizeof axis->unit, "%s", text_of(description, "unit"));
    BB_TRY(bb_memory_text(text_of(description, "long_name"), &axis->long_name));
    ++collection->axis_count;
done:
    return status;
}

static bb_status read_shape(const json_t *description, bb_collected *dataset)
{
    bb_status status = BB_OK;
    const json_t *axes = json_object_get(description, "axes");
    const json_t *shape = json_object_get(description, "shape");
    const size_t rank = json_array_size(axes);
    dataset->inner = 1;
    for (size_t a = 0; a < rank; ++a) {
        const char *axis = json_string_value(json_array_get(axes, a));
        if (a == 0 && axis != NULL && strcmp(axis, "pipeline") == 0) {
            dataset->over_pipelines = true;
            continue;
        }
        BB_REQUIRE(axis != NULL && strcmp(axis, "pipeline") != 0 &&
                       dataset->rank < BB_COLLECTION_RANK,
                   BB_INVALID, "'%s' has %d axes other than pipeline, or pipeline is not the first",
                   dataset->name, BB_COLLECTION_RANK);
        (void)snprintf(dataset->axes[dataset->rank++], BB_COLLECTION_NAME, "%s", axis);
        const json_int_t length = json_integer_value(json_array_get(shape, a));
        BB_REQUIRE(length >= 0 && length <= MAXIMUM_ITEMS && dataset->inner <= MAXIMUM_ITEMS, BB_IO,
                   "'%s' has an axis of %lld items, expected 0 to %d", dataset->name,
                   (long long)length, MAXIMUM_ITEMS);
        dataset->inner *= (bb_index)length;
    }
done:
    return status;
}

static bb_status add_dataset(bb_collection *collection, const json_t *description)
{
    bb_status status = BB_OK;
    const char *name = text_of(description, "name");
    if (bb_collection_find(collection, name) != NULL) {
        goto done;
    }
    BB_REQUIRE(collection->dataset_count < MAXIMUM_DATASETS, BB_INVALID,
               "results have more than %d datasets", MAXIMUM_DATASETS);
    BB_TRY(bb_memory_resize(collection->dataset_count + 1, sizeof *collection->datasets,
                            (void **)&collection->datasets));
    bb_collected *dataset = &collection->datasets[collection->dataset_count];
    *dataset = (bb_collected){.is_text = json_is_true(json_object_get(description, "text")),
                              .measured = json_is_true(json_object_get(description, "measured"))};
    (void)snprintf(dataset->name, sizeof dataset->name, "%s", name);
    (void)snprintf(dataset->unit, sizeof dataset->unit, "%s", text_of(description, "unit"));
    BB_TRY(read_shape(description, dataset));
    BB_TRY(bb_memory_text(text_of(description, "long_name"), &dataset->long_name));
    ++collection->dataset_count;
done:
    return status;
}

static bb_index find_pipeline(const bb_collection *collection, const char *name)
{
    for (bb_index p = 0; name != NULL && p < collection->pipeline_count; ++p) {
        if (strcmp(collection->pipelines[p], name) == 0) {
            return p;
        }
    }
    return -1;
}

static bb_status add_pipelines(bb_collection *collection, const json_t *names)
{
    bb_status status = BB_OK;
    for (size_t i = 0; i < json_array_size(names); ++i) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name == NULL || find_pipeline(collection, name) >= 0) {
            continue;
        }
        BB_REQUIRE(collection->pipeline_count < MAXIMUM_PIPELINES, BB_INVALID,
                   "results have more than %d pipelines", MAXIMUM_PIPELINES);
        BB_TRY(bb_memory_resize(collection->pipeline_count + 1, sizeof *collection->pipelines,
                                (void **)&collection->pipelines));
        BB_TRY(bb_memory_text(name, &collection->pipelines[collection->pipeline_count]));
        ++collection->pipeline_count;
    }
done:
    return status;
}

// Slot of a record if it is the valid one of its point; else -1.
static bb_index slot_of(const bb_collection *collection, const bb_record_line *record)
{
    const bb_sweep_progress *progress = collection->progress;
    const json_t *number = json_object_get(record->json, "point");
    const bb_index point = (bb_index)json_integer_value(number);
    const bb_point_progress *state = &progress->points[point];
    const bool counts = state->class == BB_POINT_DONE && state->place.line == record->number &&
                        strcmp(progress->names[state->place.file], record->file) == 0;
    return counts ? collection->slots[point] : -1;
}

// First pass: collects datasets, axes and pipelines.
static bb_status collect_structure(void *context, const bb_record_line *record)
{
    bb_status status = BB_OK;
    bb_collection *collection = context;
    const json_t *list = json_object_get(record->json, "datasets");
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *description = json_array_get(list, i);
        if (json_is_true(json_object_get(description, "axis"))) {
            BB_TRY(add_axis(collection, description));
        } else {
            BB_TRY(add_dataset(collection, description));
        }
    }
    if (slot_of(collection, record) >= 0) {
        BB_TRY(add_pipelines(collection, json_object_get(record->json, "pipelines")));
    }
done:
    return status;
}

static bb_status make_room(bb_collection *collection)
{
    bb_status status = BB_OK;
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        bb_collected *dataset = &collection->datasets[d];
        const bb_index count =
            collection->slot_count * pipelines_of(collection, dataset) * dataset->inner;
        if (dataset->is_text) {
            BB_TRY(BB_ZEROED(count, &dataset->texts));
            continue;
        }
        BB_TRY(BB_ALLOCATE(count, &dataset->numbers));
        for (bb_index i = 0; i < count; ++i) {
            dataset->numbers[i] = NAN;
        }
    }
done:
    return status;
}

static bb_status set_item(const bb_collected *dataset, bb_index index, const json_t *item)
{
    bb_status status = BB_OK;
    if (!dataset->is_text) {
        dataset->numbers[index] = json_is_number(item) ? json_number_value(item) : NAN;
    } else if (json_is_string(item) && dataset->texts[index] == NULL) {
        BB_TRY(bb_memory_text(json_string_value(item), &dataset->texts[index]));
    }
done:
    return status;
}

// Fills one dataset of one point: items of the point's own pipelines; `places` gives their indices
// among all.
static bb_status fill_dataset(const bb_collection *collection, const bb_collected *dataset,
                              bb_index slot, const json_t *items, const bb_index *places,
                              bb_index place_count)
{
    bb_status status = BB_OK;
    const bb_index pipelines = pipelines_of(collection, dataset);
    const bb_index own = dataset->over_pipelines ? place_count : 1;
    BB_REQUIRE((bb_index)json_array_size(items) == own * dataset->inner, BB_INVALID,
               "point %td: '%s' has %zu items, expected %td: its axes differ between points; use "
               "keep: files",
               collection->points[slot], dataset->name, json_array_size(items),
               own * dataset->inner);
    for (bb_index p = 0; p < own; ++p) {
        const bb_index place = dataset->over_pipelines ? places[p] : 0;
        for (bb_index i = 0; i < dataset->inner; ++i) {
            BB_TRY(set_item(dataset, (slot * pipelines + place) * dataset->inner + i,
                            json_array_get(items, (size_t)(p * dataset->inner + i))));
        }
    }
done:
    return status;
}

static bb_status fill_axis(bb_collected_axis *axis, const json_t *items)
{
    bb_status status = BB_OK;
    const bb_index count = (bb_index)json_array_size(items);
    const bool texts = json_is_string(json_array_get(items, 0));
    if (axis->count > 0) {
        bool same = axis->count == count;
        for (bb_index i = 0; same && i < count; ++i) {
            const json_t *item = json_array_get(items, (size_t)i);
            same =
                axis->texts != NULL
                    ? json_is_string(item) && strcmp(json_string_value(item), axis->texts[i]) == 0
                    : !(json_number_value(item) != axis->numbers[i] && !isnan(axis->numbers[i]));
        }
        BB_REQUIRE(same, BB_INVALID,
                   "axis '%s' differs between points, so that its datasets cannot be merged; use "
                   "keep: files",
                   axis->name);
        goto done;
    }
    if (texts) {
        BB_TRY(BB_ZEROED(count, &axis->texts));
    } else {
        BB_TRY(BB_ALLOCATE(count, &axis->numbers));
    }
    axis->count = count;
    for (bb_index i = 0; i < count; ++i) {
        const json_t *item = json_array_get(items, (size_t)i);
        if (texts) {
            BB_REQUIRE(json_is_string(item), BB_IO, "axis '%s' has both texts and other values",
                       axis->name);
            BB_TRY(bb_memory_text(json_string_value(item), &axis->texts[i]));
        } else {
            axis->numbers[i] = json_is_number(item) ? json_number_value(item) : NAN;
        }
    }
done:
    return status;
}

// Second pass: fills in the values.
static bb_status fill(void *context, const bb_record_line *record)
{
    bb_status status = BB_OK;
    bb_collection *collection = context;
    const bb_index slot = slot_of(collection, record);
    bb_index *places = NULL;
    const json_t *names = json_object_get(record->json, "pipelines");
    const bb_index count = (bb_index)json_array_size(names);
    if (slot < 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(count, &places));
    for (bb_index p = 0; p < count; ++p) {
        places[p] = find_pipeline(collection, json_string_value(json_array_get(names, (size_t)p)));
        BB_REQUIRE(places[p] >= 0, BB_IO, "%s, line %td: a pipeline without a name", record->file,
                   record->number);
    }
    const json_t *const groups[] = {json_object_get(record->json, "numbers"),
                                    json_object_get(record->json, "texts")};
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        const bb_collected *dataset = &collection->datasets[d];
        const json_t *items = json_object_get(groups[dataset->is_text], dataset->name);
        if (items != NULL) {
            BB_TRY(fill_dataset(collection, dataset, slot, items, places, count));
        }
    }
    for (bb_index a = 0; a < collection->axis_count; ++a) {
        bb_collected_axis *axis = &collection->axes[a];
        const json_t *numbers = json_object_get(groups[0], axis->name);
        const json_t *items = numbers == NULL ? json_object_get(groups[1], axis->name) : numbers;
        if (items != NULL) {
            BB_TRY(fill_axis(axis, items));
        }
    }
done:
    BB_RELEASE(&places);
    return status;
}

bb_status bb_collection_read(const bb_sweep_plan *plan, const bb_sweep_progress *progress,
                             bb_collection **out)
{
    bb_status status = BB_OK;
    bb_collection *collection = NULL;
    bb_index torn = 0;
    BB_TRY(BB_ZEROED(1, &collection));
    collection->plan = plan;
    collection->progress = progress;
    BB_TRY(assign_slots(collection));
    BB_TRY(bb_record_file_visit(plan->folder, plan->id, collect_structure, collection, &torn));
    BB_TRY(make_room(collection));
    BB_TRY(bb_record_file_visit(plan->folder, plan->id, fill, collection, &torn));
    *out = collection;
    collection = NULL;
done:
    bb_collection_destroy(&collection);
    return status;
}

const bb_collected *bb_collection_find(const bb_collection *collection, const char *name)
{
    name = bb_former_name_current(name); // the plan may be of an earlier version
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        if (strcmp(collection->datasets[d].name, name) == 0) {
            return &collection->datasets[d];
        }
    }
    return NULL;
}

static bb_index item_of(const bb_collection *collection, const bb_collected *dataset, bb_index slot,
                        bb_index pipeline)
{
    return (slot * pipelines_of(collection, dataset) + (dataset->over_pipelines ? pipeline : 0)) *
           dataset->inner;
}

double bb_collection_number(const bb_collection *collection, const char *name, bb_index slot,
                            bb_index pipeline)
{
    const bb_collected *dataset = bb_collection_find(collection, name);
    return dataset == NULL || dataset->is_text || dataset->inner == 0
               ? NAN
               : dataset->numbers[item_of(collection, dataset, slot, pipeline)];
}

const char *bb_collection_text(const bb_collection *collection, const char *name, bb_index slot,
                               bb_index pipeline)
{
    const bb_collected *dataset = bb_collection_find(collection, name);
    return dataset == NULL || !dataset->is_text || dataset->inner == 0
               ? NULL
               : dataset->texts[item_of(collection, dataset, slot, pipeline)];
}

// SPDX-License-Identifier: Apache-2.0
//
// Collection as a result file and as CSV: bb_collection_publish, bb_collection_list.
#include "core/memory.h"
#include "sim/config/binding.h"
#include "sim/output/cell.h"
#include "sim/sweep/collection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 256 };

static const char run_axis[] = "run";

static const bb_output outputs[] = {
    {"run", "run", "1", "number of the point",
     .note = "the only axis of the sweep if some combinations were not run"},
    {"pipeline", "pipeline", NULL, "names, in order of appearance", .note = NULL},
    {"<swept key>", "<sweep>", "<its own>", "values of the swept key",
     .note =
         "a coordinate; its own axis if all combinations were run, else over `run`; keys that vary "
         "together are over `zip`, `condition`, `lhs` or `sobol`. The name is the last part of the "
         "key's path, or the whole path if that name exists. Texts unless all values are numbers"},
    {"point_number", "<sweep>", "1", "number of the point in its plan",
     .note = "in /results, like the following"},
    {"point_status", "<sweep>", NULL, "done, or the reason why the point has no results",
     .note = "config, io, memory, device, internal, signal, time"},
    {"point_id", "<sweep>", NULL, "digest of all inputs that determine the point's results",
     .note = NULL},
    {"point_digest", "<sweep>", NULL, "digest of its results except times", .note = NULL},
    {"status_flag", "<sweep>, pipeline", "1", "status as a number",
     .note = "flag_values and flag_meanings are its attributes; NaN if the point failed"},
    {"point_s", "<sweep>", "s", "time of the point", .note = NULL, .measured = true},
};

const bb_output_table bb_collection_outputs = {
    .title = "Collections of sweeps",
    .when = "The root's axes are those of the sweep, `<sweep>` below, and `pipeline`. /results has "
            "the datasets over `pipeline` and the single values of the experiment's /results, over "
            "`<sweep>` too, and the datasets in the plan's `keep`. NaN, or an empty text, if a "
            "point failed.",
    .group = "",
    BB_OUTPUT_ROWS(outputs)};

// Names of the axes of the sweep, "r0_m, zenith_angle_deg", or `run`.
static bb_status name_axes(const bb_collection *collection, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep_axes *axes = &collection->plan->sweep->axes;
    if (!collection->dense) {
        return bb_text_add(out, "%s", run_axis);
    }
    for (bb_index a = 0; a < axes->count; ++a) {
        BB_TRY(bb_text_add(out, "%s%s", a == 0 ? "" : ", ", axes->axes[a].name));
    }
done:
    return status;
}

// True if a key is outside of records, so that /study has it under its path.
static bool is_outside_records(const bb_schema *schema, const char *path)
{
    const size_t length = strcspn(path, ".");
    char name[PATH_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", (int)length, path);
    const bb_key *key = bb_binding_key(schema, name);
    if (key == NULL || path[length] == '\0') {
        return key != NULL && key->kind != BB_KEY_GROUP && key->kind != BB_KEY_RECORDS;
    }
    return key->kind == BB_KEY_GROUP && is_outside_records(key->schema, path + length + 1);
}

// Replaces the value of a swept key in /study by its values along the axis. Keys of records are not
// changed: other items of their array are not swept.
static bb_status add_to_study(const bb_schema *schema, const bb_sweep_key *key,
                              const bb_results_form *form, const char *axis, const void *data,
                              bb_results *results)
{
    bb_status status = BB_OK;
    char path[PATH_BYTES];
    bb_results_form own = *form;
    const int length = snprintf(path, sizeof path, "study/%s", key->path);
    if (bb_results_find(results, "study/experiment") == NULL || length >= PATH_BYTES ||
        !is_outside_records(schema, key->path)) {
        goto done;
    }
    for (char *c = path; *c != '\0'; ++c) {
        *c = (char)(*c == '.' ? '_' : *c);
    }
    if (bb_results_find(results, path) != NULL) {
        BB_TRY(bb_results_drop(results, path));
    }
    // A key outside of groups has the name of its axis, and is the axis.
    own.axes = strcmp(path + strlen("study/"), axis) == 0 ? NULL : axis;
    BB_TRY(bb_results_add(results, path, &own, data));
    BB_TRY(bb_results_note(results, path, "key", key->path));
done:
    return status;
}

// Adds a key along an axis of `count` items: as that axis if it is `alone`, else over it.
static bb_status add_key(const bb_schema *schema, const bb_sweep_key *key, const char *axis,
                         bb_index count, bool alone, const void *data, bb_results *results)
{
    bb_status status = BB_OK;
    const char *unit = key->key == NULL || key->key->unit == NULL ? "1" : key->key->unit;
    const bool has_meaning = key->key != NULL && key->key->meaning != NULL;
    const bb_results_form form = {.unit = key->numbers == NULL ? NULL : unit,
                                  .long_name = has_meaning ? key->key->meaning : key->path,
                                  .axes = alone ? NULL : axis,
                                  .count = count};
    BB_TRY(bb_results_add(results, key->name, &form, data));
    if (!alone) {
        BB_TRY(bb_results_coordinate(results, key->name));
    }
    BB_TRY(bb_results_note(results, key->name, "key", key->path));
    BB_TRY(add_to_study(schema, key, &form, axis, data, results));
done:
    return status;
}

static bb_status add_dense_axes(const bb_collection *collection, bb_results *results)
{
    bb_status status = BB_OK;
    double *numbers = NULL;
    const bb_sweep *sweep = collection->plan->sweep;
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &sweep->axes.axes[a];
        const bool alone = axis->key_count == 1;
        if (!alone) {
            BB_RELEASE(&numbers);
            BB_TRY(BB_ALLOCATE(axis->count, &numbers));
            for (bb_index i = 0; i < axis->count; ++i) {
                numbers[i] = (double)i;
            }
            const bb_results_form form = {
                .unit = "1", .long_name = "values that vary together", .count = axis->count};
            BB_TRY(bb_results_add(results, axis->name, &form, numbers));
        }
        for (bb_index k = 0; k < axis->key_count; ++k) {
            const bb_sweep_key *key = &axis->keys[k];
            BB_TRY(add_key(sweep->experiment->schema, key, axis->name, axis->count, alone,
                           key->numbers != NULL ? (const void *)key->numbers : key->texts,
                           results));
        }
    }
done:
    BB_RELEASE(&numbers);
    return status;
}

// Adds a key with its values in every run.
static bb_status add_run_key(const bb_collection *collection, bb_index axis,
                             const bb_sweep_key *key, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    double *numbers = NULL;
    const char **texts = NULL;
    BB_TRY(BB_ALLOCATE(collection->slot_count, &numbers));
    BB_TRY(BB_ALLOCATE(collection->slot_count, &texts));
    for (bb_index s = 0; s < collection->slot_count; ++s) {
        const bb_index value = bb_sweep_coordinate(sweep, collection->points[s], axis);
        numbers[s] = key->numbers == NULL ? NAN : key->numbers[value];
        texts[s] = key->texts[value];
    }
    BB_TRY(add_key(sweep->experiment->schema, key, run_axis, collection->slot_count, false,
                   key->numbers != NULL ? (const void *)numbers : texts, results));
done:
    BB_RELEASE(&texts);
    BB_RELEASE(&numbers);
    return status;
}

static bb_status add_runs(const bb_collection *collection, bb_results *results)
{
    bb_status status = BB_OK;
    double *numbers = NULL;
    const bb_sweep_axes *axes = &collection->plan->sweep->axes;
    BB_TRY(BB_ALLOCATE(collection->slot_count, &numbers));
    for (bb_index s = 0; s < collection->slot_count; ++s) {
        numbers[s] = (double)collection->points[s];
    }
    BB_TRY(bb_output_table_add_axis(&bb_collection_outputs, run_axis, collection->slot_count,
                                    numbers, NULL, results));
    for (bb_index a = 0; a < axes->count; ++a) {
        for (bb_index k = 0; k < axes->axes[a].key_count; ++k) {
            BB_TRY(add_run_key(collection, a, &axes->axes[a].keys[k], results));
        }
    }
done:
    BB_RELEASE(&numbers);
    return status;
}

// Adds datasets of the points themselves.
static bb_status add_points(const bb_collection *collection, const bb_output_fill *fill,
                            bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &bb_collection_outputs;
    const bb_index count = collection->slot_count;
    double *numbers = NULL;    // [2][count] points, seconds
    const char **texts = NULL; // [3][count] states, ids, digests
    BB_TRY(BB_ALLOCATE(2 * count, &numbers));
    BB_TRY(BB_ALLOCATE(3 * count, &texts));
    for (bb_index s = 0; s < count; ++s) {
        const bb_point_progress *state = &collection->progress->points[collection->points[s]];
        numbers[s] = (double)collection->points[s];
        numbers[count + s] = state->seconds;
        texts[s] = bb_point_class_names[state->class];
        texts[count + s] = state->id;
        texts[2 * count + s] = state->digest;
    }
    BB_TRY(bb_output_table_add(table, "point_number", numbers, fill, results));
    BB_TRY(bb_output_table_add(table, "point_status", texts, fill, results));
    BB_TRY(bb_output_table_add(table, "point_id", texts + count, fill, results));
    BB_TRY(bb_output_table_add(table, "point_digest", texts + 2 * count, fill, results));
    BB_TRY(bb_output_table_add(table, "point_s", numbers + count, fill, results));
done:
    BB_RELEASE(&texts);
    BB_RELEASE(&numbers);
    return status;
}

// `status` as numbers, with the attributes of CF flags.
static const char *const flag_words[] = {
    "ok", "not_spd", "non_finite", "not_converged", "underdetermined", "not_held", "unsafe"};
enum { FLAGS = sizeof flag_words / sizeof *flag_words };

static double flag_of(const char *word)
{
    for (int f = 0; word != NULL && f < FLAGS; ++f) {
        if (strcmp(flag_words[f], word) == 0) {
            return (double)f;
        }
    }
    return NAN;
}

static bb_status add_flags(const bb_collection *collection, const bb_output_fill *fill,
                           bb_results *results)
{
    bb_status status = BB_OK;
    bb_text meanings = {0};
    bb_text values = {0};
    double *flags = NULL; // [slots][pipelines]
    const bb_index pipelines = collection->pipeline_count;
    BB_TRY(BB_ALLOCATE(collection->slot_count * pipelines, &flags));
    for (bb_index i = 0; i < collection->slot_count * pipelines; ++i) {
        flags[i] = flag_of(bb_collection_text(collection, "status", i / pipelines, i % pipelines));
    }
    for (int f = 0; f < FLAGS; ++f) {
        BB_TRY(bb_text_add(&meanings, "%s%s", f == 0 ? "" : " ", flag_words[f]));
        BB_TRY(bb_text_add(&values, "%s%d", f == 0 ? "" : ", ", f));
    }
    BB_TRY(bb_output_table_add(&bb_collection_outputs, "status_flag", flags, fill, results));
    BB_TRY(bb_results_note(results, "results/status_flag", "flag_meanings",
                           bb_text_string(&meanings)));
    BB_TRY(bb_results_note(results, "results/status_flag", "flag_values", bb_text_string(&values)));
done:
    BB_RELEASE(&flags);
    bb_text_release(&meanings);
    bb_text_release(&values);
    return status;
}

static bb_status add_own_axes(const bb_collection *collection, bb_results *results)
{
    bb_status status = BB_OK;
    for (bb_index a = 0; a < collection->axis_count; ++a) {
        const bb_collected_axis *axis = &collection->axes[a];
        const bool is_text = axis->numbers == NULL;
        const bb_results_form form = {.unit = is_text ? NULL : axis->unit,
                                      .long_name = axis->long_name,
                                      .count = axis->count};
        BB_TRY(bb_results_add(results, axis->name, &form,
                              is_text ? (const void *)axis->texts : axis->numbers));
    }
done:
    return status;
}

static bb_status add_dataset(const bb_collected *dataset, const char *sweep_axes,
                             bb_results *results)
{
    bb_status status = BB_OK;
    bb_text axes = {0};
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "results/%s", dataset->name);
    BB_TRY(bb_text_add(&axes, "%s%s", sweep_axes, dataset->over_pipelines ? ", pipeline" : ""));
    for (int a = 0; a < dataset->rank; ++a) {
        BB_TRY(bb_text_add(&axes, ", %s", dataset->axes[a]));
    }
    const bb_results_form form = {.unit = dataset->is_text ? NULL : dataset->unit,
                                  .long_name = dataset->long_name,
                                  .axes = bb_text_string(&axes),
                                  .measured = dataset->measured};
    BB_TRY(bb_results_add(results, path, &form,
                          dataset->is_text ? (const void *)dataset->texts : dataset->numbers));
done:
    bb_text_release(&axes);
    return status;
}

bb_status bb_collection_publish(const bb_collection *collection, bb_results *results)
{
    bb_status status = BB_OK;
    bb_text axes = {0};
    BB_TRY(name_axes(collection, &axes));
    BB_TRY(bb_results_note(results, "", "sweep_plan", collection->plan->id));
    BB_TRY(collection->dense ? add_dense_axes(collection, results) : add_runs(collection, results));
    BB_TRY(bb_output_table_add_axis(&bb_collection_outputs, "pipeline", collection->pipeline_count,
                                    collection->pipelines, NULL, results));
    BB_TRY(add_own_axes(collection, results));
    const bb_output_fill fill = {.group = "results", .axis = bb_text_string(&axes)};
    BB_TRY(add_points(collection, &fill, results));
    BB_TRY(add_flags(collection, &fill, results));
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        BB_TRY(add_dataset(&collection->datasets[d], bb_text_string(&axes), results));
    }
done:
    bb_text_release(&axes);
    return status;
}

static bb_status add_cell(const char *text, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, ","));
    BB_TRY(text == NULL ? BB_OK : bb_cell_add_field(text, out));
done:
    return status;
}

static bb_status list_row(const bb_collection *collection, bb_index slot, bb_index pipeline,
                          bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = collection->plan->sweep;
    const bb_index point = collection->points[slot];
    BB_TRY(bb_text_add(out, "%td", point));
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &sweep->axes.axes[a];
        for (bb_index k = 0; k < axis->key_count; ++k) {
            BB_TRY(add_cell(axis->keys[k].texts[bb_sweep_coordinate(sweep, point, a)], out));
        }
    }
    BB_TRY(add_cell(bb_point_class_names[collection->progress->points[point].class], out));
    BB_TRY(add_cell(collection->pipelines[pipeline], out));
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        const bb_collected *dataset = &collection->datasets[d];
        if (dataset->rank > 0) {
            continue;
        }
        const double number = bb_collection_number(collection, dataset->name, slot, pipeline);
        if (dataset->is_text) {
            BB_TRY(add_cell(bb_collection_text(collection, dataset->name, slot, pipeline), out));
        } else if (isfinite(number)) {
            BB_TRY(bb_text_add(out, ",%.17g", number));
        } else {
            BB_TRY(bb_text_add(out, ","));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

bb_status bb_collection_list(const bb_collection *collection, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep_axes *axes = &collection->plan->sweep->axes;
    BB_TRY(bb_text_add(out, "point"));
    for (bb_index a = 0; a < axes->count; ++a) {
        for (bb_index k = 0; k < axes->axes[a].key_count; ++k) {
            BB_TRY(bb_text_add(out, ",%s", axes->axes[a].keys[k].name));
        }
    }
    BB_TRY(bb_text_add(out, ",point_status,pipeline"));
    for (bb_index d = 0; d < collection->dataset_count; ++d) {
        if (collection->datasets[d].rank == 0) {
            BB_TRY(bb_text_add(out, ",%s", collection->datasets[d].name));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
    for (bb_index s = 0; s < collection->slot_count; ++s) {
        for (bb_index p = 0; p < collection->pipeline_count; ++p) {
            BB_TRY(list_row(collection, s, p, out));
        }
    }
done:
    return status;
}

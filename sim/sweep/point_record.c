// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point_record.h"

#include "core/memory.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

const char *const bb_point_class_names[] = {"done",     "config", "io",   "memory", "device",
                                            "internal", "signal", "time", NULL};

bb_point_class bb_point_class_of(bb_status status)
{
    switch (status) {
    case BB_OK:
        return BB_POINT_DONE;
    case BB_INVALID:
    case BB_UNSUPPORTED:
        return BB_POINT_CONFIG;
    case BB_IO:
        return BB_POINT_IO;
    case BB_MEMORY:
        return BB_POINT_MEMORY;
    case BB_DEVICE:
        return BB_POINT_DEVICE;
    default:
        return BB_POINT_INTERNAL;
    }
}

static bool is_over_pipelines(const bb_dataset *dataset)
{
    return dataset->rank == 0 || (dataset->rank == 1 && strcmp(dataset->axes[0], "pipeline") == 0);
}

static bool is_named(const bb_dataset *dataset, const char *const *keep, bb_index count)
{
    for (bb_index k = 0; k < count; ++k) {
        if (strcmp(keep[k], dataset->name) == 0) {
            return true;
        }
    }
    return false;
}

// Whether a kept dataset has this axis.
static bool is_axis_of_kept(const bb_results *results, const bb_dataset *axis,
                            const char *const *keep, bb_index count)
{
    for (bb_index k = 0; k < count; ++k) {
        char path[160];
        (void)snprintf(path, sizeof path, "results/%s", keep[k]);
        const bb_dataset *dataset = bb_results_find(results, path);
        for (int a = 0; dataset != NULL && a < dataset->rank; ++a) {
            if (strcmp(dataset->axes[a], axis->name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static json_t *items_of(const bb_dataset *dataset)
{
    json_t *array = json_array();
    for (bb_index i = 0; i < dataset->count; ++i) {
        json_t *item = dataset->is_text ? json_string(dataset->texts[i])
                                        : json_real(dataset->numbers[i]); // NULL of NaN
        (void)json_array_append_new(array, item == NULL ? json_null() : item);
    }
    return array;
}

static json_t *description_of(const bb_dataset *dataset)
{
    json_t *axes = json_array();
    json_t *shape = json_array();
    for (int a = 0; a < dataset->rank; ++a) {
        (void)json_array_append_new(axes, json_string(dataset->axes[a]));
        (void)json_array_append_new(shape, json_integer(dataset->shape[a]));
    }
    return json_pack("{ss so so ss ss sb sb sb}", "name", dataset->name, "axes", axes, "shape",
                     shape, "unit", dataset->unit, "long_name", dataset->long_name, "text",
                     dataset->is_text, "axis", dataset->is_axis, "measured", dataset->measured);
}

static bb_status add_dump(json_t *object, bb_text *out)
{
    bb_status status = BB_OK;
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted: a record of a point");
    BB_TRY(bb_text_add(out, "%s", text + 1)); // without the opening brace
done:
    free(text);
    return status;
}

// Whether these descriptions were not written yet; they are from now on.
static bb_status note_description(const json_t *datasets, bb_described *known, bool *is_new)
{
    bb_status status = BB_OK;
    char *text = json_dumps(datasets, JSON_COMPACT);
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted: a record of a point");
    const XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
    char digest[BB_DIGEST_BYTES];
    (void)snprintf(digest, sizeof digest, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
    *is_new = true;
    for (bb_index i = 0; i < known->count; ++i) {
        *is_new = *is_new && strcmp(known->digests[i], digest) != 0;
    }
    if (*is_new && known->count < BB_DESCRIBED) {
        memcpy(known->digests[known->count++], digest, sizeof digest);
    }
done:
    free(text);
    return status;
}

bb_status bb_point_record_fill(const bb_results *results, const char *id, double seconds,
                               const char *const *keep, bb_index count, bb_described *known,
                               bb_text *out)
{
    bb_status status = BB_OK;
    char digest[BB_DIGEST_BYTES];
    bool is_new = false;
    json_t *object = json_object();
    json_t *numbers = json_object();
    json_t *texts = json_object();
    json_t *datasets = json_array();
    for (bb_index k = 0; k < count; ++k) {
        char path[160];
        (void)snprintf(path, sizeof path, "results/%s", keep[k]);
        BB_REQUIRE(bb_results_find(results, path) != NULL, BB_INVALID,
                   "sweep.keep: the results have no dataset '%s'", keep[k]);
    }
    BB_TRY(bb_results_digest(results, true, digest));
    (void)json_object_set_new(object, "seconds", json_real(seconds));
    (void)json_object_set_new(object, "id", json_string(id));
    (void)json_object_set_new(object, "digest", json_string(digest));
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        const bool kept = dataset->is_axis
                              ? is_axis_of_kept(results, dataset, keep, count)
                              : is_over_pipelines(dataset) || is_named(dataset, keep, count);
        const bool pipelines = dataset->is_axis && strcmp(dataset->name, "pipeline") == 0;
        if ((strcmp(dataset->group, "results") != 0 && !dataset->is_axis) || !(kept || pipelines)) {
            continue;
        }
        if (pipelines) {
            (void)json_object_set_new(object, "pipelines", items_of(dataset));
            continue;
        }
        (void)json_object_set_new(dataset->is_text ? texts : numbers, dataset->name,
                                  items_of(dataset));
        (void)json_array_append_new(datasets, description_of(dataset));
    }
    BB_TRY(note_description(datasets, known, &is_new));
    if (is_new) {
        (void)json_object_set(object, "datasets", datasets);
    }
    (void)json_object_set(object, "numbers", numbers);
    (void)json_object_set(object, "texts", texts);
    BB_TRY(add_dump(object, out));
done:
    json_decref(datasets);
    json_decref(texts);
    json_decref(numbers);
    json_decref(object);
    return status;
}

bb_status bb_point_record_write(const bb_point_head *head, double seconds, const char *rest,
                                bb_text *out)
{
    bb_status status = BB_OK;
    char host[65] = "";
    json_t *message = NULL;
    json_t *object = NULL;
    (void)gethostname(host, sizeof host - 1);
    BB_TRY(bb_text_add(out,
                       "{\"point\":%td,\"class\":\"%s\",\"round\":%td,\"attempt\":%td,"
                       "\"host\":\"%s\",",
                       head->point, bb_point_class_names[head->class], head->round, head->attempt,
                       host));
    if (head->class == BB_POINT_DONE) {
        BB_TRY(bb_text_add(out, "%s\n", rest));
        goto done;
    }
    message = json_string(rest);
    object = json_pack("{sf so}", "seconds", seconds, "message",
                       message == NULL ? json_string("its message is no UTF-8") : message);
    BB_TRY(add_dump(object, out));
    BB_TRY(bb_text_add(out, "\n"));
done:
    json_decref(object);
    return status;
}

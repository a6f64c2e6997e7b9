// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_plan.h"

#include "build_info.h"
#include "core/memory.h"
#include "sim/run/device_choice.h"
#include "sim/run/study.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Sweeps with at most CHECKED_POINTS points are checked completely before anything is computed; for
// a larger sweep, every value of every axis is checked, and PLANNED_POINTS points spread over the
// sweep.
enum { CHECKED_POINTS = 512, PLANNED_POINTS = 12 };

// Minimum duration of a shard that is worth a scheduler's overhead.
static const double SHARD_SECONDS = 600.0;

void bb_sweep_plan_destroy(bb_sweep_plan **plan)
{
    if (*plan != NULL) {
        bb_sweep_destroy(&(*plan)->sweep);
        BB_RELEASE(&(*plan)->folder);
        BB_RELEASE(&(*plan)->text);
    }
    BB_RELEASE(plan);
}

bb_index bb_sweep_plan_points(const bb_sweep_plan *plan)
{
    return plan->sweep->point_count - plan->sweep->excluded_count;
}

// Binds a point; with `need`, adds its need.
static bb_status check_point(bb_sweep_plan *plan, bb_index point, bb_index threads,
                             bb_sweep_need *need, bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_plan one = {.estimated_seconds = NAN};
    const bb_run_options options = {.threads = threads};
    BB_TRY(bb_sweep_bind(plan->sweep, point, problems, &config));
    BB_TRY(bb_point_files_add(config, &plan->files));
    if (need != NULL) {
        BB_TRY(plan->sweep->experiment->plan(bb_config_study(config), &options, &one));
        ++need->sampled;
        need->seconds += one.estimated_seconds;
        need->host_bytes = fmax(need->host_bytes, one.host_bytes);
        need->device_bytes = fmax(need->device_bytes, one.device_bytes);
        need->output_bytes += one.output_bytes;
    }
done:
    bb_plan_release(&one);
    bb_config_destroy(&config);
    return status;
}

// Point at a given fraction of all points, or the next one that is not excluded.
static bb_index spread_point(const bb_sweep *sweep, bb_index index, bb_index count)
{
    bb_index point =
        (bb_index)floor((double)sweep->point_count * ((double)index + 0.5) / (double)count);
    while (bb_sweep_is_excluded(sweep, point)) {
        point = (point + 1) % sweep->point_count;
    }
    return point;
}

// Checks every value of every axis, with the others at their first value; false if a rule excludes
// the point.
static bb_status check_values(bb_sweep_plan *plan, bb_index threads, bb_problems *problems)
{
    bb_status status = BB_OK;
    for (bb_index a = 0; a < plan->sweep->axes.count; ++a) {
        const bb_index stride = bb_sweep_stride(plan->sweep, a);
        const bb_index count = plan->sweep->axes.axes[a].count;
        for (bb_index v = 0; v < count; ++v) {
            if (!bb_sweep_is_excluded(plan->sweep, v * stride)) {
                BB_TRY(check_point(plan, v * stride, threads, NULL, problems));
            }
        }
    }
done:
    return status;
}

static bb_status check_points(bb_sweep_plan *plan, bb_index threads, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_index points = plan->sweep->point_count;
    const bb_index planned = points < PLANNED_POINTS ? points : PLANNED_POINTS;
    bb_sweep_need *need = &plan->need;
    if (points <= CHECKED_POINTS) {
        for (bb_index p = 0; p < points; ++p) {
            if (!bb_sweep_is_excluded(plan->sweep, p)) {
                BB_TRY(check_point(plan, p, threads, NULL, problems));
            }
        }
    } else {
        BB_TRY(check_values(plan, threads, problems));
    }
    for (bb_index i = 0; i < planned; ++i) {
        BB_TRY(check_point(plan, spread_point(plan->sweep, i, planned), threads, need, problems));
    }
    need->seconds /= (double)need->sampled;
    need->output_bytes /= (double)need->sampled;
done:
    if (status == BB_INVALID && problems->count > 0) {
        bb_status_record record;
        bb_status_save(&record);
        status = bb_status_set(BB_INVALID, __FILE__, __LINE__,
                               "%s (exclude impossible points by sweep.exclude)", record.message);
    }
    return status;
}

static void choose_shards(const bb_sweep_plan_request *request, bb_sweep_plan *plan)
{
    const bb_index points = bb_sweep_plan_points(plan);
    const double seconds = plan->need.seconds * (double)points;
    bb_index shards = plan->sweep->config.shards;
    if (shards == BB_INTEGER_UNSET) {
        shards = request->shards > 0 ? request->shards
                 : seconds > 0.0     ? (bb_index)fmin(ceil(seconds / SHARD_SECONDS), 1000.0)
                                     : 1;
    }
    plan->shards = shards > points ? points : shards < 1 ? 1 : shards;
}

static json_t *list_files(const bb_sweep *sweep)
{
    json_t *files = json_array();
    for (bb_index f = 0; f < bb_config_base_file_count(sweep->base); ++f) {
        const bb_config_file file = bb_config_base_file(sweep->base, f);
        (void)json_array_append_new(files,
                                    json_pack("{ss ss}", "name", file.name, "text", file.text));
    }
    return files;
}

static json_t *list_inputs(const bb_point_files *files)
{
    json_t *inputs = json_array();
    for (bb_index f = 0; f < files->count; ++f) {
        (void)json_array_append_new(inputs, json_pack("{ss ss}", "path", files->files[f].path,
                                                      "digest", files->files[f].digest));
    }
    return inputs;
}

// Overrides of the study: the user's, the device, and the drawn seed.
typedef struct overrides {
    bb_arena arena;
    const char *texts[BB_SWEEP_OVERRIDES];
    bb_index count;
} overrides;

static bb_status resolve_overrides(const bb_experiment_table *experiments,
                                   const bb_sweep_plan_request *request, const char *path,
                                   bb_problems *problems, overrides *out)
{
    bb_status status = BB_OK;
    bb_sweep *sweep = NULL;
    bb_config *config = NULL;
    const bb_config_request first = {.path = path,
                                     .begin = request->begin,
                                     .overrides = out->texts,
                                     .override_count =
                                         request->override_count + (request->device != NULL)};
    BB_REQUIRE(request->override_count + 2 <= BB_SWEEP_OVERRIDES, BB_INVALID,
               "%td overrides, expected at most %d", request->override_count,
               BB_SWEEP_OVERRIDES - 2);
    for (bb_index i = 0; i < request->override_count; ++i) {
        out->texts[out->count++] = request->overrides[i];
    }
    if (request->device != NULL) {
        BB_TRY(
            bb_arena_printf(&out->arena, &out->texts[out->count++], "device=%s", request->device));
    }
    BB_TRY(bb_sweep_read(experiments, &first, NULL, problems, &sweep));
    BB_TRY(bb_config_base_bind(sweep->base, NULL, 0, problems, &config));
    const bb_study *study = bb_config_study(config);
    BB_TRY(bb_arena_printf(&out->arena, &out->texts[out->count++], "seed=%td", study->seed));
done:
    bb_config_destroy(&config);
    bb_sweep_destroy(&sweep);
    return status;
}

bb_status bb_sweep_plan_seal(const void *json, char id[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted by a plan");
    bb_digest_of(text, strlen(text), id);
done:
    free(text);
    return status;
}

// Writes the text of plan.json and its id, a digest of everything else in it.
static bb_status describe(bb_sweep_plan *plan, const overrides *list)
{
    bb_status status = BB_OK;
    bb_text sweep = {0};
    char *text = NULL;
    json_t *object = NULL;
    json_t *texts = json_array();
    const bb_sweep_need *need = &plan->need;
    for (bb_index i = 0; i < list->count; ++i) {
        (void)json_array_append_new(texts, json_string(list->texts[i]));
    }
    BB_TRY(bb_node_write(plan->sweep->node, &sweep));
    object = json_pack(
        "{si si ss ss ss so so sO ss sI sI ss sI sf sf sf sf sI}", "bitbudget_sweep",
        BB_SWEEP_PLAN_VERSION, "numerics", BB_NUMERICS, "version", BB_VERSION, "commit", BB_COMMIT,
        "experiment", plan->sweep->experiment->name, "files", list_files(plan->sweep), "inputs",
        list_inputs(&plan->files), "overrides", texts, "sweep", bb_text_string(&sweep), "points",
        (json_int_t)bb_sweep_plan_points(plan), "combinations",
        (json_int_t)plan->sweep->point_count, "device", bb_device_names[plan->device], "shards",
        (json_int_t)plan->shards, "point_seconds", isfinite(need->seconds) ? need->seconds : -1.0,
        "point_host_bytes", need->host_bytes, "point_device_bytes", need->device_bytes,
        "point_output_bytes", need->output_bytes, "points_planned", (json_int_t)need->sampled);
    BB_REQUIRE(object != NULL, BB_INVALID, "a file of the plan, or an override, is not UTF-8");
    BB_TRY(bb_sweep_plan_seal(object, plan->id));
    (void)json_object_set_new(object, "plan", json_string(plan->id));
    text = json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted by a plan");
    BB_TRY(bb_memory_printf(&plan->text, "%s\n", text));
done:
    free(text);
    json_decref(object);
    json_decref(texts);
    bb_text_release(&sweep);
    return status;
}

bb_status bb_sweep_plan_make(const bb_experiment_table *experiments,
                             const bb_sweep_plan_request *request, bb_problems *problems,
                             bb_sweep_plan **out)
{
    bb_status status = BB_OK;
    bb_sweep_plan *plan = NULL;
    bb_config *config = NULL;
    overrides list = {.count = 0};
    // Uses an absolute path, so that its files can be found from any folder.
    char *path = realpath(request->path, NULL);
    *out = NULL;
    BB_REQUIRE(path != NULL, BB_IO, "cannot read plan '%s': %s", request->path, strerror(errno));
    BB_TRY(resolve_overrides(experiments, request, path, problems, &list));
    BB_TRY(BB_ZEROED(1, &plan));
    const bb_config_request study = {
        .path = path, .overrides = list.texts, .override_count = list.count};
    BB_TRY(bb_sweep_read(experiments, &study, NULL, problems, &plan->sweep));
    BB_TRY(bb_config_base_bind(plan->sweep->base, NULL, 0, problems, &config));
    BB_TRY(check_points(plan, request->threads, problems));
    // `auto` is resolved on the planning machine.
    plan->device = bb_device_choice_of_plan(((const bb_study *)bb_config_study(config))->device,
                                            plan->need.device_bytes);
    choose_shards(request, plan);
    BB_TRY(describe(plan, &list));
    *out = plan;
    plan = NULL;
done:
    free(path);
    bb_config_destroy(&config);
    bb_arena_release(&list.arena);
    bb_sweep_plan_destroy(&plan);
    return status;
}

bb_status bb_sweep_plan_check_files(const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    char digest[BB_DIGEST_BYTES];
    for (bb_index f = 0; f < plan->files.count; ++f) {
        const bb_point_file *file = &plan->files.files[f];
        BB_TRY(bb_digest_file(file->path, digest));
        BB_REQUIRE(strcmp(digest, file->digest) == 0, BB_INVALID,
                   "'%s' has changed since the sweep was planned", file->path);
    }
done:
    return status;
}

// Lists "0.4008 to 1.599": minimum and maximum of numbers, since samples are unordered, else first
// and last.
static bb_status list_values(const bb_sweep_key *key, bb_index count, bb_text *out)
{
    enum { SHORT_BYTES = 8 };
    bb_status status = BB_OK;
    bb_index ends[2] = {0, count - 1};
    for (bb_index i = 0; key->numbers != NULL && i < count; ++i) {
        ends[0] = key->numbers[i] < key->numbers[ends[0]] ? i : ends[0];
        ends[1] = key->numbers[i] > key->numbers[ends[1]] ? i : ends[1];
    }
    for (int e = 0; e < 2; ++e) {
        const char *text = key->texts[ends[e]];
        BB_TRY(bb_text_add(out, "%s", e == 0 ? "" : " to "));
        const bool is_long = key->numbers != NULL && strlen(text) > SHORT_BYTES &&
                             key->numbers[ends[e]] != rint(key->numbers[ends[e]]);
        BB_TRY(is_long ? bb_text_add(out, "%.4g", key->numbers[ends[e]])
                       : bb_text_add(out, "%s", text));
    }
done:
    return status;
}

bb_status bb_sweep_plan_list(const bb_sweep_plan *plan, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_sweep *sweep = plan->sweep;
    const bb_sweep_need *need = &plan->need;
    const double points = (double)bb_sweep_plan_points(plan);
    BB_TRY(bb_text_add(out, "%s, %.0f points, %td shard%s, device %s\n", sweep->experiment->name,
                       points, plan->shards, plan->shards == 1 ? "" : "s",
                       bb_device_names[plan->device]));
    for (bb_index a = 0; a < sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &sweep->axes.axes[a];
        for (bb_index k = 0; k < axis->key_count; ++k) {
            const bb_sweep_key *key = &axis->keys[k];
            BB_TRY(bb_text_add(out, "  %-40s %5td values, ", key->path, axis->count));
            BB_TRY(list_values(key, axis->count, out));
            BB_TRY(bb_text_add(out, "%s\n",
                               sweep->searches && a == sweep->axes.count - 1 ? ", searched" : ""));
        }
    }
    if (sweep->excluded_count > 0) {
        BB_TRY(bb_text_add(out, "  excluded %td of %td combinations\n", sweep->excluded_count,
                           sweep->point_count));
    }
    BB_TRY(bb_text_add(out, "  %-40s %.3g s of one process, %.3g s per point (%td planned)\n",
                       "time, estimated", points * need->seconds, need->seconds, need->sampled));
    BB_TRY(bb_text_add(out, "  %-40s %.1f MB on the host, %.1f MB on a device\n",
                       "memory of a point, largest", 1e-6 * need->host_bytes,
                       1e-6 * need->device_bytes));
    BB_TRY(bb_text_add(out, "  %-40s %.1f MB%s\n", "result files",
                       sweep->keeps_files ? 1e-6 * points * need->output_bytes : 0.0,
                       sweep->keeps_files ? "" : " (scalars only)"));
done:
    return status;
}

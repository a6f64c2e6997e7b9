// SPDX-License-Identifier: Apache-2.0
//
// plan.json: bb_sweep_plan_write, bb_sweep_plan_open.
#include "build_info.h"
#include "core/disk_file.h"
#include "core/file.h"
#include "core/memory.h"
#include "sim/sweep/sweep_plan.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAXIMUM_FILES = 16 };

static bb_status make_folder(const char *path)
{
    bb_status status = BB_OK;
    BB_REQUIRE(mkdir(path, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               path, strerror(errno));
done:
    return status;
}

// Reads the id of the plan in a file; "" if there is none.
static bb_status read_sealed(const char *path, json_t **out)
{
    bb_status status = BB_OK;
    FILE *file = NULL;
    char id[BB_DIGEST_BYTES] = "";
    json_error_t error;
    json_t *object = NULL;
    BB_TRY(bb_disk_file_open(path, true, &file));
    object = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    const char *recorded_id = json_string_value(json_object_get(object, "plan"));
    BB_REQUIRE(recorded_id != NULL, BB_IO, "'%s' is not the plan of a sweep%s%s", path,
               object == NULL ? ": " : "", object == NULL ? error.text : "");
    const json_int_t version = json_integer_value(json_object_get(object, "bitbudget_sweep"));
    BB_REQUIRE(version == BB_SWEEP_PLAN_VERSION, BB_IO, "'%s': plan of version %lld, expected %d",
               path, (long long)version, BB_SWEEP_PLAN_VERSION);
    json_t *body = json_copy(object);
    (void)json_object_del(body, "plan");
    status = bb_sweep_plan_seal(body, id);
    json_decref(body);
    BB_TRY(status);
    BB_REQUIRE(
        strcmp(id, recorded_id) == 0, BB_IO,
        "'%s' was changed after it was written: recorded digest %s, digest of its contents %s",
        path, recorded_id, id);
    *out = object;
    object = NULL;
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    json_decref(object);
    return status;
}

// True if two plans have the same points and results: shards and estimates may differ.
static bool is_equivalent(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"numerics", "commit",    "experiment", "files",
                                          "inputs",   "overrides", "sweep",      "device"};
    for (size_t i = 0; i < sizeof members / sizeof *members; ++i) {
        if (!json_equal(json_object_get(a, members[i]), json_object_get(b, members[i]))) {
            return false;
        }
    }
    return true;
}

// Replaces a plan by the equivalent one in the folder.
static bb_status use_present(bb_sweep_plan *plan, const json_t *present, const char *folder)
{
    bb_status status = BB_OK;
    json_t *own = json_loads(plan->text, 0, NULL);
    const char *id = json_string_value(json_object_get(present, "plan"));
    const char *commit = json_string_value(json_object_get(present, "commit"));
    const bool other = commit == NULL || strcmp(commit, BB_COMMIT) != 0;
    BB_REQUIRE(is_equivalent(own, present), BB_IO,
               "'%s' has plan %s%s%s instead of this one (%s); name another folder, or remove the "
               "plan with its results",
               folder, id, other ? ", made by build " : "", other ? commit : "", plan->id);
    (void)snprintf(plan->id, sizeof plan->id, "%s", id);
    plan->shards = (bb_index)json_integer_value(json_object_get(present, "shards"));
done:
    json_decref(own);
    return status;
}

bb_status bb_sweep_plan_write(bb_sweep_plan *plan, const char *folder)
{
    bb_status status = BB_OK;
    char *path = NULL;
    char *shards = NULL;
    json_t *present = NULL;
    struct stat about;
    BB_TRY(make_folder(folder));
    BB_TRY(bb_memory_printf(&path, "%s/plan.json", folder));
    BB_TRY(bb_memory_printf(&shards, "%s/shards", folder));
    if (stat(path, &about) == 0) {
        BB_TRY(read_sealed(path, &present));
        BB_TRY(use_present(plan, present, folder));
    } else {
        BB_TRY(bb_file_write(path, false, plan->text, (bb_index)strlen(plan->text)));
    }
    BB_TRY(make_folder(shards));
    BB_RELEASE(&plan->folder);
    BB_TRY(bb_memory_text(folder, &plan->folder));
done:
    json_decref(present);
    BB_RELEASE(&shards);
    BB_RELEASE(&path);
    return status;
}

static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i] != NULL; ++i) {
        if (word != NULL && strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

static bb_status load_sweep(const bb_experiment_table *experiments, const json_t *object,
                            bb_problems *problems, bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    bb_config_file files[MAXIMUM_FILES];
    const char *texts[BB_SWEEP_OVERRIDES];
    const json_t *list = json_object_get(object, "files");
    const json_t *overrides_list = json_object_get(object, "overrides");
    const size_t file_count = json_array_size(list);
    const size_t count = json_array_size(overrides_list);
    BB_REQUIRE(file_count >= 1 && file_count <= MAXIMUM_FILES && count <= BB_SWEEP_OVERRIDES, BB_IO,
               "the plan has %zu files and %zu overrides, which is not supported", file_count,
               count);
    for (size_t i = 0; i < file_count; ++i) {
        const json_t *file = json_array_get(list, i);
        files[i] = (bb_config_file){json_string_value(json_object_get(file, "name")),
                                    json_string_value(json_object_get(file, "text"))};
        BB_REQUIRE(files[i].name != NULL && files[i].text != NULL, BB_IO,
                   "file %zu of the plan has no name or text", i);
    }
    for (size_t i = 0; i < count; ++i) {
        texts[i] = json_string_value(json_array_get(overrides_list, i));
        BB_REQUIRE(texts[i] != NULL, BB_IO, "override %zu of the plan is not a text", i);
    }
    const bb_config_request request = {.path = files[0].name,
                                       .overrides = texts,
                                       .override_count = (bb_index)count,
                                       .files = files,
                                       .file_count = (bb_index)file_count};
    BB_TRY(bb_sweep_read(experiments, &request, json_string_value(json_object_get(object, "sweep")),
                         problems, &plan->sweep));
done:
    return status;
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static bb_status read_facts(const json_t *object, bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    const json_t *inputs = json_object_get(object, "inputs");
    const int device =
        find_word(bb_device_names, json_string_value(json_object_get(object, "device")));
    plan->shards = (bb_index)json_integer_value(json_object_get(object, "shards"));
    plan->need = (bb_sweep_need){
        .sampled = (bb_index)json_integer_value(json_object_get(object, "points_planned")),
        .seconds = number_of(object, "point_seconds"),
        .host_bytes = number_of(object, "point_host_bytes"),
        .device_bytes = number_of(object, "point_device_bytes"),
        .output_bytes = number_of(object, "point_output_bytes")};
    plan->need.seconds = plan->need.seconds < 0.0 ? NAN : plan->need.seconds;
    BB_REQUIRE(device >= 0 && device < BB_DEVICE_KIND_COUNT && plan->shards >= 1 &&
                   json_array_size(inputs) <= BB_POINT_FILES,
               BB_IO, "the plan has a device, shards or files unknown to this program");
    plan->device = (bb_device_kind)device;
    for (size_t i = 0; i < json_array_size(inputs); ++i) {
        bb_point_file *file = &plan->files.files[plan->files.count++];
        const json_t *input = json_array_get(inputs, i);
        BB_REQUIRE(json_is_string(json_object_get(input, "path")) &&
                       json_is_string(json_object_get(input, "digest")),
                   BB_IO, "input %zu of the plan has no path or digest", i);
        (void)snprintf(file->path, sizeof file->path, "%s",
                       json_string_value(json_object_get(input, "path")));
        (void)snprintf(file->digest, sizeof file->digest, "%s",
                       json_string_value(json_object_get(input, "digest")));
    }
    (void)snprintf(plan->id, sizeof plan->id, "%s",
                   json_string_value(json_object_get(object, "plan")));
    const char *commit = json_string_value(json_object_get(object, "commit"));
    plan->is_other_build = commit == NULL || strcmp(commit, BB_COMMIT) != 0;
done:
    return status;
}

bb_status bb_sweep_plan_open(const bb_experiment_table *experiments, const char *folder,
                             bb_sweep_plan **out)
{
    bb_status status = BB_OK;
    bb_sweep_plan *plan = NULL;
    char *path = NULL;
    json_t *object = NULL;
    char *text = NULL;
    bb_problems problems = {0};
    *out = NULL;
    BB_TRY(bb_memory_printf(&path, "%s/plan.json", folder));
    BB_REQUIRE(access(path, F_OK) == 0, BB_IO,
               "'%s' has no plan.json; create it with 'bitbudget sweep plan PLAN.yaml %s'", folder,
               folder);
    BB_TRY(read_sealed(path, &object));
    const json_int_t numerics = json_integer_value(json_object_get(object, "numerics"));
    BB_REQUIRE(
        numerics == BB_NUMERICS, BB_IO,
        "'%s' was made for numerics %lld, but this program has %d, which gives different results",
        path, (long long)numerics, BB_NUMERICS);
    BB_TRY(BB_ZEROED(1, &plan));
    BB_TRY(bb_memory_text(folder, &plan->folder));
    status = load_sweep(experiments, object, &problems, plan);
    BB_REQUIRE(status != BB_INVALID || problems.count == 0, BB_IO,
               "'%s' is invalid for this version of the program: %s", path,
               bb_text_string(&problems.lines));
    BB_TRY(status);
    BB_TRY(read_facts(object, plan));
    text = json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted by a plan");
    BB_TRY(bb_memory_printf(&plan->text, "%s\n", text));
    *out = plan;
    plan = NULL;
done:
    bb_problems_release(&problems);
    free(text);
    json_decref(object);
    BB_RELEASE(&path);
    bb_sweep_plan_destroy(&plan);
    return status;
}

bb_status bb_sweep_plan_inputs(const bb_sweep_plan *plan, bb_file_list *inputs)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < bb_config_base_file_count(plan->sweep->base); ++i) {
        BB_TRY(bb_file_list_add(inputs, bb_config_base_file(plan->sweep->base, i).name));
    }
    for (bb_index i = 0; i < plan->files.count; ++i) {
        BB_TRY(bb_file_list_add(inputs, plan->files.files[i].path));
    }
done:
    return status;
}

static bb_status add_files(const char *folder, const char *part, const char *ending,
                           bb_file_list *inputs)
{
    bb_status status = BB_OK;
    char *path = NULL;
    DIR *all = NULL;
    BB_TRY(bb_memory_printf(&path, "%s/%s", folder, part));
    all = opendir(path);
    for (const struct dirent *entry = all == NULL ? NULL : readdir(all); entry != NULL;
         entry = readdir(all)) {
        const size_t length = strlen(entry->d_name);
        const size_t end = strlen(ending);
        if (length > end && strcmp(entry->d_name + length - end, ending) == 0) {
            BB_RELEASE(&path);
            BB_TRY(bb_memory_printf(&path, "%s/%s/%s", folder, part, entry->d_name));
            BB_TRY(bb_file_list_add(inputs, path));
        }
    }
done:
    if (all != NULL) {
        (void)closedir(all);
    }
    BB_RELEASE(&path);
    return status;
}

bb_status bb_sweep_plan_folder_inputs(const char *folder, bb_file_list *inputs)
{
    bb_status status = BB_OK;
    BB_TRY(add_files(folder, ".", ".json", inputs));
    BB_TRY(add_files(folder, "shards", ".jsonl", inputs));
    BB_TRY(add_files(folder, "points", ".h5", inputs));
done:
    return status;
}

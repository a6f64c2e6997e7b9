// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/record_file.h"

#include "build_info.h"
#include "core/disk_file.h"
#include "core/memory.h"
#include "core/text.h"
#include "sim/output/former_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

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

// True if a dataset to keep has this axis.
static bool is_axis_of_kept(const bb_results *results, const bb_dataset *axis,
                            const char *const *keep, bb_index count)
{
    for (bb_index k = 0; k < count; ++k) {
        const bb_dataset *dataset = bb_results_in(results, "results", keep[k]);
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
                                        : json_real(dataset->numbers[i]); // NULL for NaN
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
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted by the record of a point");
    BB_TRY(bb_text_add(out, "%s", text + 1)); // without the opening brace
done:
    free(text);
    return status;
}

// Sets `*is_new` for descriptions not written before, and remembers them.
static bb_status note_description(const json_t *datasets, bb_described *known, bool *is_new)
{
    bb_status status = BB_OK;
    char *text = json_dumps(datasets, JSON_COMPACT);
    BB_REQUIRE(text != NULL, BB_MEMORY, "host memory exhausted by the record of a point");
    char digest[BB_DIGEST_BYTES];
    bb_digest_of(text, strlen(text), digest);
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
        BB_REQUIRE(bb_results_in(results, "results", keep[k]) != NULL, BB_INVALID,
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

bb_status bb_point_record_write(const bb_point_record *head, double seconds, const char *rest,
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
                       message == NULL ? json_string("its message is not UTF-8") : message);
    BB_TRY(add_dump(object, out));
    BB_TRY(bb_text_add(out, "\n"));
done:
    json_decref(object);
    return status;
}

enum { PLAN_BYTES = 40, ATTEMPTS = 16 };

struct bb_record_file {
    char *folder;
    char plan[PLAN_BYTES];
    bb_index shard;
    char *path;
    int descriptor; // -1: no line written yet
    off_t bytes;    // size of complete lines
};

static const char *environment(const char *const *names)
{
    for (; *names != NULL; ++names) {
        const char *value = getenv(*names);
        if (value != NULL && value[0] != '\0' && strchr(value, '/') == NULL) {
            return value;
        }
    }
    return NULL;
}

bb_status bb_record_file_create(const char *folder, const char *plan, bb_index shard,
                                bb_record_file **out)
{
    bb_status status = BB_OK;
    bb_record_file *file = NULL;
    BB_TRY(BB_ZEROED(1, &file));
    file->descriptor = -1;
    file->shard = shard;
    (void)snprintf(file->plan, sizeof file->plan, "%s", plan);
    BB_TRY(bb_memory_text(folder, &file->folder));
    *out = file;
    file = NULL;
done:
    bb_record_file_close(&file);
    return status;
}

void bb_record_file_close(bb_record_file **file)
{
    if (*file != NULL) {
        if ((*file)->descriptor >= 0) {
            (void)close((*file)->descriptor);
        }
        BB_RELEASE(&(*file)->path);
        BB_RELEASE(&(*file)->folder);
    }
    BB_RELEASE(file);
}

// Makes the name "SHARD.JOB.RESTART.RANDOM.jsonl", unique among processes, containers and hosts.
static bb_status make_name(bb_record_file *file)
{
    bb_status status = BB_OK;
    static const char *const jobs[] = {"SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID",
                                       "HQ_JOB_ID", NULL};
    static const char *const restarts[] = {"SLURM_RESTART_COUNT", NULL};
    const char *job = environment(jobs);
    const char *restart = environment(restarts);
    uint64_t number = 0;
    BB_REQUIRE(getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number, BB_IO,
               "cannot draw a name: %s", strerror(errno));
    BB_RELEASE(&file->path);
    BB_TRY(bb_memory_printf(&file->path, "%s/shards/%td.%.40s.%.10s.%016llx.jsonl", file->folder,
                            file->shard, job == NULL ? "local" : job,
                            restart == NULL ? "0" : restart, (unsigned long long)number));
done:
    return status;
}

static bb_status append(bb_record_file *file, const char *line, bb_index length)
{
    bb_status status = BB_OK;
    const ssize_t count = write(file->descriptor, line, (size_t)length);
    const int reason = count < 0 ? errno : ENOSPC;
    if (count != length) {
        // Removes a partial write, which would count as an incomplete line.
        (void)!ftruncate(file->descriptor, file->bytes);
        BB_FAIL(BB_IO, "cannot write '%s': %s", file->path, strerror(reason));
    }
    BB_REQUIRE(fdatasync(file->descriptor) == 0, BB_IO, "cannot write '%s': %s", file->path,
               strerror(errno));
    file->bytes += length;
done:
    return status;
}

static bb_status open_file(bb_record_file *file)
{
    bb_status status = BB_OK;
    bb_text first = {0};
    char host[65] = "";
    (void)gethostname(host, sizeof host - 1);
    for (int attempt = 0; file->descriptor < 0; ++attempt) {
        BB_TRY(make_name(file));
        file->descriptor =
            open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        BB_REQUIRE(file->descriptor >= 0 || (errno == EEXIST && attempt < ATTEMPTS), BB_IO,
                   "cannot write '%s': %s", file->path, strerror(errno));
    }
    BB_TRY(bb_text_add(&first,
                       "{\"plan\":\"%s\",\"shard\":%td,\"version\":\"%s\",\"commit\":\"%s\","
                       "\"host\":\"%s\",\"pid\":%ld}\n",
                       file->plan, file->shard, BB_VERSION, BB_COMMIT, host, (long)getpid()));
    BB_TRY(append(file, bb_text_string(&first), first.length));
done:
    if (status != BB_OK && file->descriptor >= 0) {
        (void)close(file->descriptor);
        file->descriptor = -1;
    }
    bb_text_release(&first);
    return status;
}

bb_status bb_record_file_append(bb_record_file *file, const char *line, bb_index length)
{
    bb_status status = BB_OK;
    if (file->descriptor < 0) {
        BB_TRY(open_file(file));
    }
    BB_TRY(append(file, line, length));
done:
    return status;
}

typedef struct visit {
    const char *folder, *plan;
    bb_status (*visit_line)(void *context, const bb_record_line *line);
    void *context;
    bb_index torn;
} visit;

static bb_status check_plan(const visit *task, const char *file, const json_t *line)
{
    bb_status status = BB_OK;
    const char *plan = json_string_value(json_object_get(line, "plan"));
    BB_REQUIRE(plan != NULL && strcmp(plan, task->plan) == 0, BB_IO,
               "'%s/shards/%s': records of plan %s, expected those of %s", task->folder, file,
               plan == NULL ? "?" : plan, task->plan);
done:
    return status;
}

// Gives a member its current name.
static void update_member(json_t *object, const bb_former_name *name)
{
    json_t *value = json_object_get(object, name->former);
    if (value != NULL) {
        (void)json_object_set(object, name->current, value);
        (void)json_object_del(object, name->former);
    }
}

// Gives the datasets of a record of an earlier version their current names.
static void update_names(json_t *record)
{
    const json_t *datasets = json_object_get(record, "datasets");
    for (size_t i = 0; i < json_array_size(datasets); ++i) {
        json_t *dataset = json_array_get(datasets, i);
        const char *name = json_string_value(json_object_get(dataset, "name"));
        const char *current = name == NULL ? NULL : bb_former_name_current(name);
        if (current != name) {
            (void)json_object_set_new(dataset, "name", json_string(current));
        }
    }
    for (const bb_former_name *name = bb_former_names; name->former != NULL; ++name) {
        update_member(json_object_get(record, "numbers"), name);
        update_member(json_object_get(record, "texts"), name);
    }
}

static bb_status read_lines(visit *task, const char *name, char *text, bb_index length)
{
    bb_status status = BB_OK;
    json_t *json = NULL;
    bb_index number = 0;
    bool named = false;
    for (char *line = text; line < text + length;) {
        char *end = memchr(line, '\n', (size_t)(text + length - line));
        const size_t bytes = (size_t)((end == NULL ? text + length : end) - line);
        ++number;
        json = end == NULL ? NULL : json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
        const bool names_point = json_is_integer(json_object_get(json, "point"));
        if (!json_is_object(json) || (named && !names_point)) {
            ++task->torn;
        } else if (!named) {
            BB_TRY(check_plan(task, name, json));
            named = true;
        } else {
            update_names(json);
            const bb_record_line record = {name, number, json};
            BB_TRY(task->visit_line(task->context, &record));
        }
        json_decref(json);
        json = NULL;
        line += bytes + 1;
    }
done:
    json_decref(json);
    return status;
}

static bb_status read_file(visit *task, const char *name)
{
    bb_status status = BB_OK;
    char *path = NULL;
    char *text = NULL;
    FILE *file = NULL;
    struct stat about;
    BB_TRY(bb_memory_printf(&path, "%s/shards/%s", task->folder, name));
    BB_TRY(bb_disk_file_open(path, false, &file));
    BB_REQUIRE(fstat(fileno(file), &about) == 0, BB_IO, "'%s': %s", path, strerror(errno));
    BB_TRY(BB_ALLOCATE((bb_index)about.st_size + 1, &text));
    // A file that grows meanwhile is read up to its initial size.
    const size_t got = fread(text, 1, (size_t)about.st_size, file);
    BB_TRY(read_lines(task, name, text, (bb_index)got));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    BB_RELEASE(&text);
    BB_RELEASE(&path);
    return status;
}

static int is_record(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".jsonl") == 0;
}

bb_status bb_record_file_visit(const char *folder, const char *plan,
                               bb_status (*visit_line)(void *context, const bb_record_line *line),
                               void *context, bb_index *torn)
{
    bb_status status = BB_OK;
    struct dirent **entries = NULL;
    char *path = NULL;
    int count = 0;
    visit task = {folder, plan, visit_line, context, 0};
    BB_TRY(bb_memory_printf(&path, "%s/shards", folder));
    count = scandir(path, &entries, is_record, alphasort);
    BB_REQUIRE(count >= 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    for (int i = 0; i < count; ++i) {
        BB_TRY(read_file(&task, entries[i]->d_name));
    }
    *torn = task.torn;
done:
    for (int i = 0; i < count; ++i) {
        free(entries[i]);
    }
    free(entries);
    BB_RELEASE(&path);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/wisdom.h"

#include "core/device/build.h"
#include "core/digest.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/config/shipped_folder.h"
#include "solvers/kernels/emission/emission.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SIZE_FACTOR = 4.0; // beyond this ratio the default is the better guess
static const char folder_name[] = "kernels/tuned/";
static const char *const endings[] = {".yaml", NULL};

// Reads a file from the first folder that contains it.
static bb_status read_file(char *const folders[BB_SHIPPED_FOLDERS], const char *name,
                           bb_wisdom_file *out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    for (int i = 0; i < BB_SHIPPED_FOLDERS && (path == NULL || access(path, F_OK) != 0); ++i) {
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s%s%s%s", folders[i], folder_name, name, endings[0]));
    }
    status = bb_wisdom_file_read(path, out);
    if (status == BB_IO || status == BB_INVALID) {
        bb_log_warning("shipped variants of kernels are ignored: %s", bb_status_message());
        bb_status_clear();
        status = BB_OK;
    }
done:
    BB_RELEASE(&path);
    return status;
}

bb_status bb_wisdom_read_shipped(bb_wisdom_file *out)
{
    bb_status status = BB_OK;
    bb_shipped_names names = {0};
    char *folders[BB_SHIPPED_FOLDERS] = {NULL, NULL};
    BB_TRY(bb_shipped_folder_find(folders));
    BB_TRY(bb_shipped_names_list(&(bb_shipped_listing){.folder = folder_name, .endings = endings},
                                 &names));
    for (bb_index i = 0; i < names.count; ++i) {
        BB_TRY(read_file(folders, names.names[i], out));
    }
done:
    bb_shipped_names_release(&names);
    for (int i = 0; i < BB_SHIPPED_FOLDERS; ++i) {
        BB_RELEASE(&folders[i]);
    }
    return status;
}

bb_status bb_wisdom_choose_shipped(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                   const bb_program *program, const bb_wisdom_record **out,
                                   char origin[BB_SHIPPED_ORIGIN_BYTES], bb_text *reasons)
{
    bb_status status = BB_OK;
    bool is_exact = false;
    bb_wisdom_key wanted = *key;
    wanted.size_factor = SIZE_FACTOR;
    wanted.tolerance = BB_WISDOM_ANY_BUILD;
    BB_TRY(bb_wisdom_choose(file, &wanted, program, false, out, &is_exact, NULL));
    if (*out == NULL) {
        wanted.tolerance = BB_WISDOM_ANY_ARCHITECTURE;
    }
    if (reasons != NULL) {
        BB_TRY(bb_text_add(reasons, "shipped (%td records):\n", file->count));
    }
    BB_TRY(bb_wisdom_choose(file, &wanted, program, false, out, &is_exact, reasons));
    if (*out != NULL) {
        (void)snprintf(origin, BB_SHIPPED_ORIGIN_BYTES, "tuned, shipped for %.100s", (*out)->name);
    }
done:
    return status;
}

const char *bb_wisdom_shipped_device(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                     bb_index *count)
{
    const char *name = NULL;
    bb_wisdom_key wanted = *key;
    *count = 0;
    for (int tolerance = BB_WISDOM_ANY_BUILD;
         tolerance <= BB_WISDOM_ANY_ARCHITECTURE && name == NULL; ++tolerance) {
        wanted.tolerance = (bb_wisdom_tolerance)tolerance;
        for (bb_index i = 0; i < file->count; ++i) {
            const bb_wisdom_record *record = &file->records[i];
            if (bb_wisdom_record_is_usable(record, &wanted)) {
                name = name == NULL ? record->name : name;
                *count += strcmp(record->name, name) == 0;
            }
        }
    }
    return name;
}

bb_status bb_wisdom_program(const bb_description *description, char out[BB_WISDOM_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_description_write(description, &text));
    bb_digest_of(bb_text_string(&text), (size_t)text.length, out);
done:
    bb_text_release(&text);
    return status;
}

void bb_wisdom_name(const char *path, char out[64])
{
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    (void)snprintf(out, 64, "%.*s", (int)strcspn(name, "."), name);
    for (char *place = out; *place != '\0'; ++place) {
        *place = *place == '_' ? '-' : *place;
    }
}

static int compare_words(const void *first, const void *second)
{
    return strcmp(*(char *const *)first, *(char *const *)second);
}

bb_status bb_wisdom_types(char *const *words, bb_index count, char out[BB_WISDOM_TYPES_BYTES])
{
    bb_status status = BB_OK;
    char **sorted = NULL;
    size_t length = 0;
    out[0] = '\0';
    BB_TRY(BB_ALLOCATE(count + 1, &sorted));
    for (bb_index i = 0; i < count; ++i) {
        sorted[i] = words[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare_words);
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(length + strlen(sorted[i]) + 2 < BB_WISDOM_TYPES_BYTES, BB_INVALID,
                   "types need more than %d bytes", BB_WISDOM_TYPES_BYTES);
        length += (size_t)snprintf(out + length, BB_WISDOM_TYPES_BYTES - length, "%s%s",
                                   i == 0 ? "" : " ", sorted[i]);
    }
done:
    BB_RELEASE(&sorted);
    return status;
}

void bb_wisdom_key_set_sizes(bb_wisdom_key *key, const bb_program *program,
                             const bb_program_data *data)
{
    key->size_count = 0;
    for (int i = 0; i < program->object_count && key->size_count < BB_WISDOM_SIZES; ++i) {
        key->sizes[key->size_count++] = data[i].columns;
        key->sizes[key->size_count++] = data[i].rows;
    }
}

bb_status bb_wisdom_find_compiler(bb_device *device, char *out, size_t bytes)
{
    static const char *const sources[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = "#include <stdint.h>\n"
                          "void bb_body(const void *const *arguments, int64_t begin, int64_t end)\n"
                          "{\n    (void)arguments;\n    (void)begin;\n    (void)end;\n}\n",
        [BB_DEVICE_CUDA] = "extern \"C\" __global__ void bb_body() {}\n",
        [BB_DEVICE_OPENCL] = "__kernel void bb_body(void) {}\n",
    };
    bb_status status = BB_OK;
    bb_build *build = NULL;
    BB_TRY(bb_build_create(device, sources[bb_device_kind_of(device)], NULL, &build));
    (void)snprintf(out, bytes, "%s", bb_build_compiler(build));
done:
    bb_build_destroy(&build);
    return status;
}

static bool is_same_text(const char *text, const char *other)
{
    return strcmp(text != NULL ? text : "", other) == 0;
}

static bb_wisdom_fit fit_device(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    const bb_device_report *report = &key->report;
    if (record->device != (int)key->device ||
        strcmp(record->architecture, report->architecture) != 0) {
        return BB_WISDOM_OTHER_DEVICE;
    }
    if (record->code != BB_EMISSION_VERSION) {
        return BB_WISDOM_OTHER_CODE;
    }
    const bool same_device = strcmp(record->name, report->name) == 0;
    const bool same_build =
        is_same_text(record->driver, report->driver) &&
        (key->compiler[0] == '\0' || strcmp(record->compiler, key->compiler) == 0);
    return (same_device || key->tolerance >= BB_WISDOM_ANY_ARCHITECTURE) &&
                   (same_build || key->tolerance >= BB_WISDOM_ANY_BUILD)
               ? BB_WISDOM_FITS
               : BB_WISDOM_STALE;
}

bb_wisdom_fit bb_wisdom_record_fit(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    if (strcmp(record->program, key->program) != 0 || record->sizes.count != key->size_count) {
        return BB_WISDOM_OTHER_PROGRAM;
    }
    return strcmp(record->types, key->types) != 0 ? BB_WISDOM_OTHER_TYPES : fit_device(record, key);
}

bool bb_wisdom_record_is_usable(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    return fit_device(record, key) == BB_WISDOM_FITS;
}

// Distance in the logarithms of extents; 0 counts as 1.
static double distance(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    const bb_index *sizes = record->sizes.items;
    double sum = 0.0;
    for (bb_index i = 0; i < key->size_count; ++i) {
        const double ratio =
            log(fmax(1.0, (double)sizes[i])) - log(fmax(1.0, (double)key->sizes[i]));
        sum += ratio * ratio;
    }
    return sqrt(sum);
}

// Extents of 0 count as 1.
static bool is_near(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    const bb_index *sizes = record->sizes.items;
    bool near = true;
    for (bb_index i = 0; i < key->size_count && key->size_factor > 0.0; ++i) {
        const double there = fmax(1.0, (double)sizes[i]);
        const double here = fmax(1.0, (double)key->sizes[i]);
        near = near && fmax(there / here, here / there) <= key->size_factor;
    }
    return near;
}

bool bb_wisdom_record_is_of(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    return record->sizes.count == key->size_count &&
           memcmp(record->sizes.items, key->sizes, (size_t)key->size_count * sizeof *key->sizes) ==
               0;
}

const bb_wisdom_record *bb_wisdom_find(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                       const bb_choice *choice)
{
    for (bb_index i = file->count; i > 0; --i) {
        const bb_wisdom_record *record = &file->records[i - 1];
        if (bb_choice_equal(&record->choice, choice) && bb_wisdom_record_is_of(record, key) &&
            bb_wisdom_record_fit(record, key) == BB_WISDOM_FITS) {
            return record;
        }
    }
    return NULL;
}

const bb_wisdom_record *bb_wisdom_find_best(const bb_wisdom_file *file, const bb_wisdom_key *key)
{
    for (bb_index i = file->count; i > 0; --i) {
        const bb_wisdom_record *record = &file->records[i - 1];
        if (record->status == BB_TRIAL_BEST && record->choice.order.lanes == 0 &&
            bb_wisdom_record_is_of(record, key) &&
            bb_wisdom_record_fit(record, key) == BB_WISDOM_FITS) {
            return record;
        }
    }
    return NULL;
}

// True if a later record gives another status for the same variant and sizes.
static bool is_superseded(const bb_wisdom_file *file, const bb_wisdom_key *key, bb_index number)
{
    const bb_wisdom_record *record = &file->records[number];
    for (bb_index i = number + 1; i < file->count; ++i) {
        const bb_wisdom_record *later = &file->records[i];
        if (bb_choice_equal(&later->choice, &record->choice) &&
            later->sizes.count == record->sizes.count &&
            memcmp(later->sizes.items, record->sizes.items,
                   (size_t)record->sizes.count * sizeof(bb_index)) == 0 &&
            bb_wisdom_record_fit(later, key) == BB_WISDOM_FITS) {
            return true;
        }
    }
    return false;
}

// Order of records of equally near sizes: winners before correct variants; among winners with one
// order of summation the later, else the faster.
static bool is_better(const bb_wisdom_record *record, const bb_wisdom_record *other)
{
    if ((record->status == BB_TRIAL_BEST) != (other->status == BB_TRIAL_BEST)) {
        return record->status == BB_TRIAL_BEST;
    }
    if (record->status == BB_TRIAL_BEST &&
        (record->choice.order.lanes > 0) == (other->choice.order.lanes > 0)) {
        return true;
    }
    return record->least_s < other->least_s;
}

typedef struct verdict {
    const char *against; // NULL: usable
    char detail[BB_TRIAL_BYTES + 96];
} verdict;

static const char *stale_part(const bb_wisdom_record *record, const bb_wisdom_key *key)
{
    return strcmp(record->name, key->report.name) != 0         ? "device"
           : !is_same_text(record->driver, key->report.driver) ? "driver"
                                                               : "compiler";
}

static void evaluate_record(const bb_wisdom_file *file, const bb_wisdom_key *key,
                            const bb_program *program, bool may_reorder, bb_index number,
                            verdict *out)
{
    const bb_wisdom_record *record = &file->records[number];
    char why[160];
    *out = (verdict){.against = NULL};
    switch (bb_wisdom_record_fit(record, key)) {
    case BB_WISDOM_FITS:
        break;
    case BB_WISDOM_STALE:
        out->against = "stale, to be measured again";
        (void)snprintf(out->detail, sizeof out->detail, "another %s", stale_part(record, key));
        return;
    default:
        out->against = "not applicable";
        return;
    }
    if (record->status > BB_TRIAL_BEST) {
        out->against = bb_trial_names[record->status];
        (void)snprintf(out->detail, sizeof out->detail, "%.240s",
                       record->why != NULL ? record->why : "");
    } else if (is_superseded(file, key, number)) {
        out->against = "measured again later";
    } else if (record->choice.order.lanes > 0 && !may_reorder) {
        out->against = "another order of summation";
    } else if (!is_near(record, key)) {
        out->against = "sizes too different";
    } else if (!bb_choice_is_legal(&record->choice, key->device, program, why, sizeof why)) {
        out->against = "the kernel has no such variant";
        (void)snprintf(out->detail, sizeof out->detail, "%s", why);
    }
}

static bb_status add_reason(const bb_wisdom_record *record, const char *reason, const char *detail,
                            bb_text *reasons)
{
    bb_status status = BB_OK;
    if (reasons == NULL) {
        goto done;
    }
    BB_TRY(bb_text_add(reasons, "  %-8.40s %-28.96s ", record->set, record->variant));
    if (record->least_s > 0.0) {
        BB_TRY(bb_text_add(reasons, "%10.3f ms  ", 1e3 * record->least_s));
    } else {
        BB_TRY(bb_text_add(reasons, "%10s     ", "-"));
    }
    BB_TRY(bb_text_add(reasons, "%s%s%s\n", reason, detail[0] != '\0' ? ": " : "", detail));
done:
    return status;
}

// Counts records for other programs, types, versions or devices.
static bb_status add_other_counts(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                  bb_text *reasons)
{
    static const char *const words[] = {
        [BB_WISDOM_OTHER_PROGRAM] = "for another description of that name",
        [BB_WISDOM_OTHER_TYPES] = "for other types",
        [BB_WISDOM_OTHER_CODE] = "for another version of the generated text",
        [BB_WISDOM_OTHER_DEVICE] = "for another device",
    };
    bb_status status = BB_OK;
    for (int fit = BB_WISDOM_OTHER_PROGRAM; fit <= BB_WISDOM_OTHER_DEVICE; ++fit) {
        bb_index count = 0;
        for (bb_index i = 0; i < file->count; ++i) {
            count += strcmp(file->records[i].kernel, key->kernel) == 0 &&
                     (int)bb_wisdom_record_fit(&file->records[i], key) == fit;
        }
        if (count > 0) {
            BB_TRY(bb_text_add(reasons, "  %td record%s %s\n", count, count == 1 ? "" : "s",
                               words[fit]));
        }
    }
done:
    return status;
}

static bb_status explain(const bb_wisdom_file *file, const bb_wisdom_key *key,
                         const bb_program *program, bool may_reorder,
                         const bb_wisdom_record *chosen, bb_text *reasons)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < file->count; ++i) {
        const bb_wisdom_record *record = &file->records[i];
        verdict found;
        const bb_wisdom_fit fit = bb_wisdom_record_fit(record, key);
        if (fit != BB_WISDOM_FITS && fit != BB_WISDOM_STALE) {
            continue;
        }
        evaluate_record(file, key, program, may_reorder, i, &found);
        if (record == chosen) {
            BB_TRY(add_reason(record, "taken", "", reasons));
        } else if (found.against != NULL) {
            BB_TRY(add_reason(record, found.against, found.detail, reasons));
        } else {
            const bool is_further = chosen == NULL || distance(record, key) > distance(chosen, key);
            BB_TRY(
                add_reason(record, is_further ? "sizes less near" : "not a winner", "", reasons));
        }
    }
    BB_TRY(add_other_counts(file, key, reasons));
done:
    return status;
}

bb_status bb_wisdom_choose(const bb_wisdom_file *file, const bb_wisdom_key *key,
                           const bb_program *program, bool may_reorder,
                           const bb_wisdom_record **out, bool *is_exact, bb_text *reasons)
{
    bb_status status = BB_OK;
    const bb_wisdom_record *chosen = NULL;
    for (bb_index i = 0; i < file->count; ++i) {
        const bb_wisdom_record *record = &file->records[i];
        verdict found;
        if (strcmp(record->program, key->program) != 0) {
            continue;
        }
        evaluate_record(file, key, program, may_reorder, i, &found);
        if (found.against != NULL) {
            continue;
        }
        const double nearer = chosen == NULL ? 0.0 : distance(record, key) - distance(chosen, key);
        if (chosen == NULL || nearer < 0.0 || (nearer == 0.0 && is_better(record, chosen))) {
            chosen = record;
        }
    }
    *out = chosen;
    *is_exact = chosen != NULL && bb_wisdom_record_is_of(chosen, key);
    if (reasons != NULL) {
        BB_TRY(explain(file, key, program, may_reorder, chosen, reasons));
    }
done:
    return status;
}

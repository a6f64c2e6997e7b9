// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/wisdom_file.h"

#include "core/disk_file.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/config/binding.h"
#include "sim/config/emission.h"
#include "sim/config/scalar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBER(member_) .offset = offsetof(bb_wisdom_record, member_)
#define TEXT(member_)   .kind = BB_KEY_TEXT, MEMBER(member_)
#define SECONDS(member_)                                                                           \
    .kind = BB_KEY_DOUBLE, MEMBER(member_), .unit = "s", .maximum = 1e6, .optional = true,         \
    .exclusive_minimum = true
#define COUNT(member_, most)                                                                       \
    .kind = BB_KEY_INTEGER, MEMBER(member_), .minimum = 0.0, .maximum = (most)

static const char *const devices[] = {"cpu", "cuda", "opencl", NULL};
static const char *const statuses[] = {"right", "best", "slow",  "compile",
                                       "limit", "run",  "wrong", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "version", COUNT(version, 1e6), .meaning = "Version of the record format."},
    {.name = "kernel", TEXT(kernel), .meaning = "The kernel's name."},
    {.name = "program", TEXT(program), .meaning = "Digest of its description."},
    {.name = "code", COUNT(code, 1e6), .meaning = "Version of the text generator."},
    {.name = "types", TEXT(types), .meaning = "Types."},
    {.name = "device", .kind = BB_KEY_CHOICE, MEMBER(device), .choices = devices,
     .meaning = "Kind of device."},
    {.name = "architecture", TEXT(architecture), .meaning = "Architecture of the device."},
    {.name = "name", TEXT(name), .meaning = "Name of the device."},
    {.name = "driver", TEXT(driver), .optional = true, .meaning = "Versions of its driver."},
    {.name = "compiler", TEXT(compiler), .meaning = "Compiler of the text."},
    {.name = "set", TEXT(set), .meaning = "Benchmark data."},
    {.name = "sizes", .kind = BB_KEY_INTEGERS, MEMBER(sizes), .minimum = 0.0, .maximum = 0x1p40,
     .minimum_count = 2, .meaning = "Columns and rows of each object."},
    {.name = "variant", TEXT(variant), .meaning = "The variant."},
    {.name = "status", .kind = BB_KEY_CHOICE, MEMBER(status), .choices = statuses,
     .meaning = "Result of the trial."},
    {.name = "why", TEXT(why), .optional = true, .meaning = "Reason for the failure."},
    {.name = "least_s", SECONDS(least_s), .meaning = "Least time of a launch."},
    {.name = "median_s", SECONDS(median_s), .meaning = "Median time of a launch."},
    {.name = "samples", COUNT(samples, 1e6), .default_text = "0", .meaning = "Number of measured "
                                                                             "times."},
    {.name = "bytes", .kind = BB_KEY_DOUBLE, MEMBER(bytes), .unit = "byte", .maximum = 1e18,
     .optional = true, .meaning = "Minimum memory traffic."},
    {.name = "candidates", COUNT(candidates, 1e9), .default_text = "0",
     .meaning = "Number of variants considered, for the best; 0: not all were tried."},
    {.name = "reordered", COUNT(reordered, 1e9), .default_text = "0",
     .meaning = "Same for variants with another order of summation."},
    {.name = "date", TEXT(date), .meaning = "Date, UTC."},
};
// clang-format on
const bb_schema bb_wisdom_record_schema = BB_SCHEMA("wisdom", bb_wisdom_record, keys);

enum { KEYS = sizeof keys / sizeof keys[0] };

static bb_status write_sizes(const bb_list *list, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_index *sizes = list->items;
    for (bb_index i = 0; i < list->count; ++i) {
        BB_TRY(bb_text_add(out, "%s%td", i == 0 ? "[" : ", ", sizes[i]));
    }
    BB_TRY(bb_text_add(out, "]"));
done:
    return status;
}

static bb_status write_value(const bb_key *key, const void *member, bb_text *out)
{
    bb_status status = BB_OK;
    char number[BB_SCALAR_BYTES];
    switch (key->kind) {
    case BB_KEY_TEXT:
        BB_TRY(bb_node_write_text(*(const char *const *)member, out));
        break;
    case BB_KEY_DOUBLE:
        bb_scalar_print(*(const double *)member, number);
        BB_TRY(bb_text_add(out, "%s", number));
        break;
    case BB_KEY_CHOICE:
        BB_TRY(bb_text_add(out, "%s", key->choices[*(const int *)member]));
        break;
    case BB_KEY_INTEGERS:
        BB_TRY(write_sizes(member, out));
        break;
    default:
        BB_TRY(bb_text_add(out, "%td", *(const bb_index *)member));
    }
done:
    return status;
}

bb_status bb_wisdom_record_write(const bb_wisdom_record *record, bb_text *out)
{
    bb_status status = BB_OK;
    const char *before = "- {";
    for (int i = 0; i < KEYS; ++i) {
        if (bb_emission_is_unset(&keys[i], record)) {
            continue;
        }
        BB_TRY(bb_text_add(out, "%s%s: ", before, keys[i].name));
        BB_TRY(write_value(&keys[i], (const char *)record + keys[i].offset, out));
        before = ", ";
    }
    BB_TRY(bb_text_add(out, "}\n"));
done:
    return status;
}

static bb_status check(bb_wisdom_record *record, bb_place place, bb_problems *problems)
{
    bb_status status = BB_OK;
    if (bb_choice_read(record->variant, &record->choice) != BB_OK) {
        bb_status_record first_message;
        bb_status_save(&first_message);
        bb_status_clear();
        BB_TRY(bb_problems_add(problems, place, "variant: %s", first_message.message));
    }
    if (record->sizes.count % 2 != 0) {
        BB_TRY(bb_problems_add(problems, place,
                               "sizes: %td numbers, expected columns and rows of each object",
                               record->sizes.count));
    }
    if (record->status <= BB_TRIAL_SLOW && !(record->least_s > 0.0)) {
        BB_TRY(
            bb_problems_add(problems, place, "status %s needs least_s", statuses[record->status]));
    }
done:
    return status;
}

bb_status bb_wisdom_record_read(bb_arena *arena, const char *origin, const char *line,
                                size_t length, bb_problems *problems, bb_wisdom_record *out)
{
    bb_status status = BB_OK;
    bb_node *list = NULL;
    const bb_index before = problems->count;
    const bb_place place = {.origin = origin};
    BB_TRY(bb_node_parse(arena, origin, false, line, length, problems, &list));
    if (problems->count > before) {
        goto done;
    }
    // An indented comment has no node.
    const bb_node *item = list != NULL && list->kind == BB_NODE_LIST ? bb_node_item(list, 0) : NULL;
    if (item == NULL || list->count != 1 || item->kind != BB_NODE_MAP) {
        BB_TRY(bb_problems_add(problems, place,
                               "not a record, expected a line '- {version: 1, ...}'"));
        goto done;
    }
    const bb_node *version = bb_node_member(item, "version");
    if (version != NULL && version->kind == BB_NODE_SCALAR && strcmp(version->text, "1") != 0) {
        BB_TRY(bb_problems_add(problems, place, "a record of version %.20s, expected %d",
                               version->text, BB_WISDOM_VERSION));
        goto done;
    }
    BB_TRY(bb_binding_bind(arena, &bb_wisdom_record_schema, item, "", problems, out));
    if (problems->count == before) {
        BB_TRY(check(out, place, problems));
    }
done:
    return status;
}

static const char head[] = "# Variants of kernels measured by `bitbudget tune`: one record per "
                           "line, the last one applies.\n";

bb_status bb_wisdom_file_place(const char *given, char **out)
{
    bb_status status = BB_OK;
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (given != NULL) {
        BB_TRY(bb_memory_text(given, out));
    } else if (config != NULL && config[0] == '/') {
        BB_TRY(bb_memory_printf(out, "%s/bitbudget/kernels.yaml", config));
    } else {
        BB_REQUIRE(home != NULL && home[0] == '/', BB_IO,
                   "no folder for measured variants: neither XDG_CONFIG_HOME nor HOME is an "
                   "absolute path; set --wisdom FILE");
        BB_TRY(bb_memory_printf(out, "%s/.config/bitbudget/kernels.yaml", home));
    }
done:
    return status;
}

static bb_status read_text(const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    FILE *file = NULL;
    char piece[1 << 14];
    size_t length = 0;
    BB_TRY(bb_disk_file_open(path, true, &file));
    (void)flock(fileno(file), LOCK_SH); // without lock support a line may appear incomplete
    while ((length = fread(piece, 1, sizeof piece, file)) > 0) {
        BB_REQUIRE(out->length + (bb_index)length <= BB_WISDOM_FILE_BYTES, BB_INVALID,
                   "'%s' is larger than %d MB and not a file of variants", path,
                   BB_WISDOM_FILE_BYTES >> 20);
        BB_TRY(bb_text_add_bytes(out, piece, (bb_index)length));
    }
    BB_REQUIRE(ferror(file) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

static bb_status read_line(bb_wisdom_file *out, bb_index number, const char *line, size_t length,
                           bb_problems *problems)
{
    bb_status status = BB_OK;
    const char *origin = NULL;
    const bb_index before = problems->count;
    if (length == 0 || line[0] == '#') {
        goto done;
    }
    BB_TRY(bb_arena_printf(&out->arena, &origin, "%s:%td", out->path, number));
    if (length > BB_WISDOM_LINE_BYTES) {
        const bb_place place = {.origin = origin};
        BB_TRY(bb_problems_add(problems, place, "line with %zu bytes, expected at most %d", length,
                               BB_WISDOM_LINE_BYTES));
        goto done;
    }
    if (out->count == out->capacity) {
        const bb_index capacity = 2 * out->capacity + 64;
        BB_TRY(bb_memory_resize(capacity, sizeof *out->records, (void **)&out->records));
        out->capacity = capacity;
    }
    BB_TRY(bb_wisdom_record_read(&out->arena, origin, line, length, problems,
                                 &out->records[out->count]));
    out->count += problems->count == before;
done:
    return status;
}

// True if an incomplete line starts like a record or the header of this program.
static bool is_ours(const char *line, size_t length)
{
    static const char record[] = "- {version: ";
    const size_t least = length < sizeof record - 1 ? length : sizeof record - 1;
    return memcmp(line, record, least) == 0 ||
           (length < sizeof head && memcmp(line, head, length) == 0);
}

static bb_status read_lines(bb_wisdom_file *out, const bb_text *text, bb_problems *problems)
{
    bb_status status = BB_OK;
    const char *place = bb_text_string(text);
    const char *end = place + text->length;
    bb_index number = 1;
    for (; place < end; ++number) {
        const char *stop = memchr(place, '\n', (size_t)(end - place));
        if (stop == NULL && !is_ours(place, (size_t)(end - place))) {
            BB_TRY(read_line(out, number, place, (size_t)(end - place), problems));
            break;
        }
        if (stop == NULL) {
            bb_log_warning("%s:%td: incomplete record ignored", out->path, number);
            break;
        }
        BB_TRY(read_line(out, number, place, (size_t)(stop - place), problems));
        place = stop + 1;
    }
done:
    return status;
}

bb_status bb_wisdom_file_read(const char *path, bb_wisdom_file *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bb_problems problems = {0};
    struct stat about;
    const bb_index before = out->count;
    BB_RELEASE(&out->path);
    BB_TRY(bb_memory_text(path, &out->path));
    if (stat(path, &about) != 0 && errno == ENOENT) {
        goto done;
    }
    BB_TRY(read_text(path, &text));
    BB_TRY(read_lines(out, &text, &problems));
    const char *first_message = bb_text_string(&problems.lines);
    const int first = (int)strcspn(first_message, "\n");
    out->count = problems.count == 0 ? out->count : before;
    BB_REQUIRE(problems.count < 2, BB_INVALID, "%.*s (the first of %td problems)", first,
               first_message, problems.count);
    BB_REQUIRE(problems.count == 0, BB_INVALID, "%.*s", first, first_message);
done:
    bb_problems_release(&problems);
    bb_text_release(&text);
    return status;
}

void bb_wisdom_file_release(bb_wisdom_file *file)
{
    BB_RELEASE(&file->records);
    BB_RELEASE(&file->path);
    bb_arena_release(&file->arena);
    *file = (bb_wisdom_file){.count = 0};
}

// Creates the folders of a file's path.
static bb_status make_folders(const char *path)
{
    bb_status status = BB_OK;
    char *copy = NULL;
    BB_TRY(bb_memory_text(path, &copy));
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        BB_REQUIRE(mkdir(copy, 0777) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES,
                   BB_IO, "cannot create folder '%s': %s", copy, strerror(errno));
        *slash = '/';
    }
done:
    BB_RELEASE(&copy);
    return status;
}

// Length up to the last line end; an incomplete line may follow.
static bb_status find_end(int file, const char *path, off_t size, off_t *out)
{
    bb_status status = BB_OK;
    char piece[4096];
    *out = 0;
    for (off_t end = size; end > 0 && *out == 0;) {
        const off_t begin = end > (off_t)sizeof piece ? end - (off_t)sizeof piece : 0;
        const ssize_t length = pread(file, piece, (size_t)(end - begin), begin);
        BB_REQUIRE(length == (ssize_t)(end - begin), BB_IO, "cannot read '%s': %s", path,
                   strerror(errno));
        for (ssize_t i = length; i > 0 && *out == 0; --i) {
            *out = piece[i - 1] == '\n' ? begin + i : 0;
        }
        end = begin;
    }
done:
    return status;
}

static bb_status check_torn(int file, const char *path, off_t size, off_t end)
{
    bb_status status = BB_OK;
    char piece[sizeof head];
    const ssize_t length = pread(file, piece, sizeof piece - 1, end);
    BB_REQUIRE(length >= 0 && (length > 0 || size == end), BB_IO, "cannot read '%s': %s", path,
               strerror(errno));
    BB_REQUIRE(is_ours(piece, (size_t)length), BB_INVALID,
               "'%s' ends with a line that is not a record of a variant; the file is not changed",
               path);
done:
    return status;
}

static bb_status append_locked(int file, const char *path, const bb_text *line)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    struct stat about;
    off_t end = 0;
    BB_REQUIRE(fstat(file, &about) == 0, BB_IO, "cannot query '%s': %s", path, strerror(errno));
    BB_REQUIRE(S_ISREG(about.st_mode), BB_IO, "'%s' is not a regular file", path);
    BB_TRY(find_end(file, path, about.st_size, &end));
    BB_TRY(check_torn(file, path, about.st_size, end));
    BB_TRY(bb_text_add(&text, "%s%s", end == 0 ? head : "", bb_text_string(line)));
    BB_REQUIRE(end + text.length <= BB_WISDOM_FILE_BYTES, BB_IO,
               "'%s' would exceed the limit of %d MB; move it, or name another file with --wisdom",
               path, BB_WISDOM_FILE_BYTES >> 20);
    BB_REQUIRE(end == about.st_size || ftruncate(file, end) == 0, BB_IO,
               "cannot remove an incomplete line from '%s': %s", path, strerror(errno));
    const ssize_t written = write(file, bb_text_string(&text), (size_t)text.length);
    if (written != (ssize_t)text.length) {
        const int reason = written < 0 ? errno : ENOSPC;
        (void)!ftruncate(file, end);
        BB_FAIL(BB_IO, "cannot write '%s': %s", path, strerror(reason));
    }
    BB_REQUIRE(fsync(file) == 0 || errno == EINVAL, BB_IO, "cannot write '%s': %s", path,
               strerror(errno));
done:
    bb_text_release(&text);
    return status;
}

bb_status bb_wisdom_file_append(const char *path, const bb_wisdom_record *record)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    int file = -1;
    BB_TRY(bb_wisdom_record_write(record, &line));
    BB_REQUIRE(line.length <= BB_WISDOM_LINE_BYTES, BB_INTERNAL, "internal: record with %td bytes",
               line.length);
    BB_TRY(make_folders(path));
    file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    BB_REQUIRE(file >= 0, BB_IO, "cannot open '%s' for writing: %s", path, strerror(errno));
    BB_REQUIRE(flock(file, LOCK_EX) == 0, BB_IO, "cannot lock '%s' against other writers: %s", path,
               strerror(errno));
    BB_TRY(append_locked(file, path, &line));
done:
    if (file >= 0) {
        (void)close(file);
    }
    bb_text_release(&line);
    return status;
}

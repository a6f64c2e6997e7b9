// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/wisdom_record.h"

#include "sim/config/binding.h"
#include "sim/config/emission.h"
#include "sim/config/scalar.h"

#include <math.h>
#include <string.h>

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
    {.name = "version", COUNT(version, 1e6), .meaning = "Of the form of these records."},
    {.name = "kernel", TEXT(kernel), .meaning = "The kernel's name."},
    {.name = "program", TEXT(program), .meaning = "Digest of its description."},
    {.name = "code", COUNT(code, 1e6), .meaning = "Version of what prints its text."},
    {.name = "types", TEXT(types), .meaning = "What stands for its types."},
    {.name = "device", .kind = BB_KEY_CHOICE, MEMBER(device), .choices = devices,
     .meaning = "Kind of device."},
    {.name = "architecture", TEXT(architecture), .meaning = "What the device is built as."},
    {.name = "name", TEXT(name), .meaning = "What the device calls itself."},
    {.name = "driver", TEXT(driver), .optional = true, .meaning = "Versions of its driver."},
    {.name = "compiler", TEXT(compiler), .meaning = "What compiled the text."},
    {.name = "set", TEXT(set), .meaning = "Benchmark data."},
    {.name = "sizes", .kind = BB_KEY_INTEGERS, MEMBER(sizes), .minimum = 0.0, .maximum = 0x1p40,
     .minimum_count = 2, .meaning = "Columns and rows of each object."},
    {.name = "variant", TEXT(variant), .meaning = "The variant."},
    {.name = "status", .kind = BB_KEY_CHOICE, MEMBER(status), .choices = statuses,
     .meaning = "What became of it."},
    {.name = "why", TEXT(why), .optional = true, .meaning = "Why it failed."},
    {.name = "least_s", SECONDS(least_s), .meaning = "Least time of a launch."},
    {.name = "median_s", SECONDS(median_s), .meaning = "Median time of a launch."},
    {.name = "samples", COUNT(samples, 1e6), .default_text = "0", .meaning = "Times measured."},
    {.name = "bytes", .kind = BB_KEY_DOUBLE, MEMBER(bytes), .unit = "byte", .maximum = 1e18,
     .optional = true, .meaning = "That must cross the memory."},
    {.name = "candidates", COUNT(candidates, 1e9), .default_text = "0",
     .meaning = "Variants that were considered, of the best; 0: not all were tried."},
    {.name = "reordered", COUNT(reordered, 1e9), .default_text = "0",
     .meaning = "Likewise, of those in other orders of sums than the program's."},
    {.name = "date", TEXT(date), .meaning = "When, UTC."},
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
        bb_status_record said;
        bb_status_save(&said);
        bb_status_clear();
        BB_TRY(bb_problems_add(problems, place, "variant: %s", said.message));
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
    // A comment that does not begin its line parses to nothing.
    const bb_node *item = list != NULL && list->kind == BB_NODE_LIST ? bb_node_item(list, 0) : NULL;
    if (item == NULL || list->count != 1 || item->kind != BB_NODE_MAP) {
        BB_TRY(
            bb_problems_add(problems, place, "no record: expected a line '- {version: 1, ...}'"));
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

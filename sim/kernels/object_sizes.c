// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/object_sizes.h"

#include "core/suggestion.h"
#include "core/text.h"
#include "solvers/kernels/kernel_manager.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bb_kernel_manager *find_manager(const char *path)
{
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    for (int i = 0; i < count; ++i) {
        if (strcmp(managers[i].file, name) == 0) {
            return &managers[i];
        }
    }
    return NULL;
}

// Sizes of a kernel's objects, for who has to give them.
static bb_status add_example(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    for (int i = 0; i < program->object_count; ++i) {
        const bool is_matrix = program->objects[i].structure == BB_STRUCTURE_MATRIX;
        BB_TRY(bb_text_add(out, "%s%s=%s", i == 0 ? "" : ",", program->objects[i].name,
                           is_matrix ? "2048x1024" : "2048"));
    }
done:
    return status;
}

static bb_status take_set(const char *text, const char *path, const bb_program *program,
                          bb_program_data *out)
{
    bb_status status = BB_OK;
    const bb_kernel_manager *manager = find_manager(path);
    const bb_benchmark_set *set = NULL;
    bb_text example = {0};
    BB_TRY(add_example(program, &example));
    BB_REQUIRE(manager != NULL, BB_INVALID,
               "'%s' has no benchmark data: give its sizes in columns x rows, as --set %s", path,
               bb_text_string(&example));
    for (int i = 0; i < BB_BENCHMARK_COUNT; ++i) {
        set = strcmp(manager->sets[i].name, text) == 0 ? &manager->sets[i] : set;
    }
    BB_REQUIRE(set != NULL, BB_INVALID, "--set %.80s, expected seed, large, odd or small, or sizes",
               text);
    for (int i = 0; i < program->object_count; ++i) {
        const bb_benchmark_object *object = bb_kernel_manager_object(set, program->objects[i].name);
        BB_REQUIRE(object != NULL, BB_INVALID, "set %s has no object %s", text,
                   program->objects[i].name);
        out[i].columns = object->columns;
        out[i].rows = object->rows;
    }
done:
    bb_text_release(&example);
    return status;
}

static bool read_number(const char **place, bb_index *out)
{
    char *end = NULL;
    if (**place < '0' || **place > '9') {
        return false;
    }
    *out = (bb_index)strtoll(*place, &end, 10);
    *place = end;
    return *out <= (bb_index)1 << 40;
}

// "A=2048x1024" up to a comma; moves behind it.
static bb_status take_object(const char **place, const bb_program *program, bb_program_data *out)
{
    bb_status status = BB_OK;
    const char *text = *place;
    const size_t length = strcspn(text, "=,");
    const char *number = text + length + 1;
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    char typed[64];
    int found = 0;
    (void)snprintf(typed, sizeof typed, "%.*s", (int)(length < 63 ? length : 63), text);
    while (found < program->object_count &&
           (strlen(program->objects[found].name) != length ||
            strncmp(program->objects[found].name, text, length) != 0)) {
        bb_suggestion_consider(typed, program->objects[found].name, &distance, &nearest);
        ++found;
    }
    BB_REQUIRE(found < program->object_count, BB_INVALID,
               "--set %.80s: kernel %s has no object %s%s%s%s", text, program->name, typed,
               nearest == NULL ? "" : " (did you mean ", nearest == NULL ? "" : nearest,
               nearest == NULL ? "" : "?)");
    BB_REQUIRE(out[found].columns < 0, BB_INVALID, "--set %.80s: %s has its size already", text,
               program->objects[found].name);
    out[found].rows = 1;
    bool sound = text[length] == '=' && read_number(&number, &out[found].columns);
    if (sound && *number == 'x') {
        ++number;
        sound = read_number(&number, &out[found].rows);
    }
    BB_REQUIRE(sound && (*number == ',' || *number == '\0'), BB_INVALID,
               "--set %.80s: expected columns and rows, as A=2048x1024, or a length, as b=2048",
               text);
    *place = number + (*number == ',');
done:
    return status;
}

bb_status bb_object_sizes_read(const char *text, const char *path, const bb_program *program,
                               bb_program_data *out)
{
    bb_status status = BB_OK;
    if (strchr(text, '=') == NULL) {
        BB_TRY(take_set(text, path, program, out));
        goto done;
    }
    for (int i = 0; i < program->object_count; ++i) {
        out[i].columns = -1;
    }
    while (*text != '\0') {
        BB_TRY(take_object(&text, program, out));
    }
    for (int i = 0; i < program->object_count; ++i) {
        BB_REQUIRE(out[i].columns >= 0, BB_INVALID, "--set gives no size of %s",
                   program->objects[i].name);
    }
done:
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Short names of files that stand side by side.
#include "sim/output/label.h"

#include "core/memory.h"

#include <stdbool.h>
#include <string.h>

static bool is_between(char character)
{
    return strchr("/-_. ", character) != NULL; // the end of a text too
}

static size_t length_of(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".h5") == 0 ? length - 3 : length;
}

// Characters that all begin with, up to the end of a word.
static size_t common_start(const char *const *paths, bb_index count)
{
    size_t common = length_of(paths[0]);
    for (bb_index i = 1; i < count; ++i) {
        size_t same = 0;
        while (same < common && same < length_of(paths[i]) && paths[i][same] == paths[0][same]) {
            ++same;
        }
        common = same;
    }
    while (common > 0 && !is_between(paths[0][common - 1])) {
        --common;
    }
    return common;
}

// Characters that all end with after `start`, from the end of a word.
static size_t common_end(const char *const *paths, bb_index count, size_t start)
{
    const size_t length = length_of(paths[0]);
    size_t common = length - start;
    for (bb_index i = 1; i < count; ++i) {
        const size_t other = length_of(paths[i]);
        size_t same = 0;
        while (same < common && same < other - start &&
               paths[i][other - 1 - same] == paths[0][length - 1 - same]) {
            ++same;
        }
        common = same;
    }
    while (common > 0 && !is_between(paths[0][length - common])) {
        --common;
    }
    return common;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

// Whether no file is called as another in its folder.
static bool are_distinct(const char *const *names, bb_index count)
{
    for (bb_index i = 0; i < count; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            if (length_of(names[i]) == length_of(names[j]) &&
                strncmp(names[i], names[j], length_of(names[i])) == 0) {
                return false;
            }
        }
    }
    return true;
}

// What is left of name `index` between the words that all have.
static bb_status cut_name(const char *const *names, bb_index count, bb_index index, char **out)
{
    size_t start = common_start(names, count);
    size_t end = common_end(names, count, start);
    for (bb_index i = 0; i < count; ++i) {
        // Of "a.h5" and "a-b.h5" the first would have none.
        if (length_of(names[i]) <= start + end) {
            end = 0;
        }
        if (length_of(names[i]) <= start) {
            start = 0;
        }
    }
    const size_t length = length_of(names[index]);
    return bb_memory_printf(out, "%.*s", (int)(length - start - end), names[index] + start);
}

bb_status bb_label_find(const char *const *paths, bb_index count, bb_index index, char **out)
{
    bb_status status = BB_OK;
    const char **names = NULL;
    if (count == 1) {
        return bb_memory_text("", out);
    }
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(i == index || strcmp(paths[i], paths[index]) != 0, BB_INVALID,
                   "'%s' is named twice", paths[i]);
    }
    BB_TRY(BB_ALLOCATE(count, &names));
    for (bb_index i = 0; i < count; ++i) {
        names[i] = base_of(paths[i]);
    }
    BB_TRY(cut_name(are_distinct(names, count) ? names : paths, count, index, out));
done:
    BB_RELEASE(&names);
    return status;
}

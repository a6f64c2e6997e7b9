// SPDX-License-Identifier: Apache-2.0
//
// Mutated texts for fault campaigns, drawn from (seed, number): the same on every machine.
#ifndef BB_TESTS_SIM_CAMPAIGN_MUTATION_H
#define BB_TESTS_SIM_CAMPAIGN_MUTATION_H

#include "core/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUTATION_BYTES = 1 << 14 };

/// A text with room to grow.
typedef struct mutation {
    char text[MUTATION_BYTES];
    size_t bytes;
    uint64_t number; ///< of the mutant
    uint64_t draws;
} mutation;

static inline uint32_t mutation_draw(mutation *change, uint32_t below)
{
    uint32_t words[4];
    bb_random_words(change->number, BB_STREAM_SELF_TEST, change->draws++, words);
    return below == 0 ? 0 : words[0] % below;
}

/// Puts `bytes` bytes in the place of [at, at + removed).
static inline void mutation_splice(mutation *change, size_t index, size_t removed, const char *with,
                                   size_t bytes)
{
    if (change->bytes - removed + bytes >= MUTATION_BYTES) {
        return;
    }
    memmove(change->text + index + bytes, change->text + index + removed,
            change->bytes - index - removed);
    memcpy(change->text + index, with, bytes);
    change->bytes += bytes - removed;
}

// Start and length of a line.
static inline size_t mutation_line(mutation *change, size_t *bytes)
{
    size_t index = mutation_draw(change, (uint32_t)change->bytes);
    while (index > 0 && change->text[index - 1] != '\n') {
        --index;
    }
    const char *end = memchr(change->text + index, '\n', change->bytes - index);
    *bytes = end == NULL ? change->bytes - index : (size_t)(end - change->text) - index + 1;
    return index;
}

/// One change: a byte, a token that means something, or a line that moves.
static inline void mutation_step(mutation *change)
{
    static const char *const tokens[] = {"nan",
                                         ".inf",
                                         "-.inf",
                                         "1e309",
                                         "-1",
                                         "0",
                                         "010",
                                         "4x",
                                         "1_000",
                                         "yes",
                                         "~",
                                         "null",
                                         "",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ": ",
                                         "- ",
                                         "#",
                                         "&a",
                                         "*a",
                                         "!!x",
                                         "|",
                                         ">",
                                         "\"",
                                         "'",
                                         "\t",
                                         "%",
                                         "---",
                                         "...",
                                         "? ",
                                         "all",
                                         "fp64",
                                         "zfp",
                                         "base: x",
                                         "1e-320",
                                         "9223372036854775807",
                                         "18446744073709551616",
                                         "\xff",
                                         "\xc3\xa9",
                                         "\xef\xbb\xbf",
                                         "true",
                                         "1.5",
                                         "random",
                                         "1e15",
                                         "999999",
                                         "2147483648"};
    char line[1024];
    size_t bytes = 0;
    if (change->bytes == 0) {
        return;
    }
    size_t index = mutation_draw(change, (uint32_t)change->bytes);
    size_t rest = change->bytes - index;
    size_t few = mutation_draw(change, 12);
    few = few < rest ? few : rest;
    switch (mutation_draw(change, 7)) {
    case 0:
        change->text[index] = (char)mutation_draw(change, 256);
        break;
    case 1:
        mutation_splice(change, index, few, "", 0);
        break;
    case 2:
    case 3: {
        const char *token = tokens[mutation_draw(change, sizeof tokens / sizeof tokens[0])];
        const char *colon = memchr(change->text + index, ':', rest);
        if (colon != NULL) { // in the place of a value
            index = (size_t)(colon - change->text) + 1;
            const char *end = memchr(change->text + index, '\n', change->bytes - index);
            few = end == NULL ? 0 : (size_t)(end - change->text) - index;
            (void)snprintf(line, sizeof line, " %s", token);
            mutation_splice(change, index, few, line, strlen(line));
        } else {
            mutation_splice(change, index, few, token, strlen(token));
        }
        break;
    }
    case 4:
        index = mutation_line(change, &bytes);
        mutation_splice(change, index, bytes, "", 0);
        break;
    case 5:
        index = mutation_line(change, &bytes);
        if (bytes < sizeof line) {
            memcpy(line, change->text + index, bytes);
            index = mutation_line(change, &few);
            mutation_splice(change, index, 0, line, bytes);
        }
        break;
    default:
        mutation_splice(change, index, few,
                        tokens[mutation_draw(change, sizeof tokens / sizeof tokens[0])], 1);
        break;
    }
}

/// Reads `path` and changes it 1 to 6 times.
static inline void mutation_make(const char *path, uint64_t number, mutation *out)
{
    FILE *file = fopen(path, "rb");
    *out = (mutation){.number = number};
    if (file != NULL) {
        out->bytes = fread(out->text, 1, MUTATION_BYTES / 2, file);
        (void)fclose(file);
    }
    for (uint32_t steps = 1 + mutation_draw(out, 6); steps > 0; --steps) {
        mutation_step(out);
    }
}

#endif

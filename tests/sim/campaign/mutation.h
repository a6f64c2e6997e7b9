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

static inline uint32_t mutation_draw(mutation *of, uint32_t below)
{
    uint32_t words[4];
    bb_random_words(of->number, BB_STREAM_SELF_TEST, of->draws++, words);
    return below == 0 ? 0 : words[0] % below;
}

/// Puts `bytes` bytes in the place of [at, at + removed).
static inline void mutation_splice(mutation *of, size_t at, size_t removed, const char *with,
                                   size_t bytes)
{
    if (of->bytes - removed + bytes >= MUTATION_BYTES) {
        return;
    }
    memmove(of->text + at + bytes, of->text + at + removed, of->bytes - at - removed);
    memcpy(of->text + at, with, bytes);
    of->bytes += bytes - removed;
}

// Start and length of a line.
static inline size_t mutation_line(mutation *of, size_t *bytes)
{
    size_t at = mutation_draw(of, (uint32_t)of->bytes);
    while (at > 0 && of->text[at - 1] != '\n') {
        --at;
    }
    const char *end = memchr(of->text + at, '\n', of->bytes - at);
    *bytes = end == NULL ? of->bytes - at : (size_t)(end - of->text) - at + 1;
    return at;
}

/// One change: a byte, a token that means something, or a line that moves.
static inline void mutation_step(mutation *of)
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
    if (of->bytes == 0) {
        return;
    }
    size_t at = mutation_draw(of, (uint32_t)of->bytes);
    size_t left = of->bytes - at;
    size_t few = mutation_draw(of, 12);
    few = few < left ? few : left;
    switch (mutation_draw(of, 7)) {
    case 0:
        of->text[at] = (char)mutation_draw(of, 256);
        break;
    case 1:
        mutation_splice(of, at, few, "", 0);
        break;
    case 2:
    case 3: {
        const char *token = tokens[mutation_draw(of, sizeof tokens / sizeof tokens[0])];
        const char *colon = memchr(of->text + at, ':', left);
        if (colon != NULL) { // in the place of a value
            at = (size_t)(colon - of->text) + 1;
            const char *end = memchr(of->text + at, '\n', of->bytes - at);
            few = end == NULL ? 0 : (size_t)(end - of->text) - at;
            (void)snprintf(line, sizeof line, " %s", token);
            mutation_splice(of, at, few, line, strlen(line));
        } else {
            mutation_splice(of, at, few, token, strlen(token));
        }
        break;
    }
    case 4:
        at = mutation_line(of, &bytes);
        mutation_splice(of, at, bytes, "", 0);
        break;
    case 5:
        at = mutation_line(of, &bytes);
        if (bytes < sizeof line) {
            memcpy(line, of->text + at, bytes);
            at = mutation_line(of, &few);
            mutation_splice(of, at, 0, line, bytes);
        }
        break;
    default:
        mutation_splice(of, at, few, tokens[mutation_draw(of, sizeof tokens / sizeof tokens[0])],
                        1);
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

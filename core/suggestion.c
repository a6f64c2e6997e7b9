// SPDX-License-Identifier: Apache-2.0
#include "core/suggestion.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 64 };

static bb_index least(bb_index a, bb_index b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

// Computes the optimal string alignment distance with three rows at a time.
bb_index bb_suggestion_distance(const char *source, const char *target)
{
    bb_index rows[3][WORD_BYTES] = {{0}};
    bb_index n = least((bb_index)strlen(source), WORD_BYTES - 1);
    bb_index m = least((bb_index)strlen(target), WORD_BYTES - 1);
    for (bb_index j = 0; j <= m; ++j) {
        rows[0][j] = j;
    }
    for (bb_index i = 1; i <= n; ++i) {
        const bb_index *before = rows[(i + 1) % 3];
        const bb_index *above = rows[(i - 1) % 3];
        bb_index *row = rows[i % 3];
        row[0] = i;
        for (bb_index j = 1; j <= m; ++j) {
            bb_index change = !same(source[i - 1], target[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + change);
            if (i > 1 && j > 1 && same(source[i - 1], target[j - 2]) &&
                same(source[i - 2], target[j - 1])) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
    }
    return rows[n % 3][m];
}

void bb_suggestion_consider(const char *word, const char *candidate, bb_index *distance,
                            const char **best)
{
    bb_index found = bb_suggestion_distance(word, candidate);
    bb_index length = (bb_index)strlen(word);
    // "spacing" for "spacing_mm": accepts a missing unit, although that is many edits.
    bool part = strncmp(candidate, word, (size_t)length) == 0 && candidate[length] == '_';
    if (part) {
        found = least(found, 2);
    }
    if (found < *distance && (part || found <= (length < 2 ? 0 : 1 + length / 5))) {
        *distance = found;
        *best = candidate;
    }
}

void bb_suggestion_add(bb_suggestion *near, const char *candidate)
{
    near->distance = near->nearest == NULL ? PTRDIFF_MAX : near->distance;
    bb_suggestion_consider(near->word, candidate, &near->distance, &near->nearest);
}

const char *bb_suggestion_text(bb_suggestion *near)
{
    if (near->nearest != NULL) {
        (void)snprintf(near->text, sizeof near->text, " (did you mean %s?)", near->nearest);
    }
    return near->text;
}

// SPDX-License-Identifier: Apache-2.0
//
// Nearest word of a list, for "did you mean".
#ifndef BB_CORE_SUGGESTION_H
#define BB_CORE_SUGGESTION_H

#include "core/status.h"

/// Counts the edits (insert, delete, change, swap of neighbours, each 1) from one word to the
/// other, ignoring case; words longer than 63 bytes are cut.
bb_index bb_suggestion_distance(const char *source, const char *target);

/// Stores `candidate` in `*best` if it is nearer to `word` than the current one and near enough:
/// within a third of the length, or a longer or shorter form of it. `*distance` starts at
/// PTRDIFF_MAX.
void bb_suggestion_consider(const char *word, const char *candidate, bb_index *distance,
                            const char **best);

/// The nearest candidate. Zero-initialise except for `word`, which is borrowed, as candidates are.
typedef struct bb_suggestion {
    const char *word;
    const char *nearest; ///< NULL: none is near
    bb_index distance;   ///< distance of `nearest`; -1: final, no other replaces it
    char text[192];
} bb_suggestion;

void bb_suggestion_add(bb_suggestion *near, const char *candidate);

/// Returns " (did you mean X?)" with the nearest candidate, "" if there is none; owned by the
/// suggestion.
const char *bb_suggestion_text(bb_suggestion *near);

#endif

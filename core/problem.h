// SPDX-License-Identifier: Apache-2.0
//
// List of the errors of a configuration, one per line, printed together.
#ifndef BB_CORE_PROBLEM_H
#define BB_CORE_PROBLEM_H

#include "core/text.h"

/// Position of a value. With line 0 only `origin` is known, as for an override.
typedef struct bb_place {
    const char *origin; ///< file name, or "override 'key=value'"
    bb_index line;      ///< from 1
    bb_index column;    ///< from 1
} bb_place;

/// Zero-initialise; release with bb_problems_release.
typedef struct bb_problems {
    bb_text lines; ///< each "file.yaml:12:15: key = value: expected ...\n"
    bb_index count;
} bb_problems;

enum { BB_PROBLEMS_TOLD = 100 };

/// Adds one line. Problems after the first BB_PROBLEMS_TOLD lines are only counted. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_problems_add(bb_problems *problems, bb_place place, const char *format, ...)
    BB_PRINTF(3, 4);

void bb_problems_release(bb_problems *problems);

#endif

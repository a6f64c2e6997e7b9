// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_OUTPUT_LABEL_H
#define BB_SIM_OUTPUT_LABEL_H

#include "core/status.h"

/// What tells file `index` of `paths` [count] from the others: what is left of its path without the
/// ending .h5 and without the words that all begin and end with, words ending at / - _ . and space.
/// "" of a single file. Errors: BB_INVALID (a file that is named twice), BB_MEMORY. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_label_find(const char *const *paths, bb_index count, bb_index index,
                                   char **out);

#endif

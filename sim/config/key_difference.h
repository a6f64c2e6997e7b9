// SPDX-License-Identifier: Apache-2.0
//
// Which keys of two resolved configurations differ.
#ifndef BB_SIM_CONFIG_KEY_DIFFERENCE_H
#define BB_SIM_CONFIG_KEY_DIFFERENCE_H

#include "core/text.h"

/// Appends a line a key of two YAML texts, called `names`, that differs or is absent in one:
/// "  solver.tile: 96 in a, 128 in b". Records go by their `name` where they have one, as in
/// pipelines.hp2.policy.width, else by number; `*count` grows by the lines. Errors: BB_IO (a text
/// that is no YAML of this program), BB_MEMORY.
BB_CHECKED bb_status bb_key_difference_write(const char *const texts[2], const char *const names[2],
                                             bb_text *out, bb_index *count);

#endif

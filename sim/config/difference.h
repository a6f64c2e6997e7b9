// SPDX-License-Identifier: Apache-2.0
//
// Differences between two texts of bb_emission_write, for messages.
#ifndef BB_SIM_CONFIG_DIFFERENCE_H
#define BB_SIM_CONFIG_DIFFERENCE_H

#include "core/text.h"

/// Appends a line for every key that differs between two YAML texts called `names` or is absent in
/// one: "  solver.tile: 96 in a, 128 in b". Records are matched by their `name` if they have one,
/// as in pipelines.hp2.policy.width, else by number; `*count` increases by the number of lines.
/// Errors: BB_IO (a text that is not YAML of this program), BB_MEMORY.
BB_CHECKED bb_status bb_difference_write_keys(const char *const texts[2],
                                              const char *const names[2], bb_text *out,
                                              bb_index *count);

/// Appends the top-level groups and keys that differ, each with its first differing line: "mesh
/// ('substeps: 1' there, 'substeps: 2' here), probes (...)"; nothing if the texts are equal. A
/// group that only one text has is reported as absent in the other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_difference_write(const char *there, const char *here, bb_text *out);

#endif

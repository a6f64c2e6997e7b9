// SPDX-License-Identifier: Apache-2.0
//
// Where two texts of bb_emission_write differ, for messages.
#ifndef BB_SIM_CONFIG_DIFFERENCE_H
#define BB_SIM_CONFIG_DIFFERENCE_H

#include "core/text.h"

/// Appends a line a key of two YAML texts, called `names`, that differs or is absent in one:
/// "  solver.tile: 96 in a, 128 in b". Records go by their `name` where they have one, as in
/// pipelines.hp2.policy.width, else by number; `*count` grows by the lines. Errors: BB_IO (a text
/// that is no YAML of this program), BB_MEMORY.
BB_CHECKED bb_status bb_difference_write_keys(const char *const texts[2],
                                              const char *const names[2], bb_text *out,
                                              bb_index *count);

/// Appends the groups and keys of the outermost level that differ, each with its first line that
/// does: "mesh ('substeps: 1' there, 'substeps: 2' here), probes (...)"; nothing where the texts
/// agree. A group that only one of them has is said to be absent in the other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_difference_write(const char *there, const char *here, bb_text *out);

#endif

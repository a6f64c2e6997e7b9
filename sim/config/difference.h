// SPDX-License-Identifier: Apache-2.0
//
// Where two texts of bb_emission_write differ, for messages.
#ifndef BB_SIM_CONFIG_DIFFERENCE_H
#define BB_SIM_CONFIG_DIFFERENCE_H

#include "core/text.h"

/// Appends the groups and keys of the outermost level that differ, each with its first line that
/// does: "mesh ('substeps: 1' there, 'substeps: 2' here), probes (...)"; nothing where the texts
/// agree. A group that only one of them has is said to be absent in the other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_difference_write(const char *there, const char *here, bb_text *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A group of results over one axis as a CSV file beside the result file: a column a dataset, named
// like it (names end in their units), the axis first. Numbers read back to the same bits, the axis
// to 12 digits or as many as tell its steps apart; nan where there is no value.
#ifndef BB_SIM_OUTPUT_SHEET_H
#define BB_SIM_OUTPUT_SHEET_H

#include "core/text.h"
#include "sim/output/results.h"

/// Name of the sheet of `group` beside the result file `path`: outputs/a.h5, probes ->
/// outputs/a-probes.csv. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_sheet_path(const char *path, const char *group, char **out);

/// Writes the group's axis and its datasets of numbers over that axis; nothing is added where the
/// results have no such group. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sheet_build(const bb_results *results, const char *group, bb_text *out);

#endif

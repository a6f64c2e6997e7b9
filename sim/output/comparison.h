// SPDX-License-Identifier: Apache-2.0
//
// Differences between two sets of results for people: pipelines, statuses and losses, deviations of
// other datasets, program and machine.
#ifndef BB_SIM_OUTPUT_COMPARISON_H
#define BB_SIM_OUTPUT_COMPARISON_H

#include "core/text.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// Results to compare and their names, such as "a.h5" or "recorded".
typedef struct bb_comparison {
    const bb_experiment *experiment; ///< experiment of both
    const bb_results *results[2];
    const char *names[2];
    double tolerance; ///< numbers a and b agree where |a - b| <= tolerance max(|a|, |b|)
} bb_comparison;

/// Appends the differences in /results, except measured values: pipelines that only one has,
/// matched by name and not by order, a line for each status and loss, and a line for each other
/// dataset. NaN equals NaN. Adds the number of differing datasets and unmatched pipelines to
/// `*count`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_comparison_write_results(const bb_comparison *pair, bb_text *out,
                                                 bb_index *count);

/// Appends both definitions of the loss if they differ, the reproducible digests, and differences
/// in program, libraries and machine. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_comparison_write_origins(const bb_comparison *pair, bb_text *out);

#endif

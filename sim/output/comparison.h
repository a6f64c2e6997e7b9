// SPDX-License-Identifier: Apache-2.0
//
// Where two sets of results differ, for people: which pipelines, statuses and prices, how far the
// other datasets, and what program and machine made them.
#ifndef BB_SIM_OUTPUT_COMPARISON_H
#define BB_SIM_OUTPUT_COMPARISON_H

#include "core/text.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// What is compared, and how the two are called: "a.h5", or "recorded".
typedef struct bb_comparison {
    const bb_experiment *experiment; ///< of both
    const bb_results *results[2];
    const char *names[2];
    double tolerance; ///< numbers a and b agree where |a - b| <= tolerance max(|a|, |b|)
} bb_comparison;

/// Appends what differs in /results without what is measured: pipelines that only one has, matched
/// by name and not by order, a line for each status and price, and a line for each other dataset.
/// NaN equals NaN. Adds to `*count` the datasets that differ and the pipelines that only one has.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_comparison_write_results(const bb_comparison *pair, bb_text *out,
                                                 bb_index *count);

/// Appends definitions of the price that differ (both), the reproducible digests, and what differs
/// in program, libraries and machine. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_comparison_write_origins(const bb_comparison *pair, bb_text *out);

#endif

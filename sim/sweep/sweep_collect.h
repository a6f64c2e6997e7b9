// SPDX-License-Identifier: Apache-2.0
//
// What a sweep leaves its user: one result file of all points, a CSV file, and the answer.
#ifndef BB_SIM_SWEEP_SWEEP_COLLECT_H
#define BB_SIM_SWEEP_SWEEP_COLLECT_H

#include "sim/output/results.h"
#include "sim/sweep/sweep_plan.h"

/// Zero-initialise but for `within`.
typedef struct bb_sweep_collect_request {
    const bb_sweep_plan *plan;
    const char *output; ///< result file; NULL: none
    const char *csv;    ///< NULL: none
    bool partial;       ///< points may be missing
    bool force;         ///< files may be replaced
    double within;      ///< a price, NaN: none
    int argument_count; ///< of the command line, for the file
    char *const *arguments;
    bb_index threads;
} bb_sweep_collect_request;

/// Reads all lines, writes the files and appends the answer. Errors: BB_INVALID (points are missing
/// and `partial` is not given), BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_collect(const bb_sweep_collect_request *request, bb_text *answer);

/// The same in memory, as results of the form that the file has; nothing is written. Errors:
/// BB_INVALID, BB_IO, BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_sweep_collect_results(const bb_sweep_collect_request *request,
                                              bb_results **out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What storage lost of a pipeline's matrices, and how it is published.
#ifndef BB_SIM_PIPELINES_CODING_REPORT_H
#define BB_SIM_PIPELINES_CODING_REPORT_H

#include "precision/error_norms.h"
#include "sim/output/output_table.h"
#include "sim/pipelines/product_pipeline.h"

/// What matrices of one kind took and lost in storage; start from bb_coding_report_start.
typedef struct bb_coding_report {
    double seconds; ///< encoding and comparing, and making rows that came from the source
    double bytes;
    double values;
    double saturated;
    double underflowed;
    double non_finite;    ///< values beyond what the codec can hold
    bb_error_norms norms; ///< of decoded against exact values, scales undone
} bb_coding_report;

bb_coding_report bb_coding_report_start(void);

/// All NaN: of a matrix that its pipeline cannot hold.
bb_coding_report bb_coding_report_unset(void);

/// Adds `more` to `total`.
void bb_coding_report_add(bb_coding_report *total, const bb_coding_report *more);

/// What is written over `pipeline`, and over `pipeline` and the axis of the matrices.
extern const bb_output_table bb_coding_report_outputs;
extern const bb_output_table bb_coding_report_measures;

/// Writes both: `reports` is [pipelines][axis_count] over the axis of /results called `axis`, which
/// stands already; errors are in `unit`. Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_coding_report_publish(const bb_list *pipelines, const char *axis,
                                              bb_index axis_count, const char *unit,
                                              const bb_coding_report *reports, bb_results *results);

#endif

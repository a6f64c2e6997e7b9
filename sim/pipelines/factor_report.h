// SPDX-License-Identifier: Apache-2.0
//
// Report of one pipeline's factorization: variants, bound on their rounding, escalation after a
// failure, and storage of the reconstructor.
#ifndef BB_SIM_PIPELINES_FACTOR_REPORT_H
#define BB_SIM_PIPELINES_FACTOR_REPORT_H

#include "precision/policy.h"
#include "sim/output/output_table.h"

/// NaN where unknown, as after a failure.
typedef struct bb_factor_report {
    double tile_share[BB_VARIANT_COUNT];    ///< of the lower tiles, by number
    double product_share[BB_VARIANT_COUNT]; ///< of the updates, by operations
    double tolerance;                       ///< of the policy's rule
    double certificate;                     ///< bb_tile_work
    double saturated;
    double cost;                             ///< of the updates at nominal rates, over that in sp
    double escalations;                      ///< attempts after the first
    double iterations_mean, iterations_most; ///< of the refinement, over right-hand sides
    double break_even; ///< iterations at which a direct x3 factorization costs the same
    double stored_bytes, stored_values; ///< of the reconstructors, where they are stored
    double stored_bits;                 ///< of a value, scales and widths counted
    double wire_bytes; ///< between processes, for the factor and one solve; NaN by one process
    double swap_read_bytes, swap_written_bytes; ///< of a file of tiles, for the factor; NaN: none
    double swap_wait_s;                         ///< for tiles, over the threads
    double host_to_device_bytes, device_to_host_bytes; ///< of an L in the host's memory; NaN: none
    double tile_size;              ///< rows of a tile, NaN: nothing was factored
    double device_to_device_bytes; ///< of an L on several GPUs; NaN: one
    char digest[17];               ///< of the factor on the cpu, "" unknown
    double stored_step;            ///< that a search found (storage_search.h), NaN of others
} bb_factor_report;

/// All NaN.
bb_factor_report bb_factor_report_start(void);

/// What is written: the axis of variants, and the datasets over pipelines.
extern const bb_output_table bb_factor_report_axes;
extern const bb_output_table bb_factor_report_outputs;

/// Writes both for `count` reports in the study's order, `stride` bytes from one to the next.
/// Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_factor_report_publish(const bb_factor_report *reports, size_t stride,
                                              bb_index count, bb_results *results);

#endif

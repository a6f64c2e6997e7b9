// SPDX-License-Identifier: Apache-2.0
//
// Report of a pipeline's factorization: variants, bound on their rounding, escalation after a
// failure, and storage of the reconstructor.
#ifndef BB_SIM_PIPELINES_FACTOR_REPORT_H
#define BB_SIM_PIPELINES_FACTOR_REPORT_H

#include "precision/policy.h"
#include "sim/output/output_table.h"

/// Report of a factorization; NaN where unknown, such as after a failure.
typedef struct bb_factor_report {
    double tile_share[BB_VARIANT_COUNT];    ///< fraction of the lower tiles, by variant
    double product_share[BB_VARIANT_COUNT]; ///< fraction of the operations of updates, by variant
    double tolerance;                       ///< tolerance of the policy's rule
    double certificate;                     ///< bb_tile_work
    double saturated;
    double cost;        ///< time of the updates at nominal rates, relative to sp
    double escalations; ///< attempts after the first
    double iterations_mean, iterations_most; ///< iterations of the refinement, over right-hand
                                             ///< sides
    double break_even; ///< iterations at which a direct x3 factorization costs the same
    double stored_bytes, stored_values; ///< bytes and values of the reconstructors, if stored
    double stored_bits;                 ///< stored bits per value, including scales and widths
    /// bytes sent between processes, for the factor and one solve; NaN with one process
    double wire_bytes;
    double swap_read_bytes,
        swap_written_bytes; ///< traffic of a file of tiles, for the factor; NaN: no file
    double swap_wait_s;     ///< time for which threads wait for tiles, summed over threads
    double host_to_device_bytes,
        device_to_host_bytes;      ///< traffic of an L in host memory; NaN: none
    double tile_size;              ///< rows of a tile, NaN: no factorization
    double device_to_device_bytes; ///< traffic of an L on several GPUs; NaN: one GPU
    char digest[17];               ///< digest of the factor on the CPU, "" unknown
    double stored_step;            ///< step found by a search (storage_search.h), else NaN
} bb_factor_report;

/// Report with all values NaN.
bb_factor_report bb_factor_report_start(void);

/// Output tables: the axis of variants, and the datasets over pipelines.
extern const bb_output_table bb_factor_report_axes;
extern const bb_output_table bb_factor_report_outputs;

/// Writes both tables for `count` reports in the study's order, `stride` bytes apart. Errors: those
/// of bb_output_table_publish.
BB_CHECKED bb_status bb_factor_report_publish(const bb_factor_report *reports, size_t stride,
                                              bb_index count, bb_results *results);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a run of the deadline harness of ao found: its figures, and the datasets that they become.
#ifndef BB_SIM_AO_REALTIME_FRAME_TABLE_H
#define BB_SIM_AO_REALTIME_FRAME_TABLE_H

#include "sim/ao/realtime/frame_measurement.h"

extern const char *const bb_frame_table_stages[BB_FRAME_STAGES];

/// One of the frames of greatest latency; s.
typedef struct bb_frame_worst {
    double rank, release, frame, latency;
    double stages[BB_FRAME_STAGES];
} bb_frame_worst;

/// Figures of a run; loop and measurement are borrowed.
typedef struct bb_frame_table {
    const bb_frame_loop *loop;
    const bb_frame_measurement *measured;
    bb_latency_summary latency;
    bb_frame_worst worst[BB_REALTIME_WORST];
    bb_index worst_count;
    double deadline_ms, period_us; ///< NaN: back to back
    double commands, slopes, matrices, groups, devices;
    double operator_bytes, bits; ///< of a value, with what multiplies means
    double read_rate;            ///< operator bytes over the median product, byte/s
    double make_seconds, wall_seconds, held, distance;
} bb_frame_table;

/// Errors: BB_MEMORY, BB_INVALID (no frame was measured).
BB_CHECKED bb_status bb_frame_table_sum_up(const bb_frame_loop *loop,
                                           const bb_frame_measurement *measured,
                                           bb_frame_table *out);

extern const bb_output_table bb_frame_table_axes, bb_frame_table_times, bb_frame_table_figures,
    bb_frame_table_worst;

/// Writes them, and the tables of all loops. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_table_publish(const bb_frame_table *table, bb_results *results);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of an ao study, and what it found as a table and as results: latencies,
// misses with their bound, the worst frames with their stages, and what the host was.
#ifndef BB_SIM_AO_REALTIME_AO_REALTIME_H
#define BB_SIM_AO_REALTIME_AO_REALTIME_H

#include "sim/ao/realtime/frame_measurement.h"
#include "sim/experiment.h"

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
    bb_latency latency;
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

/// Contract of `realtime` in sim/experiment.h; `study` is a bb_ao_study. Errors besides: those of
/// bb_frame_loop_create and of the devices, BB_INVALID (no pipeline stores its reconstructor,
/// several GPUs of what runs on the cpu), BB_DEVICE (more GPUs than there are), BB_UNSUPPORTED (a
/// storage that the device does not multiply).
BB_CHECKED bb_status bb_ao_realtime_run(const void *study, bb_results *results, bb_text *table);

/// Appends the table and writes root axes kind and stage, /results, /latency, /worst and /host.
/// Errors: BB_MEMORY, BB_INVALID (no frame was measured).
BB_CHECKED bb_status bb_ao_realtime_report(const bb_frame_loop *loop,
                                           const bb_frame_measurement *measured,
                                           bb_results *results, bb_text *table);

/// Where the frames of a pipeline run: `auto` takes a cuda device only for storages that it
/// multiplies. Errors: those of bb_device_choice_make, BB_UNSUPPORTED.
BB_CHECKED bb_status bb_ao_realtime_choose(const bb_ao_study *study,
                                           const bb_factor_pipeline *pipeline, bb_device_kind *out);

#endif

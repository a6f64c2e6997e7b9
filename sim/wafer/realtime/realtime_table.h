// SPDX-License-Identifier: Apache-2.0
//
// What a run of the deadline harness found: its figures, the datasets that they become, and those
// that are printed as rows of a table.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_TABLE_H
#define BB_SIM_WAFER_REALTIME_REALTIME_TABLE_H

#include "core/text.h"
#include "sim/realtime/realtime_report.h"
#include "sim/wafer/realtime/realtime_measurement.h"

enum { BB_REALTIME_KINDS = BB_STEP_KINDS + 1, BB_REALTIME_SCHEDULES = 3 };

extern const char *const bb_realtime_stages[BB_STEP_STAGES];

/// Steps of one kind, of any GPU but for the stages; s.
typedef struct bb_realtime_kind {
    const char *name;
    bb_latency_summary latency;
    double stages[BB_LOOP_GPUS][BB_STEP_STAGES]; ///< medians
} bb_realtime_kind;

/// One of the steps of greatest latency; s.
typedef struct bb_realtime_worst {
    double rank, release, exposure, step, latency;
    const char *kind;
    double stages[BB_LOOP_GPUS][BB_STEP_STAGES];
} bb_realtime_worst;

/// A field by Table 1 of Bamakhrama et al., or as measured; s.
typedef struct bb_realtime_schedule {
    const char *name;
    double transfer, compute, period, latency;
} bb_realtime_schedule;

/// Figures of a run; loop and measurement are borrowed.
typedef struct bb_realtime_summary {
    const bb_wafer_loop *loop;
    const bb_realtime_measurement *measured;
    const bb_realtime_config *config;
    bb_realtime_kind kind[BB_REALTIME_KINDS]; ///< all first, then by bb_step_kind
    bb_realtime_worst worst[BB_REALTIME_WORST];
    bb_index worst_count;
    bb_realtime_schedule schedule[BB_REALTIME_SCHEDULES];
    bb_index gpus;
    double deadline_ms, period_ms, ahead, least_queued; ///< NaN: does not apply
    double field_steps, operator_bytes, field_bytes;
    double encode_seconds, wall_seconds;
    bb_field_times field;
    double fields_begun;  ///< streamed: fields whose first step was measured
    double fields_waited; ///< of them: not all matrices were there
    double longest_wait;  ///< s, of any device
} bb_realtime_summary;

/// Errors: BB_MEMORY, BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_realtime_table_sum_up(const bb_wafer_loop *loop,
                                              const bb_realtime_measurement *measured,
                                              bb_realtime_summary *out);

extern const bb_output_table bb_realtime_table_axes, bb_realtime_table_kinds,
    bb_realtime_table_figures, bb_realtime_table_worst, bb_realtime_table_schedules,
    bb_realtime_table_stream;

/// Writes them. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_table_publish(const bb_realtime_summary *summary,
                                               bb_results *results);

/// Columns that are printed, of a bb_realtime_worst and a bb_realtime_schedule.
typedef struct bb_realtime_print bb_realtime_print;
extern const bb_realtime_print bb_realtime_print_worst, bb_realtime_print_schedule;

/// Appends a record as it is printed, without a line's end; NULL: the headings. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_table_print(const bb_realtime_print *table, const void *record,
                                             bb_text *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a run of the deadline harness found, declared once: each number with its dataset, unit and
// long name, and with its heading and width where it is printed too.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_TABLE_H
#define BB_SIM_WAFER_REALTIME_REALTIME_TABLE_H

#include "sim/output/results.h"
#include "sim/text.h"
#include "sim/wafer/realtime/realtime_measurement.h"

enum { BB_REALTIME_KINDS = BB_STEP_KINDS + 1, BB_REALTIME_WORST = 10, BB_REALTIME_SCHEDULES = 3 };

/// In the order of the rows: kinds, all first, are bb_step_kind; schedules are those of a field by
/// Table 1 of Bamakhrama et al. and the measured one.
extern const int bb_realtime_kinds[BB_REALTIME_KINDS];
extern const char *const bb_realtime_kind_names[BB_REALTIME_KINDS];
extern const char *const bb_realtime_schedules[BB_REALTIME_SCHEDULES];

/// Figures of a run; loop and measurement are borrowed.
typedef struct bb_realtime_summary {
    const bb_wafer_loop *loop;
    const bb_realtime_measurement *measured;
    const bb_realtime_config *config;
    bb_latency_summary kind[BB_REALTIME_KINDS];
    double stage_median[BB_REALTIME_KINDS][BB_LOOP_GPUS][BB_STEP_STAGES]; ///< s
    bb_index worst[BB_REALTIME_WORST];                                    ///< steps
    bb_index worst_count;
    bb_index fields_begun;  ///< streamed: fields whose first step was measured
    bb_index fields_waited; ///< of them: not all matrices were there
    double longest_wait;    ///< s, of any device
} bb_realtime_summary;

/// Errors: BB_MEMORY, BB_INVALID (no step was measured).
BB_CHECKED bb_status bb_realtime_table_sum_up(const bb_wafer_loop *loop,
                                              const bb_realtime_measurement *measured,
                                              bb_realtime_summary *out);

/// Rows of numbers: over kinds of step, over the worst steps, over schedules, or one alone.
typedef struct bb_realtime_table bb_realtime_table;
extern const bb_realtime_table bb_realtime_by_kind;
extern const bb_realtime_table bb_realtime_totals;
extern const bb_realtime_table bb_realtime_worst;
extern const bb_realtime_table bb_realtime_by_schedule;
extern const bb_realtime_table bb_realtime_stream;

/// Writes the datasets of `rows` rows; their axis is there already unless it is one of them.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_table_publish(const bb_realtime_table *table,
                                               const bb_realtime_summary *summary, bb_index rows,
                                               bb_results *results);

/// Appends a row as it is printed, without a line's end; row -1: the headings. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_realtime_table_print(const bb_realtime_table *table,
                                             const bb_realtime_summary *summary, bb_index row,
                                             bb_text *out);

#endif

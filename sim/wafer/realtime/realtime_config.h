// SPDX-License-Identifier: Apache-2.0
//
// Keys of `realtime:`, what `bitbudget realtime` measures: one pipeline's steps, released at fixed
// times or back to back.
#ifndef BB_SIM_WAFER_REALTIME_REALTIME_CONFIG_H
#define BB_SIM_WAFER_REALTIME_REALTIME_CONFIG_H

#include "core/schema.h"

typedef enum bb_release {
    BB_RELEASE_FIXED,        ///< step k at t0 + k period
    BB_RELEASE_BACK_TO_BACK, ///< when the step before has ended
} bb_release;

typedef enum bb_loop_mode {
    BB_LOOP_RESIDENT, ///< matrices of all scored fields lie on the device
    BB_LOOP_STREAMED, ///< in pinned memory of the host, and cross field by field
} bb_loop_mode;

enum { BB_LOOP_GPUS = 3, BB_LOOP_AHEAD_MOST = 200, BB_LOOP_AHEAD_MOST_MS = 1000 };

typedef struct bb_realtime_config {
    const char *pipeline; ///< NULL: the first that is not the reference
    int release;          ///< bb_release
    bb_index steps;
    double period_ms;
    double deadline_ms;
    bb_index warm_up_steps;
    bb_index ahead; ///< 0 to BB_LOOP_AHEAD_MOST
    int matrices;   ///< bb_loop_mode
    bb_index gpus;  ///< 1 to BB_LOOP_GPUS
} bb_realtime_config;

extern const bb_schema bb_realtime_schema;
extern const char *const bb_release_names[];
extern const char *const bb_loop_mode_names[];

#endif

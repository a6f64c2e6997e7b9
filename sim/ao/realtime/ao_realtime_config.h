// SPDX-License-Identifier: Apache-2.0
//
// Keys of `realtime:` of ao, for `bitbudget realtime`: frames of one pipeline's reconstructor, or
// of random matrices of another size. Keys of `frame_times:`, frames that `run` measures for every
// pipeline's storage.
#ifndef BB_SIM_AO_REALTIME_AO_REALTIME_CONFIG_H
#define BB_SIM_AO_REALTIME_AO_REALTIME_CONFIG_H

#include "core/schema.h"
#include "sim/run/study.h"

typedef enum bb_ao_controller {
    BB_FRAME_CONTROLLER_NONE,       ///< commands are the product
    BB_FRAME_CONTROLLER_INTEGRATOR, ///< v <- (1 - gain) v + gain product
} bb_ao_controller;

typedef enum bb_frame_clock {
    BB_FRAME_CLOCK_HOST,
    BB_FRAME_CLOCK_DEVICE, ///< clock of the device that runs the loop
} bb_frame_clock;

/// Keys of `realtime.size:`; BB_INTEGER_UNSET: not given.
typedef struct bb_frame_size {
    bb_index commands, slopes;
} bb_frame_size;

#define BB_TELEMETRY_DATASET "/slopes"

/// Keys of `realtime.telemetry:`.
typedef struct bb_telemetry_config {
    const char *file;    ///< NULL: random slopes
    const char *dataset; ///< NULL: BB_TELEMETRY_DATASET; for FITS the first image
} bb_telemetry_config;

typedef struct bb_ao_realtime_config {
    const char *pipeline; ///< NULL: the first pipeline that stores its reconstructor
    double rate_hz;       ///< rate of releases; 0: back to back
    int clock;            ///< bb_frame_clock, the clock of releases and latencies
    bb_index frames;
    bb_index warm_up_frames;
    double deadline_ms;
    int accumulate; ///< bb_format: fp64 or fp32
    int controller; ///< bb_ao_controller
    double gain;    ///< NaN: not given
    bb_index delay_frames;
    bb_index gpus; ///< 1 to BB_COMMAND_DEVICES
    bb_frame_size size;
    bb_index targets; ///< number of random matrices
    bb_telemetry_config telemetry;
} bb_ao_realtime_config;

extern const bb_schema bb_ao_realtime_schema;
extern const char *const bb_frame_controller_names[];
extern const char *const bb_frame_clock_names[];

/// True if random matrices replace the study's.
bool bb_ao_realtime_config_draws(const bb_ao_realtime_config *self);

/// Gain of the controller; 1 without a controller.
double bb_ao_realtime_config_gain(const bb_ao_realtime_config *self);

/// Index of the realtime pipeline among bb_factor_pipeline `pipelines`; -1: none.
bb_index bb_ao_realtime_config_pipeline(const bb_ao_realtime_config *self,
                                        const bb_list *pipelines);

/// Checks the keys against each other, for a study with the given `device` (a kind or
/// BB_DEVICE_AUTO). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_realtime_config_check(const bb_ao_realtime_config *self,
                                                 const bb_list *pipelines, int device,
                                                 const bb_config *config, bb_problems *problems);

typedef struct bb_frame_times_config {
    bb_index frames; ///< 0: none
    bb_index warm_up_frames;
    double rate_hz; ///< rate of releases; 0: back to back
} bb_frame_times_config;

extern const bb_schema bb_frame_times_schema;

/// Loop settings for those frames: the study's sums, releases by the host's clock, no controller
/// and no delay.
bb_ao_realtime_config bb_frame_times_config_loop(const bb_frame_times_config *self,
                                                 const bb_ao_realtime_config *realtime);

/// Checks the keys for frames that multiply `reconstructors` matrices. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_times_config_check(const bb_frame_times_config *self,
                                                 const bb_list *pipelines, bb_index reconstructors,
                                                 const bb_config *config, bb_problems *problems);

#endif

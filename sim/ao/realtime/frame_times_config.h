// SPDX-License-Identifier: Apache-2.0
//
// Keys of `frame_times:` of ao: frames that `run` measures of every pipeline's storage, once that
// is told or found.
#ifndef BB_SIM_AO_REALTIME_FRAME_TIMES_CONFIG_H
#define BB_SIM_AO_REALTIME_FRAME_TIMES_CONFIG_H

#include "sim/ao/realtime/ao_realtime_config.h"

typedef struct bb_frame_times_config {
    bb_index frames; ///< 0: none
    bb_index warm_up_frames;
    double rate_hz; ///< of releases; 0: back to back
} bb_frame_times_config;

extern const bb_schema bb_frame_times_schema;

/// The loop that those frames run in: the study's sums, released by the host's clock, neither
/// controller nor delay.
bb_ao_realtime_config bb_frame_times_config_loop(const bb_frame_times_config *self,
                                                 const bb_ao_realtime_config *realtime);

/// The rules of a study whose frames multiply so many reconstructors. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_times_config_check(const bb_frame_times_config *self,
                                                 const bb_list *pipelines, bb_index reconstructors,
                                                 const bb_config *config, bb_problems *problems);

#endif

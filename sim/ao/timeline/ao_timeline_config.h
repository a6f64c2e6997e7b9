// SPDX-License-Identifier: Apache-2.0
//
// Rules of `time_domain:` of ao, whose keys are those of physics/ao/ao_config.h.
#ifndef BB_SIM_AO_TIMELINE_AO_TIMELINE_CONFIG_H
#define BB_SIM_AO_TIMELINE_AO_TIMELINE_CONFIG_H

#include "physics/ao/atmosphere.h"
#include "sim/ao/ao_study.h"

/// The rules between time_domain and the rest of a bb_ao_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_timeline_config_check(const void *study, const bb_config *config,
                                                 bb_problems *problems);

/// Whether the grids of influence functions from files reach what guide stars see of the mirrors in
/// a closed loop (bb_mirror_stack_cover), which `physics` has been handed. Errors: BB_INVALID,
/// BB_MEMORY.
BB_CHECKED bb_status bb_ao_timeline_config_cover(const bb_ao_study *study,
                                                 const bb_ao_config *physics,
                                                 const bb_sensor_array *guides);

/// The wind of every layer, m/s, into `out` [layers][2]: speeds of error_terms or of the profile,
/// directions of time_domain.wind_direction_deg, turns by the golden angle without.
void bb_ao_timeline_config_wind(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                double (*out)[2]);

/// From the middle of an exposure to its correction, ms.
double bb_ao_timeline_config_delay_ms(const bb_ao_study *study);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Checks of `time_domain:` of ao; the keys are in physics/ao/ao_config.h.
#ifndef BB_SIM_AO_TIMELINE_AO_TIMELINE_CONFIG_H
#define BB_SIM_AO_TIMELINE_AO_TIMELINE_CONFIG_H

#include "physics/ao/atmosphere.h"
#include "sim/ao/ao_study.h"

/// Checks time_domain against the other keys of a bb_ao_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_timeline_config_check(const void *study, const bb_config *config,
                                                 bb_problems *problems);

/// Checks that influence functions from files, set in `physics`, cover the area of the mirrors that
/// guide stars see in a closed loop (bb_mirror_stack_check_coverage). Errors: BB_INVALID,
/// BB_MEMORY.
BB_CHECKED bb_status bb_ao_timeline_config_cover(const bb_ao_study *study,
                                                 const bb_ao_config *physics,
                                                 const bb_sensor_array *guides);

/// Computes the wind of every layer, m/s, into `out` [layers][2]: speeds from error_terms or the
/// profile, directions from time_domain.wind_direction_deg, or multiples of the golden angle
/// without.
void bb_ao_timeline_config_wind(const bb_ao_study *study, const bb_atmosphere *atmosphere,
                                double (*out)[2]);

/// Delay from the middle of an exposure to its correction, ms.
double bb_ao_timeline_config_delay_ms(const bb_ao_study *study);

#endif

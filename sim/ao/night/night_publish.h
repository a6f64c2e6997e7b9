// SPDX-License-Identifier: Apache-2.0
//
// The group /night of the results.
#ifndef BB_SIM_AO_NIGHT_NIGHT_PUBLISH_H
#define BB_SIM_AO_NIGHT_NIGHT_PUBLISH_H

#include "sim/ao/ao_study.h"
#include "sim/ao/night/night_schedule.h"
#include "sim/output/output_table.h"

/// What is written: axes and profiles, and scores, of latencies that are given or measured.
extern const bb_output_table bb_night_publish_profiles, bb_night_publish_given,
    bb_night_publish_measured, bb_night_publish_given_ages, bb_night_publish_measured_ages;

/// Writes /night. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_publish(const bb_ao_study *study, const bb_profile_series *series,
                                      const double *latency_s, const bb_night_scores *scores,
                                      bb_results *results);

#endif

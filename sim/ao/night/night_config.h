// SPDX-License-Identifier: Apache-2.0
//
// Keys of `night:`, a supervisor that recomputes the reconstructor while the turbulence changes.
#ifndef BB_SIM_AO_NIGHT_NIGHT_CONFIG_H
#define BB_SIM_AO_NIGHT_NIGHT_CONFIG_H

#include "physics/ao/ao_config.h"
#include "physics/ao/night/profile_series.h"
#include "sim/config/config.h"

/// Source of the profiles.
typedef enum bb_night_source {
    BB_NIGHT_OFF,
    BB_NIGHT_WALK,  ///< the study's atmosphere, with strengths as random walks
    BB_NIGHT_DRIFT, ///< a transition from one built-in profile to another
    BB_NIGHT_FILE,  ///< rows of a table
} bb_night_source;

/// Profile used for a reconstructor, in the order of bb_night_policy_names.
typedef enum bb_night_policy {
    BB_NIGHT_SNAPSHOT, ///< the newest profile
    BB_NIGHT_MEAN,     ///< the mean profile
    BB_NIGHT_SHRINK,   ///< the newest, weighted towards the mean with age
    BB_NIGHT_POLICY_COUNT
} bb_night_policy;

extern const char *const bb_night_policy_names[]; ///< NULL-terminated

/// Samples of the mean profile.
typedef enum bb_night_mean {
    BB_NIGHT_MEAN_PAST,   ///< all samples up to the time of the data
    BB_NIGHT_MEAN_SCORED, ///< all scored samples, in hindsight
} bb_night_mean;

/// Layer of a profile at one time.
typedef struct bb_night_layer_config {
    double time_s, height_m, strength;
    double wind_m_per_s;  ///< NaN: unknown
    double outer_scale_m; ///< NaN: outer scale of the atmosphere
} bb_night_layer_config;

typedef struct bb_night_config {
    int source;               ///< bb_night_source
    int first_profile;        ///< bb_profile, or -1
    int last_profile;         ///< bb_profile, or -1
    bb_list layers;           ///< list of bb_night_layer_config
    double walk_deviation;    ///< deviation of ln strength
    double walk_minutes;      ///< correlation time
    double hours;             ///< duration of the night
    double sample_minutes;    ///< interval of profiles and of scores
    double scored_hours;      ///< final hours to score; NaN: all
    double cadence_minutes;   ///< interval of reconstructor updates; NaN: every sample
    bb_list latency_s;        ///< list of double: none, one, or one for each pipeline
    bb_list policies;         ///< list of int: bb_night_policy
    int mean;                 ///< bb_night_mean
    double shrink_minutes;    ///< decay time of the weight of a profile; NaN: walk_minutes
    bb_list ages_minutes;     ///< list of double
    bb_index learning_frames; ///< 0: strengths are exact
} bb_night_config;

extern const bb_schema bb_night_schema;

/// Checks the night of a bb_ao_study against its other keys. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_config_check(const void *study, const bb_config *config,
                                           bb_problems *problems);

/// Number of samples of the night, the first at time 0, and the first scored sample.
bb_index bb_night_config_samples(const bb_night_config *night);
bb_index bb_night_config_first_scored(const bb_night_config *night);

/// Seconds between reconstructors.
double bb_night_config_cadence_s(const bb_night_config *night);

/// Creates the profiles of a night. Errors: BB_MEMORY, BB_INVALID (two rows for a layer at one
/// time).
BB_CHECKED bb_status bb_night_config_series(const bb_night_config *night,
                                            const bb_ao_config *physics, uint64_t seed,
                                            bb_profile_series *out);

#endif

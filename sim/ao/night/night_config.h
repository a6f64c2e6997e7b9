// SPDX-License-Identifier: Apache-2.0
//
// Keys of `night:`, a supervisor that makes the reconstructor anew while the turbulence changes.
#ifndef BB_SIM_AO_NIGHT_NIGHT_CONFIG_H
#define BB_SIM_AO_NIGHT_NIGHT_CONFIG_H

#include "physics/ao/ao_config.h"
#include "physics/ao/night/profile_series.h"
#include "sim/config/config.h"

/// Where the profiles come from.
typedef enum bb_night_source {
    BB_NIGHT_OFF,
    BB_NIGHT_WALK,  ///< the study's atmosphere, whose strengths walk
    BB_NIGHT_DRIFT, ///< from one shipped profile to another
    BB_NIGHT_FILE,  ///< as rows say
} bb_night_source;

/// What a reconstructor is made of. The order is that of bb_night_policy_names.
typedef enum bb_night_policy {
    BB_NIGHT_SNAPSHOT, ///< the newest profile
    BB_NIGHT_MEAN,     ///< the mean profile
    BB_NIGHT_SHRINK,   ///< the newest, drawn towards the mean as it ages
    BB_NIGHT_POLICY_COUNT
} bb_night_policy;

extern const char *const bb_night_policy_names[]; ///< NULL-terminated

/// Whose mean it is.
typedef enum bb_night_mean {
    BB_NIGHT_MEAN_PAST,   ///< of all samples until the data were taken
    BB_NIGHT_MEAN_SCORED, ///< of all scored samples, as hindsight knows
} bb_night_mean;

/// A layer of a profile at a time.
typedef struct bb_night_layer_config {
    double time_s, height_m, strength;
    double wind_m_per_s;  ///< NaN: not known
    double outer_scale_m; ///< NaN: that of the atmosphere
} bb_night_layer_config;

typedef struct bb_night_config {
    int source;               ///< bb_night_source
    int first_profile;        ///< bb_profile, or -1
    int last_profile;         ///< bb_profile, or -1
    bb_list layers;           ///< of bb_night_layer_config
    double walk_deviation;    ///< of ln strength
    double walk_minutes;      ///< correlation time
    double hours;             ///< of the night
    double sample_minutes;    ///< between profiles and between scores
    double scored_hours;      ///< the last ones; NaN: all
    double cadence_minutes;   ///< between reconstructors; NaN: every sample
    bb_list latency_s;        ///< of double: none, one, or one a pipeline
    bb_list policies;         ///< of int: bb_night_policy
    int mean;                 ///< bb_night_mean
    double shrink_minutes;    ///< by which a snapshot loses trust; NaN: walk_minutes
    bb_list ages_minutes;     ///< of double
    bb_index learning_frames; ///< 0: strengths are known
} bb_night_config;

extern const bb_schema bb_night_schema;

/// The rules between the night of a bb_ao_study and the rest of it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_config_check(const void *study, const bb_config *config,
                                           bb_problems *problems);

/// Samples of the night, the first at time 0, and the first of them that is scored.
bb_index bb_night_config_samples(const bb_night_config *night);
bb_index bb_night_config_first_scored(const bb_night_config *night);

/// Seconds between reconstructors.
double bb_night_config_cadence_s(const bb_night_config *night);

/// The profiles of a night. Errors: BB_MEMORY, BB_INVALID (two rows of a layer at one time).
BB_CHECKED bb_status bb_night_config_series(const bb_night_config *night,
                                            const bb_ao_config *physics, uint64_t seed,
                                            bb_profile_series *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Which reconstructor is in use when, over a night, and what each is made of.
//
// At time t a reconstructor is of data from t - latency - age. Over the night it is made anew at
// multiples of the cadence: the data in use are those of the last multiple that is a latency ago.
// Data before the night are those of its start. A policy makes a profile of them:
//   snapshot  the profile of the data,
//   mean      the mean of the samples until the data (or of all that are scored),
//   shrink    trust x snapshot + (1 - trust) x mean, trust = exp(-age / tau) with the age of the
//             data in use: latency + age, and over the night latency + (cadence - sample) / 2, its
//             mean over the samples of a reconstructor.
#ifndef BB_SIM_AO_NIGHT_NIGHT_SCHEDULE_H
#define BB_SIM_AO_NIGHT_NIGHT_SCHEDULE_H

#include "physics/ao/night/profile_series.h"
#include "sim/ao/night/night_config.h"

/// What a reconstructor is made of.
typedef struct bb_night_recipe {
    int64_t data_us; ///< when its data were taken
    double trust;    ///< weight of the snapshot against the mean
    bool is_known;   ///< without errors of learning
} bb_night_recipe;

/// A reconstructor of a pipeline in use at a sample, and where the Strehl ratio goes.
typedef struct bb_night_use {
    bb_night_recipe recipe;
    bb_index sample; ///< of the night
    bb_index pipeline;
    double *strehl;
} bb_night_use;

/// Strehl ratios, NaN where a reconstructor failed: of the R of the moment, of each policy at the
/// cadence, and of each policy at each age.
typedef struct bb_night_scores {
    bb_index pipelines, policies, samples, ages; ///< samples: those that are scored
    double *moment;                              ///< [pipelines][samples]
    double *strehl;                              ///< [pipelines][policies][samples]
    double *aged;                                ///< [pipelines][policies][ages][samples]
} bb_night_scores;

/// All NaN. Errors: BB_MEMORY. Release with bb_night_scores_release.
BB_CHECKED bb_status bb_night_scores_create(const bb_night_config *night, bb_index pipelines,
                                            bb_night_scores *out);
void bb_night_scores_release(bb_night_scores *scores);

/// How many uses a night has.
double bb_night_schedule_uses(const bb_night_config *night, bb_index pipelines);

/// All uses of a night, those of one recipe together and in the order of samples, for the latency
/// [pipelines] of each pipeline, s. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_night_schedule_create(const bb_night_config *night, const double *latency_s,
                                              bb_night_scores *scores, bb_night_use **out,
                                              bb_index *count);

/// Whether two uses have one recipe.
bool bb_night_schedule_same(const bb_night_use *first, const bb_night_use *second);

/// Time of a sample, s.
double bb_night_schedule_time(const bb_night_config *night, bb_index sample);

/// Profiles that recipes ask for.
typedef struct bb_night_profiles {
    const bb_night_config *night;
    const bb_profile_series *series;
    uint64_t seed;
    double *sums;        ///< [samples + 1][layers] of the samples before each, as learned
    double *scored_mean; ///< [layers]
} bb_night_profiles;

/// Borrows all. Errors: BB_MEMORY. Release with bb_night_profiles_release.
BB_CHECKED bb_status bb_night_profiles_create(const bb_night_config *night,
                                              const bb_profile_series *series, uint64_t seed,
                                              bb_night_profiles *out);
void bb_night_profiles_release(bb_night_profiles *profiles);

/// Strengths [layers] that a recipe is made of. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_profiles_mix(const bb_night_profiles *profiles,
                                           const bb_night_recipe *recipe, double *strength);

#endif

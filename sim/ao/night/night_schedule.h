// SPDX-License-Identifier: Apache-2.0
//
// Schedule of reconstructors over a night, and the profile of each.
//
// At time t a reconstructor is computed from data of t - latency - age. Over the night it is
// recomputed at multiples of the cadence, and the data in use are those of the last multiple at
// least a latency ago. Data before the night are replaced by those of its start. A policy turns
// data into a profile:
//   snapshot  the profile of the data,
//   mean      the mean of the samples up to the data (or of all scored samples),
//   shrink    trust x snapshot + (1 - trust) x mean, trust = exp(-age / tau) with the age of the
//             data in use: latency + age, and over the night latency + (cadence - sample) / 2, the
//             mean over the samples of a reconstructor.
#ifndef BB_SIM_AO_NIGHT_NIGHT_SCHEDULE_H
#define BB_SIM_AO_NIGHT_NIGHT_SCHEDULE_H

#include "physics/ao/night/profile_series.h"
#include "sim/ao/night/night_config.h"

/// Profile that a reconstructor is computed from.
typedef struct bb_night_recipe {
    int64_t data_us; ///< time of the data
    double trust;    ///< weight of the snapshot; the mean has the remaining weight
    bool is_known;   ///< without learning errors
} bb_night_recipe;

/// Reconstructor of a pipeline in use at a sample, and the address of its Strehl ratio.
typedef struct bb_night_use {
    bb_night_recipe recipe;
    bb_index sample; ///< index in the night
    bb_index pipeline;
    double *strehl;
} bb_night_use;

/// Strehl ratios, NaN where a reconstructor failed: for the reconstructor of the moment, for each
/// policy at the cadence, and for each policy at each age.
typedef struct bb_night_scores {
    bb_index pipelines, policies, samples, ages; ///< samples: scored ones only
    double *moment;                              ///< [pipelines][samples]
    double *strehl;                              ///< [pipelines][policies][samples]
    double *aged;                                ///< [pipelines][policies][ages][samples]
} bb_night_scores;

/// Allocates the scores, all NaN. Errors: BB_MEMORY. Release with bb_night_scores_release.
BB_CHECKED bb_status bb_night_scores_create(const bb_night_config *night, bb_index pipelines,
                                            bb_night_scores *out);
void bb_night_scores_release(bb_night_scores *scores);

/// Number of uses in a night.
double bb_night_schedule_uses(const bb_night_config *night, bb_index pipelines);

/// Lists all uses of a night, grouped by recipe and ordered by sample, for the latency [pipelines]
/// of each pipeline, s. The caller owns `*out`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_schedule_create(const bb_night_config *night, const double *latency_s,
                                              bb_night_scores *scores, bb_night_use **out,
                                              bb_index *count);

/// True if two uses have the same recipe.
bool bb_night_schedule_same(const bb_night_use *first, const bb_night_use *second);

/// Time of a sample, s.
double bb_night_schedule_time(const bb_night_config *night, bb_index sample);

/// Profiles of a night as learned, for mixing recipes.
typedef struct bb_night_profiles {
    const bb_night_config *night;
    const bb_profile_series *series;
    uint64_t seed;
    double *sums;        ///< [samples + 1][layers] sums over all earlier samples, as learned
    double *scored_mean; ///< [layers]
} bb_night_profiles;

/// Creates the profiles from its arguments, which are borrowed. Errors: BB_MEMORY. Release with
/// bb_night_profiles_release.
BB_CHECKED bb_status bb_night_profiles_create(const bb_night_config *night,
                                              const bb_profile_series *series, uint64_t seed,
                                              bb_night_profiles *out);
void bb_night_profiles_release(bb_night_profiles *profiles);

/// Computes the strengths [layers] of a recipe. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_night_profiles_mix(const bb_night_profiles *profiles,
                                           const bb_night_recipe *recipe, double *strength);

#endif

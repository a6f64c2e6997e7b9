// SPDX-License-Identifier: Apache-2.0
//
// Turbulence over a night: layers at fixed heights with varying strengths and winds.
//
// Each row describes a layer at a time; rows of one height and outer scale are one layer, of
// strength 0 at times without a row of it. Between times strengths and winds are interpolated
// linearly, outside they are constant. Covariances of slopes are linear in the strengths of layers:
// mixing profiles is mixing matrices.
//
// A random walk multiplies strengths by exp(x), x a stationary Ornstein-Uhlenbeck process per layer
// with the autocorrelation sigma^2 exp(-|t| / tau). It is discretised exactly,
//   x_0 = sigma z_0,  x_k = rho x_(k-1) + sigma sqrt(1 - rho^2) z_k,  rho = exp(-step / tau),
// and between steps, a after one and b before the next, drawn given both of them (a bridge), with p
// = exp(-a / tau), q = exp(-b / tau):
//   mean (p (1 - q^2) x_k + q (1 - p^2) x_(k+1)) / (1 - p^2 q^2),
//   variance sigma^2 (1 - p^2) (1 - q^2) / (1 - p^2 q^2).
// Two times within one step are independent beyond that. A model, not data. Random numbers are
// addressed by seed, layer and time: a value does not depend on which others were requested.
#ifndef BB_PHYSICS_AO_NIGHT_PROFILE_SERIES_H
#define BB_PHYSICS_AO_NIGHT_PROFILE_SERIES_H

#include "core/need.h"
#include "core/status.h"

#include <stdint.h>

/// One layer at one time.
typedef struct bb_profile_row {
    double time_s;
    double height_m;     ///< at zenith
    double strength;     ///< r0^(-5/3) at 500 nm and zenith, m^(-5/3)
    double wind_m_per_s; ///< NaN: unknown
    double outer_scale_m;
} bb_profile_row;

/// Read-only to users. Zero-initialise, fill with bb_profile_series_create, free with
/// bb_profile_series_release.
typedef struct bb_profile_series {
    bb_index layer_count;
    double *height_m;      ///< [layers] at zenith
    double *outer_scale_m; ///< [layers]
    bb_index time_count;
    double *time_s;                          ///< [times] of the rows, ascending
    double *strength;                        ///< [times][layers]
    double *wind;                            ///< [times][layers], m/s
    double deviation, correlation_s, step_s; ///< deviation, correlation time and step of a walk
    bb_index step_count;                     ///< index of its last step
    uint64_t seed;
    double *walk; ///< [step_count + 1][layers], NULL: none
} bb_profile_series;

/// Collects the layers and times of rows in any order. A wind unknown at a time is taken from the
/// nearest earlier time, else the nearest later one, with a known wind. Errors: BB_MEMORY,
/// BB_INVALID (no row, two rows of one layer and time).
BB_CHECKED bb_status bb_profile_series_create(const bb_profile_row *rows, bb_index count,
                                              bb_profile_series *out);
void bb_profile_series_release(bb_profile_series *series);

/// Adds a random walk of the strengths with steps from time 0 on; `deviation` is sigma of ln
/// strength. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_profile_series_walk(bb_profile_series *series, double deviation,
                                            double correlation_s, double step_s,
                                            bb_index step_count, uint64_t seed);

/// Strengths [layers] and, unless NULL, winds [layers] at a time, resolved to microseconds.
void bb_profile_series_at(const bb_profile_series *series, double time_s, double *strength,
                          double *wind);

/// Standard deviation of ln strength of a layer learned from that many frames: 0.05 sqrt(480 /
/// frames).
double bb_profile_series_learning_deviation(double frames);

/// Multiplies strengths [count] by exp(deviation z), z normal and independent over layers and
/// times: simulates learning from finite data.
void bb_profile_series_learn(uint64_t seed, double deviation, double time_s, bb_index count,
                             double *strength);

/// Weight of a snapshot of that age relative to the mean profile, exp(-age / tau): minimises the
/// mean square error of ln strength for a walk.
double bb_profile_series_weight(double age_s, double correlation_s);

/// Memory and time: `rows` of `layers` at `times`, and `steps` of a walk.
bb_need bb_profile_series_need(double rows, double layers, double times, double steps);

#endif

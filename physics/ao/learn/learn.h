// SPDX-License-Identifier: Apache-2.0
//
// The learn step of Learn & Apply (Vidal, Gendron and Rousset 2010): strengths of turbulent layers,
// and their outer scale, from a covariance of slopes.
//
// The covariance of slopes is linear in the strengths x of layers at given heights, C = sum x_l
// C_l(L0) + noise + tilts. The strengths are the non-negative ones (Lawson and Hanson 1974) that
// bring it nearest to the measured one in the Frobenius norm over the entries that count:
//   - the two slopes of one subaperture with themselves and each other carry the noise and are left
//     out, whatever the noise is;
//   - the tilt of a laser star is unknown: from every block of a laser star's slopes, the part that
//     a common slope of all its subapertures makes (u_i + v_j within the star, the mean over its
//     subapertures elsewhere) is projected out of measurement and layers alike;
//   - blocks that depend on the displacement of lenslets only are averaged over equal ones.
// What is left of all blocks is reduced to one triangle by orthogonal steps, so that the condition
// is that of the layers and not its square. The outer scale is the least residual over log L0.
//
// Limits: one outer scale; heights are given, not found; aligned knowledge of the sensors.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_H
#define BB_PHYSICS_AO_LEARN_LEARN_H

#include "core/matrix_source.h"
#include "core/need.h"
#include "core/outcome.h"
#include "physics/ao/sensor_array.h"

/// What is fitted to what. Heights, strengths and r0 are at zenith, as in a configuration.
typedef struct bb_learn_task {
    const bb_ao_config *config; ///< telescope, sensors and stars; its atmosphere is not used
    bb_index layer_count;
    const double *height_m;         ///< [layer_count]
    double outer_scale_low_m;       ///< equal to the high one: known
    double outer_scale_high_m;      ///< and fitted in between
    double separation;              ///< least share of a layer's covariance that is its own
    bb_index source_count;          ///< independent estimates of one covariance, of equal weight
    const bb_matrix_source *source; ///< [source_count], each n x n, arcsec^2
} bb_learn_task;

/// What was learned. Release with bb_learned_profile_release. After an outcome that is not ok the
/// strengths, and what follows from them, are NaN; `own` and `condition` say why.
typedef struct bb_learned_profile {
    bb_outcome outcome; ///< underdetermined: the geometry does not separate the layers
    bb_index layer_count;
    double *height_m; ///< [layer_count]
    double *strength; ///< [layer_count] m^(-5/3)
    double *sigma;    ///< [layer_count] standard error: from the scatter of the sources where
                      ///< there are two or more, else from the residual, taken as uncorrelated
    double *own;      ///< [layer_count] share of a layer's covariance that no others make
    double r0_m;      ///< (sum of strengths)^(-3/5), at 500 nm
    double outer_scale_m;
    double outer_scale_sigma_m; ///< 0 where it was known
    bool outer_scale_bounded;   ///< the fit stands at a bound: L0 is not in the range
    double residual;            ///< norm of what is left of the entries fitted, over theirs
    double condition;           ///< of the normal matrix of layers of unit norm
    bb_index sensor_count;
    double *noise_arcsec2; ///< [sensor_count] mean variance of a slope beyond turbulence
    double *tilt_arcsec2;  ///< [sensor_count] mean variance of a laser star's unknown tilt, else 0
} bb_learned_profile;

/// Whether `source` is as large as a covariance of the guide stars' `slopes`; reads no value.
/// Errors: BB_INVALID.
BB_CHECKED bb_status bb_learn_source_check(const bb_matrix_source *source, bb_index slopes);

/// Errors: BB_INVALID (no layer or source, a covariance of another size, a range of L0 that is
/// none), BB_MEMORY, BB_INTERNAL (LAPACK), the sources'. Holds, in bytes, about 8 (layers +
/// sources) times the square of the largest sensor's slopes along an axis.
BB_CHECKED bb_status bb_learn_fit(const bb_learn_task *task, bb_learned_profile *out);

/// Sizes of a fit.
typedef struct bb_learn_extent {
    const bb_sensor_array *guides; ///< of any atmosphere
    double layers, sources;
    double outer_scale_low_m, outer_scale_high_m;
} bb_learn_extent;

/// Outer scales that the layers are made for: a first judgement, the search, the conclusion.
double bb_learn_trials(const bb_learn_extent *extent);

/// What the fit takes beside its sources.
bb_need bb_learn_need(const bb_learn_extent *extent, double threads);
void bb_learned_profile_release(bb_learned_profile *profile);

#endif

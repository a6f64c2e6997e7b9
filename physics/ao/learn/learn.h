// SPDX-License-Identifier: Apache-2.0
//
// Learn step of Learn & Apply (Vidal, Gendron and Rousset 2010): strengths of turbulent layers, and
// their outer scale, from a covariance of slopes.
//
// The covariance of slopes is linear in the strengths x of layers at given heights, C = sum x_l
// C_l(L0) + noise + tilts. The strengths are the non-negative least-squares solution (Lawson and
// Hanson 1974) for the measured covariance in the Frobenius norm over the usable entries:
//   - the two slopes of one subaperture with themselves and each other contain the noise and are
//     excluded, whatever the noise is;
//   - the tilt of a laser star is unknown: from every block of a laser star's slopes, the part due
//     to a common slope of all its subapertures (u_i + v_j within the star, the mean over its
//     subapertures elsewhere) is projected out of measurement and layers alike;
//   - blocks that depend on the displacement of lenslets only are averaged over equal ones.
// The remaining entries of all blocks are reduced to one triangle by orthogonal transformations, so
// that the condition is that of the layers and not its square. The outer scale minimises the
// residual over log L0.
//
// Limits: one outer scale; heights are given, not fitted; the alignment of the sensors must be
// known.
#ifndef BB_PHYSICS_AO_LEARN_LEARN_H
#define BB_PHYSICS_AO_LEARN_LEARN_H

#include "core/matrix_source.h"
#include "core/need.h"
#include "core/outcome.h"
#include "physics/ao/sensor_array.h"

/// A fit of layers to covariances. Heights, strengths and r0 are at zenith, as in a configuration.
typedef struct bb_learn_task {
    const bb_ao_config *config; ///< telescope, sensors and stars; its atmosphere is not used
    bb_index layer_count;
    const double *height_m;    ///< [layer_count]
    double outer_scale_low_m;  ///< equal to the high one: fixed
    double outer_scale_high_m; ///< fitted in between
    double separation; ///< smallest acceptable fraction of a layer's covariance that is independent
    bb_index source_count;          ///< independent estimates of one covariance, of equal weight
    const bb_matrix_source *source; ///< [source_count], each n x n, arcsec^2
} bb_learn_task;

/// Result of a fit. Release with bb_learned_profile_release. After an outcome that is not ok the
/// strengths, and everything derived from them, are NaN; `own` and `condition` give the reason.
typedef struct bb_learned_profile {
    bb_outcome outcome; ///< underdetermined: the geometry does not separate the layers
    bb_index layer_count;
    double *height_m; ///< [layer_count]
    double *strength; ///< [layer_count] m^(-5/3)
    double *sigma;    ///< [layer_count] standard error: from the scatter of the sources if
                      ///< there are two or more, else from the residual, assumed uncorrelated
    double *own;      ///< [layer_count] independent fraction of a layer's covariance
    double r0_m;      ///< (sum of strengths)^(-3/5), at 500 nm
    double outer_scale_m;
    double outer_scale_sigma_m; ///< 0 if it was fixed
    bool outer_scale_bounded;   ///< the fit is at a bound: L0 is not inside the range
    double residual;  ///< norm of the residual over the fitted entries, relative to theirs
    double condition; ///< condition of the normal matrix of normalised layers
    bb_index sensor_count;
    double *noise_arcsec2; ///< [sensor_count] mean variance of a slope beyond turbulence
    double *tilt_arcsec2;  ///< [sensor_count] mean variance of a laser star's unknown tilt, else 0
} bb_learned_profile;

/// Checks that `source` has the size of a covariance of the guide stars' `slopes`; reads no value.
/// Errors: BB_INVALID.
BB_CHECKED bb_status bb_learn_source_check(const bb_matrix_source *source, bb_index slopes);

/// Fits the layers. Errors: BB_INVALID (no layer or source, a covariance of another size, an empty
/// range of L0), BB_MEMORY, BB_INTERNAL (LAPACK), the sources'. Memory in bytes: about 8 (layers +
/// sources) times the square of the largest sensor's slopes along an axis.
BB_CHECKED bb_status bb_learn_fit(const bb_learn_task *task, bb_learned_profile *out);

/// Sizes of a fit.
typedef struct bb_learn_extent {
    const bb_sensor_array *guides; ///< of any atmosphere
    double layers, sources;
    double outer_scale_low_m, outer_scale_high_m;
} bb_learn_extent;

/// Number of outer scales at which layers are computed: an initial check, the search, the final
/// solve.
double bb_learn_trials(const bb_learn_extent *extent);

/// Memory and time of the fit without its sources.
bb_need bb_learn_need(const bb_learn_extent *extent, double threads);
void bb_learned_profile_release(bb_learned_profile *profile);

#endif

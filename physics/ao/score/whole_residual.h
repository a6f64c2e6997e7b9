// SPDX-License-Identifier: Apache-2.0
//
// The whole residual of a correction, between points of the pupil, from covariances alone.
//
// A mirror's commands are v = M s, s the slopes of the guide stars; the residual over the pupil is
//   e(p) = phi(p) - F(p) v,   D_ij = <(e_i - e_j)^2>.
// With D the structure function of the turbulence, W = M Cmm M^T the covariance of commands and x_j
// = <v phi_j> = M <s phi_j> (phase_slope_covariance.h)
//   D_ij = D(i - j) + S_ii + S_jj - 2 S_ij,   S_ij = (F_i z_j + z_i F_j) / 2,   z_j = W F_j - 2
//   x_j.
// It includes the residual of slopes, fitting and aliasing of all sensors and their correlations,
// and, with points that drift with the layers, the servo lag of frozen flow. Nothing is assumed
// stationary or independent. error_terms.h adds fitting and lag as if they were independent of the
// residual of slopes; its Strehl ratio is 0.008 to 0.020 higher on 8 m with 10 lenslets.
//
// For mirrors that correct together, F are their surfaces towards the target (mirror_surface.h). W
// of a target's own mirror follows from the covariance U of its residual commands, which is known:
// U = Dx Ctt Dx^T - M B^T - B M^T + W, B = Dx Ctm.
#ifndef BB_PHYSICS_AO_SCORE_WHOLE_RESIDUAL_H
#define BB_PHYSICS_AO_SCORE_WHOLE_RESIDUAL_H

#include "physics/ao/score/pair_strehl.h"
#include "physics/ao/tomography.h"

/// Constant after creation.
typedef struct bb_whole_residual bb_whole_residual;

/// A set of slopes used for commands: their weight, and the displacement of every layer from their
/// exposure to the correction.
typedef struct bb_whole_look {
    double weight;
    const double (*drift_m)[2]; ///< [layers][2]; NULL: none
} bb_whole_look;

/// Creates the covariances towards a target of `tomography`, which is borrowed. `looks`
/// [look_count], at least one, are needed only during the call; with several, the slopes are a
/// weighted sum, whose covariance with the truth is `ctm` (NULL: the target's). Errors: BB_MEMORY,
/// the sources'.
BB_CHECKED bb_status bb_whole_residual_create(const bb_tomography *tomography, bb_index target,
                                              const bb_matrix_source *ctm, bb_index look_count,
                                              const bb_whole_look *looks, bb_whole_residual **out);
void bb_whole_residual_destroy(bb_whole_residual **owner);

/// Residual phase of an estimate towards the target. `residual` [actuators][actuators] is the
/// covariance U of the residual commands of the target's own mirror, V^2; `memory` is used by the
/// field, and the caller releases it with BB_RELEASE, also after an error. Errors: BB_MEMORY, the
/// sources'.
BB_CHECKED bb_status bb_whole_residual_field(const bb_whole_estimate *estimate,
                                             const double *residual, double **memory,
                                             bb_pair_field *out);

/// B [actuators][n], V arcsec, of the minimum-variance commands M = B Cmm^-1 for the phase over the
/// pupil: the mirror projection of the phase estimated from slopes, B = (sum w F'^T F')^+ sum w
/// F'^T <phi s>, F' the influence minus its mean. R = Ctm Cmm^-1 of 2.7 is instead the best
/// estimate of a truth sensor's slopes. M Cmm M^T = B M^T. For a target's own mirror. Errors:
/// BB_MEMORY, BB_INTERNAL (LAPACK did not converge).
BB_CHECKED bb_status bb_whole_residual_project(const bb_whole_residual *whole, double *out);

/// Sizes of the covariances towards one target.
typedef struct bb_whole_extent {
    bb_index lenslets; ///< lenslets of the truth sensor
    double own;        ///< actuators of the target's own mirror
    double actuators;  ///< actuators of the own mirror, or of all mirrors that correct together
    double slopes;     ///< m of the truth sensor
    const bb_sensor_array *guides; ///< borrowed
} bb_whole_extent;

/// Returns the number of points with light of its comb, without the obstruction.
double bb_whole_residual_points(const bb_whole_extent *extent);

/// Memory and time of creating the covariances, and of the result alone; memory and time of an
/// estimate in addition to its residual, including the sums of its pairs. Seconds without
/// obstruction.
bb_need bb_whole_residual_need(const bb_whole_extent *extent, double threads);
bb_need bb_whole_residual_resident(const bb_whole_extent *extent);
bb_need bb_whole_residual_field_need(const bb_whole_extent *extent, bb_index wavelength_count,
                                     double threads);

/// Memory and time of B, including itself and M.
bb_need bb_whole_residual_project_need(const bb_whole_extent *extent, double threads);

/// Variance over the pupil, without piston, of the shapes of the target's own mirror with a
/// covariance `voltages` [actuators][actuators], m^2.
double bb_whole_residual_variance(const bb_whole_residual *whole, const double *voltages);

#endif

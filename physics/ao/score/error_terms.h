// SPDX-License-Identifier: Apache-2.0
//
// Errors of a corrected wavefront outside the covariance of slopes, as structure functions: they
// are treated as mutually independent and stationary, so that their OTFs multiply.
//
//   fitting   turbulence beyond the cutoff 1 / (2 d), d the actuator pitch: D - Dlow of
//             structure_function.h, scaled to a coefficient of (d / r0)^(5/3): 0.2740 is that of
//             the cutoff itself. With it truth sensors measure only turbulence below the cutoff:
//             otherwise their aliasing, which is no error, would be in the residual of slopes.
//   aliasing  turbulence beyond the cutoff that one Shack-Hartmann of averaged gradients folds into
//             the corrected band (Rigaut, Veran and Lai 1998), with W Kolmogorov's spectrum:
//             Wal(f) = (fx fy / f^2)^2 sum_lm' [fx / (fy - m/d) + fy / (fx - l/d)]^2
//                      W(f - (l, m)/d), |fx|, |fy| < 1 / (2 d).
//   lag       a layer of wind v measured a delay tau late:
//             Dlag(r) = 2 D(v tau) + 2 D(r) - D(r + v tau) - D(r - v tau), averaged over the
//             directions of the wind; its variance is (tau / tau0)^(5/3) for an infinite outer
//             scale. With the fitting term D is Dlow: uncorrected turbulence cannot be late, and
//             while v tau is below d most of that variance is beyond the cutoff (a sum of both
//             gave a Strehl ratio 0.06 too low on 4 m at 6 ms, by time_domain.h). Treated as
//             independent of the residual of slopes.
//
// The residual of slopes measured by several stars includes aliasing: that of the guide stars, and
// that of the noiseless truth sensor, which is no error. The term here is that of one sensor whose
// slopes are assumed true, as for a natural star in the target's direction.
#ifndef BB_PHYSICS_AO_SCORE_ERROR_TERMS_H
#define BB_PHYSICS_AO_SCORE_ERROR_TERMS_H

#include "core/csr.h"
#include "core/need.h"
#include "physics/ao/atmosphere.h"
#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/sensor_array.h"

struct bb_tomography;

/// A square grid of displacements with wrap-around: (i, j) is i or i - pixels steps along x.
typedef struct bb_displacement_grid {
    bb_index pixels;
    double pixel_m;
} bb_displacement_grid;

/// Returns whether a configuration enables any error term; false for NULL.
bool bb_error_terms_wanted(const bb_error_terms_config *config);

/// Computes half the sum of the structure functions, `half` [pixels][pixels], m^2, to be subtracted
/// from the covariance of the residual wavefront. `pitch_m` is that of actuators and lenslets;
/// `corrected` is Dlow of that pitch, used for the lag, without coefficients if the fitting error
/// is off. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_terms_create(const bb_error_terms_config *config,
                                           const bb_atmosphere *atmosphere,
                                           bb_structure_table corrected, double pitch_m,
                                           bb_displacement_grid grid, double *half);

/// Memory and time, including `half`.
bb_need bb_error_terms_need(const bb_error_terms_config *config, double pitch_m,
                            bb_displacement_grid grid);

/// Returns the variance of Kolmogorov's turbulence beyond the cutoff over (d / r0)^(5/3), rad^2:
/// 0.2740.
double bb_error_terms_fitting_coefficient(void);

/// Returns the variance of the aliased turbulence over (d / r0)^(5/3), rad^2: about 0.08.
double bb_error_terms_aliasing_coefficient(void);

/// Returns Dlag / 2 of a layer with r0 = 1 m, rad^2, `drift_m` = v tau.
double bb_error_terms_lag(bb_structure_table structure, double drift_m, double r_m);

// Error budget of a residual: the individual error terms, and the measurement noise propagated by a
// reconstructor, R N R^T, N the covariance of the noise. The remaining residual of slopes is the
// tomographic error, including the guide stars' aliasing.

/// Variances over the pupil without piston, m^2; 0 for a term that is off.
typedef struct bb_error_budget {
    double fitting, aliasing, lag;
} bb_error_budget;

/// Computes the error terms in a target's direction. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_budget_of_terms(const bb_error_terms_config *config,
                                              const struct bb_tomography *tomography,
                                              bb_index target, bb_error_budget *out);

/// Computes N [n][n] of the guide stars, arcsec^2: two entries per row. Errors: BB_MEMORY. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_error_budget_noise(const struct bb_tomography *tomography, bb_csr *out);

/// Returns the standard deviation of a slope of a guide star, mean over its subapertures and axes,
/// arcsec.
double bb_error_budget_slope_noise(const struct bb_tomography *tomography, bb_index star);

// Vibration: a tilt of the telescope by wind, common to every star and every target and absent from
// the covariance that the reconstructor is computed from. With v the slopes of a tilt of one
// arcsecond along an axis of the sky in all guide sensors, u those in the truth sensor, an estimate
// by R leaves w = u - R v of it, and
//
//     Cee <- Cee + rms^2 sum over both axes of w w^T.
//
// Rounding errors of R are largest where the covariance is small; a tilt may reveal them.

/// Computes R v for both axes, `out` [rows][2], for r [rows][n] of the measurements of `guides`.
/// Rows run on all threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_terms_estimate_shake(const bb_sensor_array *guides, bb_index rows,
                                                   const double *r, double *out);

/// Adds the vibration to `cee` [m][m], arcsec^2, m the slopes of `truth`, for an estimate with
/// responses `estimated` [m][2] to both tilts. With a mirror, NULL for none, the estimate is of
/// commands, [actuators][2]: u is projected by the mirror, and cee is [actuators][actuators], V^2.
/// `rms_arcsec` is that of each axis; 0 adds nothing. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_terms_add_shake(const bb_sensor_array *truth,
                                              const bb_deformable_mirror *mirror, double rms_arcsec,
                                              const double *estimated, double *cee);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Errors of a corrected wavefront that the covariance of slopes does not know, as structure
// functions: each is independent of the others and stationary, so that their OTFs multiply.
//
//   fitting   turbulence beyond the cutoff 1 / (2 d), d the actuator pitch: D - Dlow of
//             structure_function.h, scaled to a coefficient of (d / r0)^(5/3): 0.2740 is that of
//             the cutoff itself. With it truth sensors see only what is below the cutoff: their
//             aliasing of the rest would be in the residual of slopes and is no error.
//   aliasing  turbulence beyond the cutoff that one Shack-Hartmann of averaged gradients folds into
//             the corrected band (Rigaut, Veran and Lai 1998), with W Kolmogorov's spectrum:
//             Wal(f) = (fx fy / f^2)^2 sum_lm' [fx / (fy - m/d) + fy / (fx - l/d)]^2
//                      W(f - (l, m)/d), |fx|, |fy| < 1 / (2 d).
//   lag       a layer of wind v seen a delay tau late:
//             Dlag(r) = 2 D(v tau) + 2 D(r) - D(r + v tau) - D(r - v tau), averaged over the
//             directions of the wind; its variance is (tau / tau0)^(5/3) for an infinite outer
//             scale. With the fitting term D is Dlow: what no mirror corrects cannot be late, and
//             as long as v tau is below d most of that variance is beyond the cutoff (a sum of both
//             had a Strehl ratio 0.06 too low on 4 m at 6 ms, by time_domain.h). Taken as
//             independent of the residual of slopes.
//
// The residual of slopes measured by several stars has aliasing in it: that of the guide stars, and
// that of the noiseless truth sensor, which is no error. The term here is that of one sensor whose
// slopes are taken as true, as of a natural star in the target's direction.
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

/// Whether a configuration asks for any; NULL asks for none.
bool bb_error_terms_wanted(const bb_error_terms_config *config);

/// Half the sum of the structure functions, `half` [pixels][pixels], m^2: what is to be subtracted
/// from the covariance of the residual wavefront. `pitch_m` of actuators and lenslets, `corrected`
/// Dlow of that pitch, which the lag is of, without coefficients where the fitting error is not
/// counted. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_terms_create(const bb_error_terms_config *config,
                                           const bb_atmosphere *atmosphere,
                                           bb_structure_table corrected, double pitch_m,
                                           bb_displacement_grid grid, double *half);

/// What it takes, with `half`.
bb_need bb_error_terms_need(const bb_error_terms_config *config, double pitch_m,
                            bb_displacement_grid grid);

/// Variance of Kolmogorov's turbulence beyond the cutoff over (d / r0)^(5/3), rad^2: 0.2740.
double bb_error_terms_fitting_coefficient(void);

/// Variance of the aliased turbulence over (d / r0)^(5/3), rad^2: about 0.08.
double bb_error_terms_aliasing_coefficient(void);

/// Dlag / 2 of a layer with r0 = 1 m, rad^2, `drift_m` = v tau.
double bb_error_terms_lag(bb_structure_table structure, double drift_m, double r_m);

// Error budget of a residual: the error terms one by one, and the measurement noise that a
// reconstructor propagates, R N R^T, N the covariance of the noise. The rest of the residual of
// slopes is the tomographic error, with the guide stars' aliasing.

/// Variances over the pupil, piston taken out, m^2; 0 of a term that is off.
typedef struct bb_error_budget {
    double fitting, aliasing, lag;
} bb_error_budget;

/// The error terms in a target's direction. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_budget_of_terms(const bb_error_terms_config *config,
                                              const struct bb_tomography *tomography,
                                              bb_index target, bb_error_budget *out);

/// N [n][n] of the guide stars, arcsec^2: two entries a row. Errors: BB_MEMORY. Owner of `*out`:
/// the caller.
BB_CHECKED bb_status bb_error_budget_noise(const struct bb_tomography *tomography, bb_csr *out);

/// Standard deviation of a slope of a guide star, mean over its subapertures and axes, arcsec.
double bb_error_budget_slope_noise(const struct bb_tomography *tomography, bb_index star);

// Shake, a tilt of the telescope by wind: every star and every target sees it alike, and the
// covariance that a reconstructor is made of does not know it. With v the slopes of a tilt of one
// arcsecond along an axis of the sky in all guide sensors, u those in the truth sensor, an estimate
// by R leaves w = u - R v of it, and
//
//     Cee <- Cee + rms^2 sum over both axes of w w^T.
//
// Rounding errors of R lie where the covariance is small; a tilt may reveal them.

/// R v of both axes, `out` [rows][2], for r [rows][n] of the measurements of `guides`. Rows by the
/// threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_error_terms_estimate_shake(const bb_sensor_array *guides, bb_index rows,
                                                   const double *r, double *out);

/// Adds it to `cee` [m][m], arcsec^2, m the slopes of `truth`, for an estimate that makes
/// `estimated` [m][2] of both tilts. With a mirror, NULL for none, it estimates commands,
/// [actuators][2]: u is what the mirror's projector makes of the truth sensor's, and cee is
/// [actuators][actuators], V^2. `rms_arcsec` is that of each axis; 0 adds nothing. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_error_terms_add_shake(const bb_sensor_array *truth,
                                              const bb_deformable_mirror *mirror, double rms_arcsec,
                                              const double *estimated, double *cee);

#endif

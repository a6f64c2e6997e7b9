// SPDX-License-Identifier: Apache-2.0
//
// Errors of a corrected wavefront that the covariance of slopes does not know, as structure
// functions: each is independent of the others and stationary, so that their OTFs multiply.
//
//   fitting   turbulence beyond the cutoff 1 / (2 d), d the actuator pitch: D - Dlow of
//             corrected_structure.h, scaled to a coefficient of (d / r0)^(5/3): 0.2740 is that of
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

#include "core/need.h"
#include "physics/ao/atmosphere.h"

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

#endif

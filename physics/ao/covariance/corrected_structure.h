// SPDX-License-Identifier: Apache-2.0
//
// Phase structure function of the part of the turbulence that a mirror can correct: von Karman's
// spectrum below the cutoff fc = 1 / (2 d), d the pitch of the actuators,
//   Dlow(r) = 4 pi int_0^fc f W(f) (1 - J0(2 pi f r)) df,
//   W(f) = 0.0229 (f^2 + L0^-2)^(-11/6) r0^(-5/3).
// What is beyond, D - Dlow, is the fitting error: 0.2740 (d / r0)^(5/3) far away for an infinite
// outer scale. The two parts are uncorrelated.
#ifndef BB_PHYSICS_AO_COVARIANCE_CORRECTED_STRUCTURE_H
#define BB_PHYSICS_AO_COVARIANCE_CORRECTED_STRUCTURE_H

#include "physics/ao/covariance/structure_function.h"

/// Dlow(r) for r0 = 1 m, rad^2 at the wavelength of r0; all lengths in m and positive, r may be 0.
double bb_corrected_structure(double r_m, double outer_scale_m, double pitch_m);

/// Dlow far away: twice the variance of what a mirror can correct.
double bb_corrected_structure_far(double outer_scale_m, double pitch_m);

/// Tabulates it for covariances of slopes; to 1e-8 of its far value. Errors: BB_MEMORY. Release
/// with bb_structure_table_release.
BB_CHECKED bb_status bb_corrected_structure_tabulate(double outer_scale_m, double pitch_m,
                                                     bb_structure_table *out);

/// What the table takes: integrals in place of a closed form.
bb_need bb_corrected_structure_need(void);

#endif

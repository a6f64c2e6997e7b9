// SPDX-License-Identifier: Apache-2.0
//
// The first odd mode of temperature through the thickness of the wafer, beside the mean T:
//     T(z) = T + (2 z / d) tau,   z from -d/2 (clamp) to d/2 (top),
// so that the top is at T + tau and the bottom at T - tau. Moments of the heat equation with 1 and
// 2 z / d, dose q absorbed at the top:
//     C T'         = k d lap T       - h_c (T - tau - T_c) - h_t (T + tau - T_h) + q
//     (C/3) tau'   = (k d/3) lap tau + h_c (T - tau - T_c) - h_t (T + tau - T_h) + q - (4 k/d) tau
// Both are one symmetric system: exchanges are squares of T - tau - T_c and T + tau - T_h. Energy
// is that of T alone. tau relaxes with C d / (12 k) = d^2 / (12 kappa), 0.56 ms, where the slowest
// mode of the exact equation takes d^2 / (pi^2 kappa), 0.68 ms; under steady q it is q d / (4 k).
//
// tau is shorter than a step: its relaxation is stepped exactly. Forward Euler on a capacity M_tau
// in place of C/3 is the exponential step with constant forcing, and Crank-Nicolson likewise:
//     x = dt (4 k/d) / (C/3):   M_tau = (C/3) x / (1 - exp -x),   M_tau = (C/3) (x/2) coth(x/2).
// So A and K + H of thermal.h only grow by tau's rows, with M_tau as their capacity.
//
// Limits: one mode; the profile under the slit is sharper in the first 0.1 ms. The gap to a ring
// exchanges T, and tau through a third of it.
#ifndef BB_PHYSICS_WAFER_HEAT_THROUGH_MODE_H
#define BB_PHYSICS_WAFER_HEAT_THROUGH_MODE_H

#include "physics/wafer/wafer_config.h"

typedef struct bb_through_mode {
    double relaxation;  ///< 4 k / d, W/(m2 K)
    double capacity;    ///< M_tau, J/(m2 K)
    double conductance; ///< k d / 3, W/K
} bb_through_mode;

/// For steps of `step` s by `stepping` (bb_mesh_stepping).
bb_through_mode bb_through_mode_make(const bb_wafer_material_config *wafer, int stepping,
                                     double step);

/// Largest explicit step that is surely stable for tau's rows on a mesh of `spacing` m, s;
/// `exchange` bounds the row sums of its exchanges, W/(m2 K). Infinite where every step is.
double bb_through_mode_limit(const bb_wafer_material_config *wafer, double spacing,
                             double exchange);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Stiffnesses of the wafer as a plate on springs, in SI: isotropic, or cubic silicon of a (001)
// wafer with x along <100> or <110>.
//
// Plane stress of a cubic crystal, x along <100>: Q11 = C11 - C12^2/C11, Q12 = C12 - C12^2/C11,
// Q66 = C44; along <110>: (Q11 + Q12)/2 + Q66, (Q11 + Q12)/2 - Q66, (Q11 - Q12)/2. Expansion is
// isotropic, so that N_T = alpha d (Q11 + Q12) T and the thickness grows by
//     g / d = alpha T (1 + 2 c) - c div u0,  c = C12/C11  (nu / (1 - nu) when isotropic)
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_H

#include "physics/wafer/wafer_config.h"

typedef struct bb_plate {
    double thickness;   ///< d, m
    double expansion;   ///< alpha, 1/K
    double poisson;     ///< nu; Q12 / Q11 when cubic
    double shear;       ///< Q66 / Q11; (1 - nu) / 2 when isotropic
    double contraction; ///< c: thickness lost per strain in the plane
    double membrane;    ///< B = Q11 d = E d / (1 - nu^2), N/m
    double bending;     ///< D = Q11 d^3 / 12 = E d^3 / (12 (1 - nu^2)), N m
    double thermal;     ///< N_T per kelvin = (Q11 + Q12) alpha d = E alpha d / (1 - nu), N/(m K)
    double tangential;  ///< k_s, N/m3
    double normal;      ///< k_n, N/m3
} bb_plate;

bb_plate bb_plate_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Height per kelvin of waves so short that only the temperature at the point matters, m/K: growth
/// less the shrinking by the strain N_T / B that the temperature itself makes; alpha d (1 + nu)
/// when isotropic.
double bb_plate_local_height(const bb_plate *plate);

#endif

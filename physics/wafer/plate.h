// SPDX-License-Identifier: Apache-2.0
//
// Stiffnesses of the wafer as a plate on springs, in SI.
#ifndef BB_PHYSICS_WAFER_PLATE_H
#define BB_PHYSICS_WAFER_PLATE_H

#include "physics/wafer/wafer_config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_plate {
    double thickness;  ///< d, m
    double expansion;  ///< alpha, 1/K
    double poisson;    ///< nu
    double modulus;    ///< E, Pa
    double membrane;   ///< B = E d / (1 - nu^2), N/m
    double bending;    ///< D = E d^3 / (12 (1 - nu^2)), N m
    double thermal;    ///< N_T per kelvin = E alpha d / (1 - nu), N/(m K)
    double tangential; ///< k_s, N/m3
    double normal;     ///< k_n, N/m3
} bb_plate;

bb_plate bb_plate_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

#ifdef __cplusplus
}
#endif

#endif

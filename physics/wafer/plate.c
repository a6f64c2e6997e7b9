// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/plate.h"

bb_plate bb_plate_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    double d = 1e-6 * wafer->thickness_um;
    double modulus = 1e9 * wafer->youngs_modulus_gpa;
    double nu = wafer->poisson_ratio;
    return (bb_plate){
        .thickness = d,
        .expansion = wafer->expansion_per_k,
        .poisson = nu,
        .modulus = modulus,
        .membrane = modulus * d / (1.0 - nu * nu),
        .bending = modulus * d * d * d / (12.0 * (1.0 - nu * nu)),
        .thermal = modulus * wafer->expansion_per_k * d / (1.0 - nu),
        .tangential = clamp->tangential_stiffness_n_per_m3,
        .normal = clamp->normal_stiffness_n_per_m3,
    };
}

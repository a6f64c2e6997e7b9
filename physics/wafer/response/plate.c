// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate.h"

static void make_cubic(const bb_wafer_material_config *wafer, bb_plate *plate)
{
    double c11 = 1e9 * wafer->c11_gpa;
    double c12 = 1e9 * wafer->c12_gpa;
    double q11 = c11 - c12 * c12 / c11;
    double q12 = c12 - c12 * c12 / c11;
    double q66 = 1e9 * wafer->c44_gpa;
    if (wafer->elasticity == (int)BB_ELASTICITY_CUBIC_110) {
        double mean = 0.5 * (q11 + q12);
        double difference = q11 - q12;
        q11 = mean + q66;
        q12 = mean - q66;
        q66 = 0.5 * difference;
    }
    double d = plate->thickness;
    plate->poisson = q12 / q11;
    plate->shear = q66 / q11;
    plate->contraction = c12 / c11;
    plate->membrane = q11 * d;
    plate->bending = q11 * d * d * d / 12.0;
    plate->thermal = (q11 + q12) * plate->expansion * d;
}

bb_plate bb_plate_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    double d = 1e-6 * wafer->thickness_um;
    double modulus = 1e9 * wafer->youngs_modulus_gpa;
    double nu = wafer->poisson_ratio;
    bb_plate plate = {
        .thickness = d,
        .expansion = wafer->expansion_per_k,
        .poisson = nu,
        .shear = 0.5 * (1.0 - nu),
        .contraction = nu / (1.0 - nu),
        .membrane = modulus * d / (1.0 - nu * nu),
        .bending = modulus * d * d * d / (12.0 * (1.0 - nu * nu)),
        .thermal = modulus * wafer->expansion_per_k * d / (1.0 - nu),
        .tangential = clamp->tangential_stiffness_n_per_m3,
        .normal = clamp->normal_stiffness_n_per_m3,
    };
    if (wafer->elasticity != (int)BB_ELASTICITY_ISOTROPIC) {
        make_cubic(wafer, &plate);
    }
    return plate;
}

double bb_plate_local_height(const bb_plate *plate)
{
    double growth = plate->expansion * (1.0 + 2.0 * plate->contraction);
    return plate->thickness * (growth - plate->contraction * plate->thermal / plate->membrane);
}

// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate.h"

#include <gsl/gsl_sf_bessel.h>
#include <math.h>

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

// Computes I_n(r / l) / I_n(R / l) from scaled functions: the springs may be stiff.
static double fall(const bb_disc_edge *edge, double (*scaled)(double), double r)
{
    const double x = r / edge->length;
    const double rim = edge->radius / edge->length;
    return scaled(x) / scaled(rim) * exp(x - rim);
}

bb_disc_edge bb_disc_edge_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp)
{
    const bb_plate plate = bb_plate_make(wafer, clamp);
    bb_disc_edge edge = {.radius = 0.5e-3 * wafer->diameter_mm,
                         .length = sqrt(plate.membrane / plate.tangential)};
    const double rim = edge.radius / edge.length;
    const double i0 = gsl_sf_bessel_I0_scaled(rim);
    const double i1 = gsl_sf_bessel_I1_scaled(rim);
    const double heat = (1.0 + plate.poisson) * plate.expansion;
    const double slope = (i0 / i1 - 1.0 / rim) / edge.length;
    edge.disc = heat / (slope + plate.poisson / edge.radius);
    edge.plate = heat * edge.radius * gsl_sf_bessel_K1_scaled(rim) * i1;
    const double c = plate.poisson / (1.0 - plate.poisson);
    const double d = plate.thickness;
    edge.strain =
        (c * d - 0.5 * plate.tangential * d / plate.normal) * edge.disc * i0 / (i1 * edge.length);
    edge.height = plate.expansion * d * (1.0 + 2.0 * c) - edge.strain;
    return edge;
}

double bb_disc_edge_part(const bb_disc_edge *edge, double r)
{
    return (1.0 - edge->plate / edge->disc) * fall(edge, gsl_sf_bessel_I1_scaled, r);
}

double bb_disc_edge_height_part(const bb_disc_edge *edge, double r)
{
    const double lacking = (1.0 - edge->plate / edge->disc) * edge->strain;
    return fabs(lacking / edge->height) * fall(edge, gsl_sf_bessel_I0_scaled, r);
}

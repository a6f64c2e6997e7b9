// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/disc_edge.h"

#include "physics/wafer/response/plate.h"

#include <gsl/gsl_sf_bessel.h>
#include <math.h>

// I_n(r / l) / I_n(R / l), from scaled functions: the springs may be stiff.
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

// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/laser_star.h"

#include "physics/ao/ao_constants.h"

#include <math.h>

void bb_laser_star_resolve(const bb_star_settings *settings, const bb_star_air *air, bb_star *star)
{
    star->altitude_m = 1e3 * air->airmass * settings->altitude_km;
    star->flux_ph_per_m2_s = settings->flux_ph_per_m2_s;
    star->spot_arcsec = settings->spot_arcsec;
    star->depth_m = 1e3 * air->airmass * settings->depth_km;
    star->tilt_variance_arcsec2 = settings->tilt_variance_arcsec2;
}

double bb_laser_star_electrons(const bb_star *star, double area_m2, double air_transmission)
{
    return star->flux_ph_per_m2_s * star->frame_s * area_m2 * star->transmission / air_transmission;
}

double bb_laser_star_elongation_arcsec(const bb_star *star, double distance_m)
{
    return BB_ARCSEC_PER_RADIAN * star->depth_m * distance_m /
           (star->altitude_m * star->altitude_m);
}

bb_slope_noise bb_laser_star_noise(const bb_star *star, const bb_star_spot *spot)
{
    const double distance = hypot(spot->from_x_m, spot->from_y_m);
    const double elongation = bb_laser_star_elongation_arcsec(star, distance);
    // A subaperture at the launch telescope has a round spot, so any direction is correct.
    const double c = distance > 0.0 ? spot->from_x_m / distance : 1.0;
    const double s = distance > 0.0 ? spot->from_y_m / distance : 0.0;
    const double round =
        spot->seeing_arcsec * spot->seeing_arcsec + star->spot_arcsec * star->spot_arcsec;
    const double stretched = round + elongation * elongation;
    const double narrow = 0.32 * round / spot->electrons + spot->read * round * round;
    const double wide =
        0.32 * stretched / spot->electrons + spot->read * pow(stretched, 1.5) * sqrt(round);
    return (bb_slope_noise){.xx = wide * c * c + narrow * s * s,
                            .yy = wide * s * s + narrow * c * c,
                            .xy = (wide - narrow) * s * c};
}

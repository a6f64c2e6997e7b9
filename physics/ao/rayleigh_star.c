// SPDX-License-Identifier: Apache-2.0
//
// Rayleigh beacons: light that the air scatters back from a pulsed laser, let through for the time
// that it takes from a stretch of the beam. That range gate is the star: its middle stands at
// `altitude_km`, far below the sodium layer, and its depth is measured along the beam, so that a
// zenith angle lifts the star's distance but not the depth.
#include "physics/ao/laser_star.h"

// The tables are laid out by hand: clang-format 14 crashes on rows of unequal length.
// clang-format off
static const bb_key keys[] = {
    {BB_STAR_POSITIVE(pixel_arcsec, "arcsec", 60.0, "Pixel of a Rayleigh star's sensor."),
     .default_text = "1.0"},
    {BB_STAR_POSITIVE(wavelength_nm, "nm", 1.0e5, "Wavelength of Rayleigh stars."),
     .default_text = "532.0"},
    {BB_STAR_POSITIVE(transmission, "1", 1.0, "Transmission of the optics."),
     .default_text = "0.382"},
    {BB_STAR_POSITIVE(flux_ph_per_m2_s, "ph/m^2/s", 1.0e15,
                      "Return flux of a Rayleigh star at the pupil."),
     .default_text = "1.7e+7"},
    {BB_STAR_NUMBER(spot_arcsec, "arcsec", 0.0, 60.0,
                    "Width of the laser spot on the sky, added to the seeing in quadrature."),
     .default_text = "1.0"},
    {BB_STAR_POSITIVE(altitude_km, "km", 100.0,
                      "Altitude of the middle of the range gate above the pupil, at zenith."),
     .default_text = "12.0"},
    {BB_STAR_POSITIVE(depth_km, "km", 100.0, "Depth of the range gate, along the beam."),
     .default_text = "0.3"},
    {BB_STAR_NUMBER(tilt_variance_arcsec2, "arcsec^2", 0.0, 1.0e6,
                    "Variance of the unknown tilt of a Rayleigh star, each axis."),
     .default_text = "1.0"},
};
// clang-format on
const bb_schema bb_rayleigh_star_schema = BB_SCHEMA("rayleigh", bb_star_settings, keys);

static bb_status check(const bb_star_settings *given, const bb_star_settings *all, const char *path)
{
    bb_status status = BB_OK;
    (void)given;
    BB_REQUIRE(all->depth_km < 2.0 * all->altitude_km, BB_INVALID,
               "%s.depth_km = %g km: a range gate about altitude_km = %g km would open below the "
               "pupil, expected a depth under %g km",
               path, all->depth_km, all->altitude_km, 2.0 * all->altitude_km);
done:
    return status;
}

static void resolve(const bb_star_settings *settings, const bb_star_air *air, bb_star *star)
{
    bb_laser_star_resolve(settings, air, star);
    star->depth_m = 1e3 * settings->depth_km;
}

const bb_guide_star_kind bb_rayleigh_star = {.schema = &bb_rayleigh_star_schema,
                                             .launched = true,
                                             .tilt_unknown = true,
                                             .check = check,
                                             .resolve = resolve,
                                             .electrons = bb_laser_star_electrons,
                                             .noise = bb_laser_star_noise};

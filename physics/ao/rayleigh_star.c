// SPDX-License-Identifier: Apache-2.0
//
// Rayleigh beacons: light of a pulsed laser scattered back by the air, gated to a stretch of the
// beam. That range gate is the star: its centre is at `altitude_km`, far below the sodium layer,
// and its depth is measured along the beam, so that a zenith angle increases the star's distance
// but not the depth.
//
// The flux is given, or follows from the power of the beam by the lidar equation,
//   flux = P lambda/(h c) T^(2 airmass) n(z) sigma depth/range^2,
// with the backscatter of air sigma = 5.45e-32 m^2/sr (550 nm/lambda)^4 (Measures 1984) and its
// number density n at the gate's height above sea level in the U.S. Standard Atmosphere 1976.
#include "physics/ao/laser_star.h"

#include <math.h>

static const double planck = 6.62607015e-34;   // J s
static const double light_speed = 299792458.0; // m/s
static const double boltzmann = 1.380649e-23;  // J/K
static const double backscatter = 5.45e-32;    // m^2/sr at 550 nm

// Formatted by hand: clang-format 14 crashes on rows of unequal length.
// clang-format off
static const bb_key keys[] = {
    {BB_STAR_POSITIVE(pixel_arcsec, "arcsec", 60.0, "Pixel of a Rayleigh star's sensor."),
     .default_text = "1.0"},
    {BB_STAR_POSITIVE(wavelength_nm, "nm", 1.0e5, "Wavelength of Rayleigh stars."),
     .default_text = "532.0"},
    {BB_STAR_POSITIVE(transmission, "1", 1.0, "Transmission of the optics."),
     .default_text = "0.382"},
    {BB_STAR_POSITIVE(flux_ph_per_m2_s, "ph/m^2/s", 1.0e15,
                      "Return flux of a Rayleigh star at the pupil; unset: from the power by the "
                      "lidar equation."),
     .optional = true, .replaces = {"power_w"}},
    {BB_STAR_POSITIVE(power_w, "W", 1.0e6, "Mean power of the beam at launch."),
     .default_text = "18.0", .replaces = {"flux_ph_per_m2_s"}},
    {BB_STAR_NUMBER(spot_arcsec, "arcsec", 0.0, 60.0,
                    "Width of the laser spot on the sky, added to the seeing in quadrature."),
     .default_text = "1.0"},
    {BB_STAR_POSITIVE(altitude_km, "km", 40.0,
                      "Altitude of the centre of the range gate above the pupil, at zenith."),
     .default_text = "12.0"},
    {BB_STAR_POSITIVE(depth_km, "km", 100.0, "Depth of the range gate, along the beam."),
     .default_text = "0.3"},
    {BB_STAR_NUMBER(tilt_variance_arcsec2, "arcsec^2", 0.0, 1.0e6,
                    "Variance of the unknown tilt of a Rayleigh star, each axis."),
     .default_text = "1.0"},
    BB_STAR_DETECTOR_KEYS,
};
// clang-format on
const bb_schema bb_rayleigh_star_schema = BB_SCHEMA("rayleigh", bb_star_settings, keys);

static bb_status check(const bb_star_settings *given, const bb_star_settings *resolved,
                       const char *path)
{
    bb_status status = BB_OK;
    BB_REQUIRE(isnan(given->power_w) || isnan(resolved->flux_ph_per_m2_s), BB_INVALID,
               "%s.power_w: flux_ph_per_m2_s = %g ph/m^2/s is set too; set one of them", path,
               resolved->flux_ph_per_m2_s);
    BB_REQUIRE(resolved->depth_km <= 0.5 * resolved->altitude_km, BB_INVALID,
               "%s.depth_km = %g km at altitude_km = %g km: flux and elongation assume a thin "
               "range gate, expected a depth of at most %g km",
               path, resolved->depth_km, resolved->altitude_km, 0.5 * resolved->altitude_km);
done:
    return status;
}

// Returns the molecules per m^3 at an altitude above sea level; above 32 km the gradient of 20 to
// 32 km is extrapolated.
static double air_density(double altitude_m)
{
    const double slope = 34.16319e-3;                                        // g M/R, K/m
    const double height = altitude_m * 6356766.0 / (6356766.0 + altitude_m); // geopotential
    double temperature, pressure;
    if (height < 11000.0) {
        temperature = 288.15 - 6.5e-3 * height;
        pressure = 101325.0 * pow(temperature / 288.15, slope / 6.5e-3);
    } else if (height < 20000.0) {
        temperature = 216.65;
        pressure = 22632.06 * exp(-slope * (height - 11000.0) / temperature);
    } else {
        temperature = 216.65 + 1e-3 * (height - 20000.0);
        pressure = 5474.889 * pow(temperature / 216.65, -slope / 1e-3);
    }
    return pressure / (boltzmann * temperature);
}

static double lidar_flux(const bb_star_settings *settings, const bb_star_air *air,
                         const bb_star *star)
{
    const double photons = settings->power_w * star->wavelength_m / (planck * light_speed);
    const double height = air->pupil_altitude_m + 1e3 * settings->altitude_km;
    const double scattered =
        air_density(height) * backscatter * pow(550e-9 / star->wavelength_m, 4.0) * star->depth_m;
    return photons * pow(air->transmission, 2.0 * air->airmass) * scattered /
           (star->altitude_m * star->altitude_m);
}

static void resolve(const bb_star_settings *settings, const bb_star_air *air, bb_star *star)
{
    bb_laser_star_resolve(settings, air, star);
    star->depth_m = 1e3 * settings->depth_km;
    if (isnan(settings->flux_ph_per_m2_s)) {
        star->flux_ph_per_m2_s = lidar_flux(settings, air, star);
    }
}

const bb_guide_star_kind bb_rayleigh_star = {.schema = &bb_rayleigh_star_schema,
                                             .launched = true,
                                             .tilt_unknown = true,
                                             .check = check,
                                             .resolve = resolve,
                                             .electrons = bb_laser_star_electrons,
                                             .noise = bb_laser_star_noise};

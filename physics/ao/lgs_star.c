// SPDX-License-Identifier: Apache-2.0
//
// Laser guide stars in the sodium layer, with a given return flux.
#include "physics/ao/laser_star.h"

// Formatted by hand: clang-format 14 crashes on rows of unequal length.
// clang-format off
static const bb_key keys[] = {
    {BB_STAR_POSITIVE(pixel_arcsec, "arcsec", 60.0, "Pixel of a laser star's sensor."),
     .default_text = "1.0"},
    {BB_STAR_POSITIVE(wavelength_nm, "nm", 1.0e5, "Wavelength of laser stars."),
     .default_text = "589.0"},
    {BB_STAR_POSITIVE(transmission, "1", 1.0, "Transmission of the optics."),
     .default_text = "0.382"},
    {BB_STAR_POSITIVE(flux_ph_per_m2_s, "ph/m^2/s", 1.0e15,
                      "Return flux of a laser star at the pupil."),
     .default_text = "6.0e+7"},
    {BB_STAR_NUMBER(spot_arcsec, "arcsec", 0.0, 60.0,
                    "Width of the laser spot on the sky, added to the seeing in quadrature."),
     .default_text = "1.0"},
    {BB_STAR_NUMBER(depth_km, "km", 0.0, 100.0, "Depth of the sodium layer, at zenith."),
     .default_text = "5.0"},
    {BB_STAR_NUMBER(tilt_variance_arcsec2, "arcsec^2", 0.0, 1.0e6,
                    "Variance of the unknown tilt of a laser star, each axis."),
     .default_text = "1.0"},
    BB_STAR_DETECTOR_KEYS,
};
// clang-format on
const bb_schema bb_lgs_star_schema = BB_SCHEMA("lgs", bb_star_settings, keys);

const bb_guide_star_kind bb_lgs_star = {.schema = &bb_lgs_star_schema,
                                        .own_key = "altitude_km",
                                        .launched = true,
                                        .tilt_unknown = true,
                                        .range_drifts = true,
                                        .resolve = bb_laser_star_resolve,
                                        .electrons = bb_laser_star_electrons,
                                        .noise = bb_laser_star_noise};

// SPDX-License-Identifier: Apache-2.0
//
// Natural guide stars: at infinity, with a magnitude and round spots. The noise model is that of
// ecrc/moao, see measurement_noise.h.
#include "physics/ao/guide_star_kind.h"

#include <math.h>

// Formatted by hand: clang-format 14 crashes on rows of unequal length.
// clang-format off
static const bb_key keys[] = {
    {BB_STAR_NUMBER(magnitude, "mag", -30.0, 40.0, "R magnitude of natural stars."),
     .optional = true},
    {BB_STAR_POSITIVE(pixel_arcsec, "arcsec", 60.0, "Pixel of a natural star's sensor."),
     .default_text = "0.3"},
    {BB_STAR_POSITIVE(wavelength_nm, "nm", 1.0e5, "Wavelength of natural stars."),
     .default_text = "650.0"},
    {BB_STAR_POSITIVE(bandwidth_nm, "nm", 1.0e4, "Bandwidth of natural stars."),
     .default_text = "330.0"},
    {BB_STAR_POSITIVE(transmission, "1", 1.0, "Transmission of the optics."),
     .default_text = "0.425"},
    BB_STAR_DETECTOR_KEYS,
};
// clang-format on
const bb_schema bb_ngs_star_schema = BB_SCHEMA("ngs", bb_star_settings, keys);

static bb_status check(const bb_star_settings *given, const bb_star_settings *all, const char *path)
{
    bb_status status = BB_OK;
    BB_REQUIRE(isnan(all->magnitude) || isnan(all->photons_per_frame) ||
                   (isnan(given->magnitude) && !isnan(given->photons_per_frame)),
               BB_INVALID, "%s.magnitude: photons_per_frame = %g is set too; set one of them", path,
               all->photons_per_frame);
    BB_REQUIRE(!isnan(all->magnitude) || !isnan(all->photons_per_frame) || !isnan(all->noise_mas),
               BB_INVALID,
               "%s.magnitude is missing: a star of kind ngs needs it, photons_per_frame or "
               "noise_mas",
               path);
done:
    return status;
}

static void resolve(const bb_star_settings *settings, const bb_star_air *air, bb_star *star)
{
    (void)air;
    star->altitude_m = INFINITY;
    star->magnitude = settings->magnitude;
    star->bandwidth_m = 1e-9 * settings->bandwidth_nm;
}

static double electrons(const bb_star *star, double area_m2, double air_transmission)
{
    (void)air_transmission; // the magnitude's zero point includes the atmosphere
    const double angstrom = 1.0e10 * star->bandwidth_m;
    return pow(10.0, 2.9 - 0.4 * star->magnitude) * star->transmission * area_m2 * star->frame_s *
           angstrom * 1.0e4;
}

static bb_slope_noise noise(const bb_star *star, const bb_star_spot *spot)
{
    (void)star;
    const double square = spot->seeing_arcsec * spot->seeing_arcsec;
    const double variance = 0.32 * square / spot->electrons + spot->read * square * square;
    return (bb_slope_noise){.xx = variance, .yy = variance, .xy = 0.0};
}

const bb_guide_star_kind bb_ngs_star = {.schema = &bb_ngs_star_schema,
                                        .check = check,
                                        .resolve = resolve,
                                        .electrons = electrons,
                                        .noise = noise};

// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/score_config.h"

const char *const bb_score_names[] = {"pairs", "stationary", NULL};

// clang-format off
static const bb_key monte_carlo_keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1.0e6,
     .offset = offsetof(bb_monte_carlo_config, frames), .default_text = "0",
     .meaning = "Independent frames of random phase screens that check the score; 0: none."},
    {.name = "pixels_per_subaperture", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 8.0,
     .maximum = 256.0, .offset = offsetof(bb_monte_carlo_config, pixels_per_subaperture),
     .default_text = "32",
     .meaning = "Points of a screen across the smallest subaperture; its shortest wave is two."},
    {.name = "screen_oversize", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.5,
     .maximum = 100.0, .offset = offsetof(bb_monte_carlo_config, screen_oversize),
     .default_text = "4.0",
     .meaning = "Period of the screens over the widest layer that stars and targets see."},
    {.name = "subharmonics", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 12.0,
     .offset = offsetof(bb_monte_carlo_config, subharmonics), .default_text = "4",
     .meaning = "Levels of waves longer than the period, each three times longer."},
};

static const bb_key error_terms_keys[] = {
    {.name = "fitting", .kind = BB_KEY_BOOLEAN, .default_text = "true",
     .offset = offsetof(bb_error_terms_config, fitting),
     .meaning = "Turbulence finer than the mirror's actuators, which truth sensors then do not see."},
    {.name = "fitting_coefficient", .kind = BB_KEY_DOUBLE, .unit = "rad^2", .minimum = 0.0,
     .maximum = 10.0, .offset = offsetof(bb_error_terms_config, fitting_coefficient),
     .default_text = "0.2740",
     .meaning = "Its variance over (actuator pitch / r0)^(5/3) for an infinite outer scale: 0.2740 "
                "beyond a circular cutoff at half the inverse pitch, 0.2313 beyond a square one."},
    {.name = "aliasing", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_error_terms_config, aliasing),
     .meaning = "Turbulence finer than the lenslets that one sensor takes for coarser; with fitting "
                "that of the guide stars is in the residual of slopes."},
    {.name = "frame_delay_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0,
     .maximum = 1.0e4, .offset = offsetof(bb_error_terms_config, frame_delay_ms),
     .default_text = "0.0",
     .meaning = "From the middle of an exposure to its correction, for the servo lag; 0: none."},
    {.name = "wind_m_per_s", .kind = BB_KEY_DOUBLES, .unit = "m/s", .minimum = 0.0,
     .maximum = 500.0, .optional = true,
     .offset = offsetof(bb_error_terms_config, wind_m_per_s),
     .meaning = "Speeds of the layers' wind, of any direction; unset: those of the eso and eris "
                "profiles."},
    {.name = "shake_arcsec", .kind = BB_KEY_DOUBLE, .unit = "arcsec", .minimum = 0.0,
     .maximum = 1.0e3, .offset = offsetof(bb_error_terms_config, shake_arcsec),
     .default_text = "0.0",
     .meaning = "Rms of a tilt of the telescope along each axis, which stars and targets see alike "
                "and no covariance knows; 0: none."},
};
// clang-format on
const bb_schema bb_error_terms_schema =
    BB_SCHEMA("error_terms", bb_error_terms_config, error_terms_keys);
const bb_schema bb_monte_carlo_schema =
    BB_SCHEMA("monte_carlo", bb_monte_carlo_config, monte_carlo_keys);

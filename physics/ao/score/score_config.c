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

static const char *const loop_names[] = {"open", "closed", NULL};

static const bb_key time_domain_keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1.0e6,
     .offset = offsetof(bb_time_domain_config, frames), .default_text = "0",
     .meaning = "Frames of each realisation that are scored while wind carries the screens, of "
                "the sizes of monte_carlo; 0: none are run."},
    {.name = "settle_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0,
     .maximum = 1.0e6, .offset = offsetof(bb_time_domain_config, settle_frames),
     .default_text = "10", .meaning = "Frames before the first that is scored."},
    {.name = "realisations", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 2.0, .maximum = 1.0e6,
     .offset = offsetof(bb_time_domain_config, realisations), .default_text = "32",
     .meaning = "Independent skies; frames of one sky are alike, so that errors come from these."},
    {.name = "rate_hz", .kind = BB_KEY_DOUBLE, .unit = "Hz", .minimum = 0.0, .maximum = 1.0e5,
     .exclusive_minimum = true, .offset = offsetof(bb_time_domain_config, rate_hz),
     .default_text = "500.0", .meaning = "Frames a second."},
    {.name = "gain", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .offset = offsetof(bb_time_domain_config, gain),
     .default_text = "1.0",
     .meaning = "Share of a frame's estimate in the new command; the rest is the last command."},
    {.name = "delay_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1.0e4,
     .offset = offsetof(bb_time_domain_config, delay_ms), .optional = true,
     .meaning = "From the middle of an exposure to its correction; unset: "
                "error_terms.frame_delay_ms."},
    {.name = "exposure_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1.0e4,
     .offset = offsetof(bb_time_domain_config, exposure_ms), .default_text = "0.0",
     .meaning = "Time over which slopes are averaged; 0: instants, as the analytic score has them. "
                "Noise is that of sensors.frame_ms whatever it is."},
    {.name = "loop", .kind = BB_KEY_CHOICE, .choices = loop_names,
     .offset = offsetof(bb_time_domain_config, loop), .default_text = "open",
     .meaning = "open: guide stars see the turbulence; closed: what the mirrors leave of it, and "
                "the controller adds what they make."},
    {.name = "wind_direction_deg", .kind = BB_KEY_DOUBLES, .unit = "deg", .minimum = -360.0,
     .maximum = 360.0, .optional = true,
     .offset = offsetof(bb_time_domain_config, wind_direction_deg),
     .meaning = "Where each layer's wind blows to, from x to y; unset: layer l at 137.508 l."},
};

static const char *const combination_names[] = {"exact", "independent", NULL};

static const bb_key error_terms_keys[] = {
    {.name = "combination", .kind = BB_KEY_CHOICE, .choices = combination_names,
     .offset = offsetof(bb_error_terms_config, combination), .default_text = "exact",
     .meaning = "exact: the whole residual from the covariances of phase and slopes, for score "
                "pairs with fitting; independent: fitting and lag as if they were independent of "
                "the residual of slopes, as for every other score and for correction mcao."},
    {.name = "minimum_variance", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_error_terms_config, minimum_variance),
     .meaning = "Also the Strehl ratio that the mirrors would have by the commands of least variance "
                "of the phase, with exact: one more solve of the reference."},
    {.name = "fitting", .kind = BB_KEY_BOOLEAN, .default_text = "true",
     .offset = offsetof(bb_error_terms_config, fitting),
     .meaning = "Turbulence finer than the mirror's actuators, which truth sensors then do not see."},
    {.name = "fitting_coefficient", .kind = BB_KEY_DOUBLE, .unit = "rad^2", .minimum = 0.0,
     .maximum = 10.0, .offset = offsetof(bb_error_terms_config, fitting_coefficient),
     .default_text = "0.2740",
     .meaning = "Of a fitting error that is independent: its variance over (actuator pitch / "
                "r0)^(5/3) for an infinite outer scale, 0.2740 beyond a circular cutoff at half the "
                "inverse pitch, 0.2313 beyond a square one."},
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
const bb_schema bb_time_domain_schema =
    BB_SCHEMA("time_domain", bb_time_domain_config, time_domain_keys);
const bb_schema bb_monte_carlo_schema =
    BB_SCHEMA("monte_carlo", bb_monte_carlo_config, monte_carlo_keys);

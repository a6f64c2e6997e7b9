// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score_config.h"

// clang-format off
static const bb_key monte_carlo_keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1.0e6,
     .offset = offsetof(bb_monte_carlo_config, frames), .default_text = "0",
     .meaning = "Independent frames of random phase screens that check the analytic score; 0: none."},
    {.name = "pixels_per_subaperture", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 2.0,
     .maximum = 64.0, .offset = offsetof(bb_monte_carlo_config, pixels_per_subaperture),
     .default_text = "8",
     .meaning = "Points of a screen across the smallest subaperture: its shortest wave is two."},
    {.name = "screen_oversize", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.5,
     .maximum = 100.0, .offset = offsetof(bb_monte_carlo_config, screen_oversize),
     .default_text = "4.0",
     .meaning = "Period of the screens over the widest layer that stars and targets see."},
    {.name = "subharmonics", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 12.0,
     .offset = offsetof(bb_monte_carlo_config, subharmonics), .default_text = "4",
     .meaning = "Levels of waves longer than the period, each three times longer."},
};
// clang-format on
const bb_schema bb_monte_carlo_schema =
    BB_SCHEMA("monte_carlo", bb_monte_carlo_config, monte_carlo_keys);

// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bb_unwrap_slot_names[] = {"gradient", "smoother",   "residual",
                                            "transfer", "congruence", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "reject", .kind = BB_KEY_TEXT, .offset = offsetof(bb_unwrap_method, reject),
     .default_text = "auto",
     .meaning = "Rejection of edges: auto (limit from the data), off, or a limit in rad."},
    {.name = "cycles", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1000.0,
     .offset = offsetof(bb_unwrap_method, cycles), .default_text = "8",
     .meaning = "Largest number of multigrid V-cycles in the first least-squares solve; conjugate "
                "gradients follow if two or more V-cycles do not contract."},
    {.name = "reweight", .kind = BB_KEY_INTEGER, .unit = "1", .maximum = 100.0,
     .offset = offsetof(bb_unwrap_method, reweight), .default_text = "12",
     .meaning = "Largest number of reweightings towards least absolute residuals; the phase with "
                "the least cost of jumps is kept."},
    {.name = "reweight_cycles", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0,
     .maximum = 1000.0, .offset = offsetof(bb_unwrap_method, reweight_cycles),
     .default_text = "4", .meaning = "V-cycles after each reweighting."},
};
// clang-format on
const bb_schema bb_unwrap_method_schema = BB_SCHEMA("unwrap", bb_unwrap_method, keys);

bb_status bb_unwrap_method_limit(const bb_unwrap_method *method, double *limit)
{
    bb_status status = BB_OK;
    char *end = NULL;
    if (strcmp(method->reject, "auto") == 0) {
        *limit = 0.0;
    } else if (strcmp(method->reject, "off") == 0) {
        *limit = INFINITY;
    } else {
        *limit = strtod(method->reject, &end);
        BB_REQUIRE(end != method->reject && *end == '\0' && *limit > 0.0 && *limit <= 4.0,
                   BB_INVALID, "unwrap.reject '%s', expected auto, off or a limit in (0, 4] rad",
                   method->reject);
    }
done:
    return status;
}

bb_status bb_unwrap_method_check(const bb_unwrap_method *method)
{
    double limit = 0.0;
    return bb_unwrap_method_limit(method, &limit);
}

static bool is_single(const bb_unwrap_config *config, bb_unwrap_slot slot)
{
    return bb_format_describe(config->slots[slot].storage)->significand >=
           bb_format_describe(BB_FORMAT_FP32)->significand;
}

static bool has_range(const bb_unwrap_config *config, bb_unwrap_slot slot)
{
    return bb_format_describe(config->slots[slot].storage)->minimum_exponent <=
           bb_format_describe(BB_FORMAT_BF16)->minimum_exponent;
}

bool bb_unwrap_config_supports_cg(const bb_unwrap_config *config)
{
    return is_single(config, BB_UNWRAP_GRADIENT) && is_single(config, BB_UNWRAP_SMOOTHER) &&
           has_range(config, BB_UNWRAP_RESIDUAL) && has_range(config, BB_UNWRAP_TRANSFER);
}

bb_unwrap_config bb_unwrap_config_plain(bb_format format)
{
    bb_unwrap_config config = {
        .method = {.reject = "auto", .cycles = 8, .reweight = 12, .reweight_cycles = 4}};
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        config.slots[slot] = (bb_unwrap_numbers){format, format};
    }
    return config;
}

// SPDX-License-Identifier: Apache-2.0
//
// Tolerances of codecs that take one: absolute or a part of the range, and those that are held.
#include "precision/codec_row.h"

#include <math.h>
#include <stdio.h>

static bool fits(bb_codec_tolerances allowed, double tolerance)
{
    return tolerance >= ldexp(1.0, allowed.lowest) && tolerance <= ldexp(1.0, allowed.highest);
}

bool bb_codec_check_tolerance(const bb_codec_config *config, char *sentence, size_t bytes)
{
    const bb_codec_tolerances allowed = bb_codec_row_of(config)->tolerances;
    bool absolute = !isnan(config->tolerance);
    bool relative = !isnan(config->tolerance_of_range);
    if (absolute == relative) {
        (void)snprintf(sentence, bytes, "%s: expected exactly one of tolerance, tolerance_of_range",
                       absolute ? "tolerance_of_range" : "tolerance");
        return false;
    }
    double value = absolute ? config->tolerance : config->tolerance_of_range;
    if (!(value > 0.0 && isfinite(value))) {
        (void)snprintf(sentence, bytes, "%s: %g, expected a positive number",
                       absolute ? "tolerance" : "tolerance_of_range", value);
        return false;
    }
    if (absolute && !fits(allowed, value)) {
        (void)snprintf(sentence, bytes, "tolerance: %g, expected 2^%d to 2^%d", value,
                       allowed.lowest, allowed.highest);
        return false;
    }
    return true;
}

bool bb_codec_holds(const bb_codec_config *config, double range, bb_outcome *outcome)
{
    const double wanted = config->tolerance_of_range * range;
    const bb_codec_tolerances allowed = bb_codec_row_of(config)->tolerances;
    if (isnan(config->tolerance_of_range) || fits(allowed, wanted)) {
        return true;
    }
    const double minimum = ldexp(1.0, allowed.lowest);
    const double largest = ldexp(1.0, allowed.highest);
    bb_outcome_set(outcome, BB_OUTCOME_NOT_HELD,
                   "tolerance_of_range %g of a matrix of range %g is a tolerance of %g: %s holds "
                   "%.4g to %.4g, the nearest is %.4g",
                   config->tolerance_of_range, range, wanted, bb_codec_row_of(config)->name,
                   minimum, largest, wanted > largest ? largest : minimum);
    return false;
}

void bb_codec_describe_tolerance(const bb_codec_config *config, char *out, size_t bytes)
{
    if (!isnan(config->tolerance)) {
        (void)snprintf(out, bytes, "%.3g", config->tolerance);
    } else {
        (void)snprintf(out, bytes, "%.3g of range", config->tolerance_of_range);
    }
}

// SPDX-License-Identifier: Apache-2.0
#include "precision/error_norms.h"

#include "core/portable.h"

#include <math.h>

enum { LANES = 16 };

bb_error_norms bb_error_norms_start(void)
{
    return (bb_error_norms){.minimum = INFINITY, .maximum = -INFINITY};
}

// Sums and extremes of values l, l + LANES, ... of a call, so that the loop vectorises.
typedef struct lanes {
    double sum_squares[LANES], sum[LANES], max_error[LANES], minimum[LANES], maximum[LANES];
} lanes;

static inline void add_pair(lanes *sums, int l, double original, double approximation, double scale)
{
    double error = approximation - original;
    double magnitude = fabs(error);
    double scaled = error * scale;
    sums->sum_squares[l] += scaled * scaled;
    sums->sum[l] += scaled;
    sums->max_error[l] = magnitude > sums->max_error[l] ? magnitude : sums->max_error[l];
    sums->minimum[l] = original < sums->minimum[l] ? original : sums->minimum[l];
    sums->maximum[l] = original > sums->maximum[l] ? original : sums->maximum[l];
}

BB_CLONES static void add_all(const double *original, const double *approximation, bb_index count,
                              double scale, lanes *out)
{
    lanes sums;
    for (int l = 0; l < LANES; ++l) {
        sums.sum_squares[l] = sums.sum[l] = sums.max_error[l] = 0.0;
        sums.minimum[l] = INFINITY;
        sums.maximum[l] = -INFINITY;
    }
    bb_index multiple = count / LANES * LANES;
    for (bb_index i = 0; i < multiple; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            add_pair(&sums, l, original[i + l], approximation[i + l], scale);
        }
    }
    for (bb_index i = multiple; i < count; ++i) {
        add_pair(&sums, (int)(i - multiple), original[i], approximation[i], scale);
    }
    *out = sums;
}

static bb_error_norms sum_of_lanes(const double *original, const double *approximation,
                                   bb_index count, int exponent)
{
    lanes sums;
    add_all(original, approximation, count, scalbn(1.0, -exponent), &sums);
    bb_error_norms total = bb_error_norms_start();
    total.exponent = exponent;
    for (int l = 0; l < LANES; ++l) {
        const bb_error_norms lane = {.sum_squares = sums.sum_squares[l],
                                     .max_error = sums.max_error[l],
                                     .minimum = sums.minimum[l],
                                     .maximum = sums.maximum[l],
                                     .sum = sums.sum[l],
                                     .exponent = exponent};
        bb_error_norms_merge(&total, &lane);
    }
    total.count = (double)count;
    return total;
}

void bb_error_norms_add(bb_error_norms *norms, const double *original, const double *approximation,
                        bb_index count)
{
    bb_error_norms total = sum_of_lanes(original, approximation, count, 0);
    // A sum of squares that overflowed next to a NaN stays NaN in any unit.
    const int exponent = bb_error_norms_exponent(total.max_error);
    if (exponent != 0) {
        total = sum_of_lanes(original, approximation, count, exponent);
    }
    bb_error_norms_merge(norms, &total);
}

double bb_error_norms_range(const bb_error_norms *norms)
{
    return norms->maximum - norms->minimum;
}

double bb_error_norms_rmse(const bb_error_norms *norms)
{
    return scalbn(sqrt(norms->sum_squares / norms->count), norms->exponent);
}

double bb_error_norms_nrmse(const bb_error_norms *norms)
{
    const double range = bb_error_norms_range(norms);
    return range > 0.0 && isfinite(range) ? bb_error_norms_rmse(norms) / range : NAN;
}

double bb_error_norms_bias(const bb_error_norms *norms)
{
    return scalbn(norms->sum / norms->count, norms->exponent);
}

double bb_error_norms_psnr_db(const bb_error_norms *norms)
{
    return -20.0 * log10(bb_error_norms_nrmse(norms));
}

double bb_error_norms_psnr_zfp_db(const bb_error_norms *norms)
{
    return -20.0 * log10(2.0 * bb_error_norms_nrmse(norms));
}

static double largest_magnitude(const double *values, bb_index count)
{
    double largest = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        largest = fmax(largest, fabs(values[i]));
    }
    return largest;
}

double bb_error_norms_relative(const double *approximation, const double *truth, bb_index count)
{
    const double known = largest_magnitude(truth, count);
    const double unit = known > 0.0 ? known : largest_magnitude(approximation, count);
    const int exponent = unit > 0.0 && isfinite(unit) ? ilogb(unit) : 0;
    double error = 0.0;
    double norm = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        const double value = scalbn(truth[i], -exponent);
        const double gap = scalbn(approximation[i], -exponent) - value;
        error += gap * gap;
        norm += value * value;
    }
    return norm > 0.0 || isnan(error) ? sqrt(error / norm) : error > 0.0 ? INFINITY : 0.0;
}

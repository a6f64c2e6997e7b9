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

static inline void add_pair(lanes *to, int l, double original, double approximation)
{
    double error = approximation - original;
    double magnitude = fabs(error);
    to->sum_squares[l] += error * error;
    to->sum[l] += error;
    to->max_error[l] = magnitude > to->max_error[l] ? magnitude : to->max_error[l];
    to->minimum[l] = original < to->minimum[l] ? original : to->minimum[l];
    to->maximum[l] = original > to->maximum[l] ? original : to->maximum[l];
}

BB_CLONES static void add_all(const double *original, const double *approximation, bb_index count,
                              lanes *out)
{
    lanes to;
    for (int l = 0; l < LANES; ++l) {
        to.sum_squares[l] = to.sum[l] = to.max_error[l] = 0.0;
        to.minimum[l] = INFINITY;
        to.maximum[l] = -INFINITY;
    }
    bb_index whole = count / LANES * LANES;
    for (bb_index i = 0; i < whole; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            add_pair(&to, l, original[i + l], approximation[i + l]);
        }
    }
    for (bb_index i = whole; i < count; ++i) {
        add_pair(&to, (int)(i - whole), original[i], approximation[i]);
    }
    *out = to;
}

void bb_error_norms_add(bb_error_norms *norms, const double *original, const double *approximation,
                        bb_index count)
{
    lanes of;
    add_all(original, approximation, count, &of);
    bb_error_norms all = bb_error_norms_start();
    for (int l = 0; l < LANES; ++l) {
        const bb_error_norms lane = {.sum_squares = of.sum_squares[l],
                                     .max_error = of.max_error[l],
                                     .minimum = of.minimum[l],
                                     .maximum = of.maximum[l],
                                     .sum = of.sum[l]};
        bb_error_norms_merge(&all, &lane);
    }
    all.count = (double)count;
    bb_error_norms_merge(norms, &all);
}

void bb_error_norms_merge(bb_error_norms *norms, const bb_error_norms *other)
{
    norms->sum_squares += other->sum_squares;
    norms->sum += other->sum;
    norms->max_error = fmax(norms->max_error, other->max_error);
    norms->minimum = fmin(norms->minimum, other->minimum);
    norms->maximum = fmax(norms->maximum, other->maximum);
    norms->count += other->count;
    // The comparisons pass a NaN over; a sum of squares is NaN only where an error is.
    if (isnan(norms->sum_squares)) {
        norms->max_error = norms->sum_squares;
    }
}

double bb_error_norms_range(const bb_error_norms *norms)
{
    return norms->maximum - norms->minimum;
}

double bb_error_norms_rmse(const bb_error_norms *norms)
{
    return sqrt(norms->sum_squares / norms->count);
}

double bb_error_norms_nrmse(const bb_error_norms *norms)
{
    const double range = bb_error_norms_range(norms);
    return range > 0.0 ? bb_error_norms_rmse(norms) / range : NAN;
}

double bb_error_norms_bias(const bb_error_norms *norms)
{
    return norms->sum / norms->count;
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

// SPDX-License-Identifier: Apache-2.0
//
// Error of an approximation against its original, accumulated panel by panel.
//
// rmse = sqrt(mean (a - b)^2); nrmse = rmse / range, range = max - min of the original; psnr = 20
// log10(range / rmse); the zfp tool's own psnr uses half the range: 6.02 dB less.
#ifndef BB_PRECISION_ERROR_NORMS_H
#define BB_PRECISION_ERROR_NORMS_H

#include "core/portable.h"
#include "core/status.h"

#include <math.h>

/// Running sums; initialise with bb_error_norms_start().
typedef struct bb_error_norms {
    double sum_squares; ///< sum of squares of the errors over 2^exponent
    double max_error;
    double minimum; ///< minimum of the original
    double maximum;
    double sum; ///< sum of the errors over 2^exponent, for the bias
    double count;
    int exponent; ///< 0 unless squares of the errors would overflow or underflow
} bb_error_norms;

bb_error_norms bb_error_norms_start(void);

/// Adds `count` pairs in 16 lanes, pair i in lane i mod 16, then adds up the lanes in order. The
/// calls and their order determine the bits. Errors outside 2^-400 to 2^480 are summed in a
/// separate unit, a power of two.
void bb_error_norms_add(bb_error_norms *norms, const double *original, const double *approximation,
                        bb_index count);

/// Returns the exponent of the unit of a call's sums: 0 if squares of errors up to `largest` can be
/// summed directly. 2^-exponent is finite.
BB_DEVICE_FUNCTION
int bb_error_norms_exponent(double largest)
{
    enum { LEAST = -400, MOST = 480, LIMIT = 1000 };
    if (!(largest > 0.0 && isfinite(largest))) {
        return 0;
    }
    const int exponent = ilogb(largest);
    if (exponent >= LEAST && exponent < MOST) {
        return 0;
    }
    return exponent < -LIMIT ? -LIMIT : exponent > LIMIT ? LIMIT : exponent;
}

/// Converts the sums to the unit 2^exponent.
BB_DEVICE_FUNCTION
void bb_error_norms_set_exponent(bb_error_norms *norms, int exponent)
{
    if (norms->exponent != exponent) {
        norms->sum_squares = scalbn(norms->sum_squares, 2 * (norms->exponent - exponent));
        norms->sum = scalbn(norms->sum, norms->exponent - exponent);
        norms->exponent = exponent;
    }
}

/// Adds the sums of `other`: one struct per group of rows, merged in the groups' order, gives the
/// same bits with any number of threads.
BB_DEVICE_FUNCTION
void bb_error_norms_merge(bb_error_norms *norms, const bb_error_norms *other)
{
    bb_error_norms more = *other;
    // Without errors there is no unit yet; else the larger one is used for both.
    const int exponent = norms->max_error == 0.0           ? more.exponent
                         : more.max_error == 0.0           ? norms->exponent
                         : norms->exponent > more.exponent ? norms->exponent
                                                           : more.exponent;
    bb_error_norms_set_exponent(norms, exponent);
    bb_error_norms_set_exponent(&more, exponent);
    norms->sum_squares += more.sum_squares;
    norms->sum += more.sum;
    norms->max_error = fmax(norms->max_error, other->max_error);
    norms->minimum = fmin(norms->minimum, other->minimum);
    norms->maximum = fmax(norms->maximum, other->maximum);
    norms->count += other->count;
    // The comparisons skip NaN; a sum of squares is NaN only if an error is.
    if (isnan(norms->sum_squares)) {
        norms->max_error = norms->sum_squares;
    }
}

/// Returns maximum - minimum of the original.
double bb_error_norms_range(const bb_error_norms *norms);

double bb_error_norms_rmse(const bb_error_norms *norms);
double bb_error_norms_nrmse(const bb_error_norms *norms);

/// Returns the mean error.
double bb_error_norms_bias(const bb_error_norms *norms);

/// Returns the psnr over the full range; infinity for an exact approximation.
double bb_error_norms_psnr_db(const bb_error_norms *norms);

/// Computes ||approximation - truth|| / ||truth||, Euclidean, scaled by a power of two so that
/// squares neither overflow nor underflow. 0 if both are zero, infinite if only the truth is, NaN
/// if a value is not finite. Summed in order.
double bb_error_norms_relative(const double *approximation, const double *truth, bb_index count);

/// Returns the psnr over half the range, as the zfp tool prints it.
double bb_error_norms_psnr_zfp_db(const bb_error_norms *norms);

#endif

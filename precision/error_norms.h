// SPDX-License-Identifier: Apache-2.0
//
// Error of an approximation against its original, gathered panel by panel.
//
// rmse = sqrt(mean (a - b)^2); nrmse = rmse / range, range = max - min of the original;
// psnr = 20 log10(range / rmse); the zfp tool's own psnr uses half the range: 6.02 dB less.
#ifndef BB_PRECISION_ERROR_NORMS_H
#define BB_PRECISION_ERROR_NORMS_H

#include "core/status.h"

/// Running sums; start from bb_error_norms_start().
typedef struct bb_error_norms {
    double sum_squares; ///< of the errors over 2^exponent
    double max_error;
    double minimum; ///< of the original
    double maximum;
    double sum; ///< of the errors over 2^exponent, for the bias
    double count;
    int exponent; ///< 0 but where squares of the errors would overflow or underflow
} bb_error_norms;

bb_error_norms bb_error_norms_start(void);

/// Adds `count` pairs: 16 lanes, lane l taking pairs l, l + 16, ..., then the lanes in turn. The
/// calls and their order fix the bits. Errors outside 2^-400 to 2^480 are summed in a unit of their
/// own, a power of two.
void bb_error_norms_add(bb_error_norms *norms, const double *original, const double *approximation,
                        bb_index count);

/// Adds what `other` has gathered: one struct a group of rows, merged in the groups' order, gives
/// the same bits with any number of threads.
void bb_error_norms_merge(bb_error_norms *norms, const bb_error_norms *other);

/// Maximum - minimum of the original.
double bb_error_norms_range(const bb_error_norms *norms);

double bb_error_norms_rmse(const bb_error_norms *norms);
double bb_error_norms_nrmse(const bb_error_norms *norms);

/// Mean error.
double bb_error_norms_bias(const bb_error_norms *norms);

/// Full range; infinity for an exact approximation.
double bb_error_norms_psnr_db(const bb_error_norms *norms);

/// ||approximation - truth|| / ||truth||, Euclidean, with a power of two taken out, so that squares
/// neither overflow nor underflow. 0 where both are zeros throughout, infinite where only the truth
/// is, NaN where a value is not finite. Summed in order.
double bb_error_norms_relative(const double *approximation, const double *truth, bb_index count);

/// Half range, as the zfp tool prints it.
double bb_error_norms_psnr_zfp_db(const bb_error_norms *norms);

#endif

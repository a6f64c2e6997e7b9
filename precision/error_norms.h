// SPDX-License-Identifier: Apache-2.0
//
// Error of an approximation against its original, gathered panel by panel.
//
// rmse = sqrt(mean (a - b)^2); nrmse = rmse / range, range = max - min of the original;
// psnr = 20 log10(range / rmse); the zfp tool's own psnr uses half the range: 6.02 dB less.
#ifndef BB_PRECISION_ERROR_NORMS_H
#define BB_PRECISION_ERROR_NORMS_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Running sums; start from bb_error_norms_start().
typedef struct bb_error_norms {
    double sum_squares; ///< of the errors
    double max_error;
    double minimum; ///< of the original
    double maximum;
    double sum; ///< of the errors, for the bias
    double count;
} bb_error_norms;

bb_error_norms bb_error_norms_start(void);

/// Adds `count` pairs. Order of the calls fixes the bits.
void bb_error_norms_add(bb_error_norms *norms, const double *original, const double *approximation,
                        bb_index count);

/// Adds `more`, gathered apart, to `norms`.
void bb_error_norms_merge(bb_error_norms *norms, const bb_error_norms *more);

double bb_error_norms_rmse(const bb_error_norms *norms);
double bb_error_norms_nrmse(const bb_error_norms *norms);
double bb_error_norms_bias(const bb_error_norms *norms);

/// Full range; infinity for an exact approximation.
double bb_error_norms_psnr_db(const bb_error_norms *norms);

/// Half range, as the zfp tool prints it.
double bb_error_norms_psnr_zfp_db(const bb_error_norms *norms);

#ifdef __cplusplus
}
#endif

#endif

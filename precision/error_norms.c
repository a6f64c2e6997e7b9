// SPDX-License-Identifier: Apache-2.0
#include "precision/error_norms.h"

#include <math.h>

bb_error_norms bb_error_norms_start(void)
{
    return (bb_error_norms){.minimum = INFINITY, .maximum = -INFINITY};
}

void bb_error_norms_add(bb_error_norms *norms, const double *original, const double *approximation,
                        bb_index count)
{
    for (bb_index i = 0; i < count; ++i) {
        double error = approximation[i] - original[i];
        norms->sum_squares += error * error;
        norms->sum += error;
        // A NaN must stay: fmax would drop it.
        if (isnan(error) || fabs(error) > norms->max_error) {
            norms->max_error = fabs(error);
        }
        norms->minimum = fmin(norms->minimum, original[i]);
        norms->maximum = fmax(norms->maximum, original[i]);
    }
    norms->count += (double)count;
}

double bb_error_norms_rmse(const bb_error_norms *norms)
{
    return sqrt(norms->sum_squares / norms->count);
}

double bb_error_norms_nrmse(const bb_error_norms *norms)
{
    return bb_error_norms_rmse(norms) / (norms->maximum - norms->minimum);
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

void bb_error_norms_merge(bb_error_norms *norms, const bb_error_norms *more)
{
    norms->sum_squares += more->sum_squares;
    norms->sum += more->sum;
    norms->count += more->count;
    norms->max_error = fmax(norms->max_error, more->max_error);
    norms->minimum = fmin(norms->minimum, more->minimum);
    norms->maximum = fmax(norms->maximum, more->maximum);
}

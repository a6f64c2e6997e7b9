// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/failure_bound.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

// Uses bisection, because gsl_cdf_beta_Pinv does not converge for a few failures among a million.
double bb_failure_bound(bb_index failed, bb_index tried)
{
    if (tried == 0) {
        return NAN;
    }
    if (failed == tried) {
        return 1.0;
    }
    double low = (double)failed / (double)tried;
    double high = 1.0;
    for (int halving = 0; halving < 100; ++halving) {
        const double middle = 0.5 * (low + high);
        if (gsl_cdf_beta_P(middle, (double)failed + 1.0, (double)(tried - failed)) < 0.95) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

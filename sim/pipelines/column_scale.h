// SPDX-License-Identifier: Apache-2.0
//
// Scales of the columns of a reconstructor R [m][n] for storage: R diag(c) is encoded, and a
// real-time computer multiplies it by slopes divided by c. With A = L L^T the covariance of slopes
// in the norm of the rounding (rounding_norm.h), c_j is
//
//     deviation   sqrt(A_jj);
//     remainder   L_jj, the conditional deviation given earlier slopes: in the sweep a step s of
//                 every column adds m n s^2 / 12, shared equally by all columns (reverse
//                 water-filling: fewest bits for a given loss);
//     balanced    sqrt(L_jj / rms of column j of R): smallest sum over columns of (L_jj / c_j)^2
//                 for a given sum of squares of R diag(c), for codecs with one step per row.
//
// Scales are fp32, n of them for each matrix. A scale that would be 0, subnormal or infinite is 1.
#ifndef BB_SIM_PIPELINES_COLUMN_SCALE_H
#define BB_SIM_PIPELINES_COLUMN_SCALE_H

#include "sim/pipelines/rounding_norm.h"

/// True if the scales need a factor, which `norm` must have (bb_rounding_norm_ready).
bool bb_column_scale_needs_factor(bb_column_scale scale);

/// Computes scales [n] for r [m][n]; not for BB_COLUMN_SCALE_NONE. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_column_scale_make(bb_column_scale scale, bb_rounding_norm *norm, bb_index m,
                                          const double *r, double *scales);

#endif

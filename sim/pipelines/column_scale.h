// SPDX-License-Identifier: Apache-2.0
//
// Scales of the columns of a reconstructor R [m][n] before it is stored: R diag(c) is what is
// coded, and a real-time computer multiplies it by slopes over c. With A = L L^T the covariance of
// slopes in whose norm rounding is paid for (rounding_norm.h), c_j is
//
//     deviation   sqrt(A_jj);
//     remainder   L_jj, the deviation that is left once the slopes before are known: in the sweep
//                 a step s of every column pays m n s^2 / 12, of which no column has more than
//                 its share (reverse water-filling: least bits for a price);
//     balanced    sqrt(L_jj / rms of column j of R): least sum over columns of (L_jj / c_j)^2 for
//                 a given sum of squares of R diag(c), for codecs of one step a row.
//
// Scales are fp32, n of them beside each matrix. Where one would be 0, subnormal or infinite, it
// is 1.
#ifndef BB_SIM_PIPELINES_COLUMN_SCALE_H
#define BB_SIM_PIPELINES_COLUMN_SCALE_H

#include "sim/pipelines/rounding_norm.h"

/// Whether the scales need a factor, which `norm` must have (bb_rounding_norm_ready).
bool bb_column_scale_needs_factor(bb_column_scale scale);

/// Computes scales [n] for r [m][n]; not for BB_COLUMN_SCALE_NONE. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_column_scale_make(bb_column_scale scale, bb_rounding_norm *norm, bb_index m,
                                          const double *r, double *scales);

#endif

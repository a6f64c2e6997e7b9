// SPDX-License-Identifier: Apache-2.0
//
// Loops over the rows of a reconstructor [m][n] for storage, on the thread pool, because it may
// have 1e9 values. Each row is processed in column order, so that results do not depend on the
// threads.
#ifndef BB_SIM_PIPELINES_STORED_ROWS_H
#define BB_SIM_PIPELINES_STORED_ROWS_H

#include "sim/pipelines/rounding_norm.h"

/// Range of the values of a reconstructor: the largest minus the smallest; NaN is ignored. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_stored_rows_range(bb_index m, bb_index n, const double *r, double *out);

/// Multiplies columns by their scales [n], or divides by them.
BB_CHECKED bb_status bb_stored_rows_multiply(const double *scales, bb_index m, bb_index n,
                                             double *r);
BB_CHECKED bb_status bb_stored_rows_divide(const double *scales, bb_index m, bb_index n, double *r);

/// Multiplies rows by the factors [m] of a draw, or divides by them; NULL: no effect.
BB_CHECKED bb_status bb_stored_rows_draw(const double *factors, bb_index m, bb_index n, double *r);
BB_CHECKED bb_status bb_stored_rows_undraw(const double *factors, bb_index m, bb_index n,
                                           double *r);

/// Computes R V, `out` [m][groups]: sums of a row over the slopes of each group.
BB_CHECKED bb_status bb_stored_rows_sum(const bb_slope_groups *groups, bb_index m, bb_index n,
                                        const double *r, double *out);

/// Replaces the mean part of Q by that with which the means are multiplied, `sums` [m][groups] in
/// fp32: Q <- Q P + (R V) V^+. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_stored_rows_set_means(const bb_slope_groups *groups, bb_index m, bb_index n,
                                              const double *sums, double *r);

/// Root mean squares of the columns, `out` [n].
BB_CHECKED bb_status bb_stored_rows_column_rms(bb_index m, bb_index n, const double *r,
                                               double *out);

#endif

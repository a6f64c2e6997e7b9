// SPDX-License-Identifier: Apache-2.0
//
// Loops over the rows of a reconstructor [m][n] that is stored, by the pool's threads: it has up to
// 1e9 values. A row's arithmetic is in the order of its columns, so that nothing depends on the
// threads.
#ifndef BB_SIM_PIPELINES_STORED_ROWS_H
#define BB_SIM_PIPELINES_STORED_ROWS_H

#include "precision/coded_matrix.h"
#include "sim/pipelines/rounding_norm.h"

/// The largest value less the least; NaN counts as nothing. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_stored_rows_range(bb_index m, bb_index n, const double *r, double *out);

/// Columns times their scales [n], and over them again.
BB_CHECKED bb_status bb_stored_rows_multiply(const double *scales, bb_index m, bb_index n,
                                             double *r);
BB_CHECKED bb_status bb_stored_rows_divide(const double *scales, bb_index m, bb_index n, double *r);

/// Rows times the factors [m] of a draw, and over them again; NULL: as they are.
BB_CHECKED bb_status bb_stored_rows_draw(const double *factors, bb_index m, bb_index n, double *r);
BB_CHECKED bb_status bb_stored_rows_undraw(const double *factors, bb_index m, bb_index n,
                                           double *r);

/// bb_coded_matrix_fix_row of every row, bb_coded_matrix_clip_row by its own of `clips` [m], and
/// bb_coded_matrix_encode_fixed. Errors: those.
BB_CHECKED bb_status bb_stored_rows_fix(bb_coded_matrix *matrix, const double *r);
BB_CHECKED bb_status bb_stored_rows_clip(bb_coded_matrix *matrix, const bb_index *clips,
                                         const double *r);
BB_CHECKED bb_status bb_stored_rows_encode(bb_coded_matrix *matrix, const double *r);

/// R V, `out` [m][groups]: sums of a row over the slopes of each group.
BB_CHECKED bb_status bb_stored_rows_sum(const bb_slope_groups *groups, bb_index m, bb_index n,
                                        const double *r, double *out);

/// What multiplies the means, `sums` [m][groups] in fp32, in the place of what Q has there:
/// Q <- Q P + (R V) V^+. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_stored_rows_set_means(const bb_slope_groups *groups, bb_index m, bb_index n,
                                              const double *sums, double *r);

/// Root mean squares of the columns, `out` [n].
BB_CHECKED bb_status bb_stored_rows_column_rms(bb_index m, bb_index n, const double *r,
                                               double *out);

#endif

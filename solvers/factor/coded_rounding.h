// SPDX-License-Identifier: Apache-2.0
//
// Rounding of a matrix to a storage in a sweep (rounding_sweep.h): the codec's shared data of each
// row, the rounding of its columns, and the encoding of the result.
#ifndef BB_SOLVERS_FACTOR_CODED_ROUNDING_H
#define BB_SOLVERS_FACTOR_CODED_ROUNDING_H

#include "precision/coded_matrix.h"
#include "solvers/factor/rounding_sweep.h"

/// Norm in which a matrix is rounded.
typedef struct bb_rounding_in_norm {
    /// Sweeps r [m][n] in place with the norm's factor, as bb_rounding_sweep; `excess` [m] receives
    /// each row's error.
    bb_status (*sweep)(const void *context, const bb_rounding_step *step, bb_index m, double *r,
                       double *excess);
    const void *context;
    const double *scales; ///< [n] scales of columns, already applied to r; NULL: 1
} bb_rounding_in_norm;

/// Rounds r [rows][columns] in place, without a change of its column scales, and encodes it in an
/// empty matrix that bb_codec_rounds_columns accepts. A codec with clip levels gets the one of
/// smallest error in the norm, row by row. `excess` [rows] receives the errors e A e^T of the rows.
/// Errors: those of the sweep and of bb_coded_matrix_fix_row, BB_MEMORY.
BB_CHECKED bb_status bb_coded_rounding_run(const bb_rounding_in_norm *norm, bb_coded_matrix *matrix,
                                           double *r, double *excess);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues of a symmetric matrix and singular values of its tiles, in fp64 by LAPACK: they show
// which part of a covariance lies above the unit roundoff of a format.
#ifndef BB_SOLVERS_FACTOR_SPECTRUM_H
#define BB_SOLVERS_FACTOR_SPECTRUM_H

#include "core/matrix_source.h"
#include "core/need.h"

/// Eigenvalues of D A D in descending order into `out` [n]; `scale` [n] is the diagonal of D, or
/// NULL. Stores the matrix: 8 n^2 bytes; about 4/3 n^3 operations on one thread. NaN, with a
/// warning, if a value of A or of D A D is not finite or the iteration does not converge. Errors:
/// BB_MEMORY, BB_INVALID (not square), BB_INTERNAL (LAPACK), errors of the source.
BB_CHECKED bb_status bb_spectrum_eigenvalues(const bb_matrix_source *source, const double *scale,
                                             double *out);

/// Cost without `out`; without the scratch of LAPACK, which is its block size times n.
bb_need bb_spectrum_need(bb_index n);

/// Singular values of the block of D A D with first entry (row, column), rows x columns, in
/// descending order into `out` [min(rows, columns)]. For a diagonal tile they are the magnitudes of
/// its eigenvalues. Errors: as above.
BB_CHECKED bb_status bb_spectrum_singular_values(const bb_matrix_source *source,
                                                 const double *scale, bb_index row, bb_index rows,
                                                 bb_index column, bb_index columns, double *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Encoding of a whole matrix on the host, over the threads, and its errors: exact rows are encoded,
// decoded and compared, band by band.
#ifndef BB_PRECISION_MATRIX_CODING_H
#define BB_PRECISION_MATRIX_CODING_H

#include "core/matrix_source.h"
#include "precision/row_certificate.h"

/// Source of exact rows.
typedef struct bb_exact_rows {
    const bb_matrix_source *source; ///< source of the rows, which fills `batch` rows at a time,
                                    ///< from multiples of `batch`
    bb_index batch;
    const bb_coded_matrix *matrix; ///< the same rows already encoded in fp64, or NULL
} bb_exact_rows;

/// Matrix to encode. All members are borrowed.
typedef struct bb_matrix_coding {
    const bb_exact_rows *rows;
    /// [rows] factors of a rounding sample (precision/draw.h): rows are encoded times their factor
    /// and compared without it; NULL: none.
    const double *factors;
    bb_row_certificate *certificates; ///< [rows] norms of each row, written; NULL: not needed
    bool allows_non_finite;           ///< NaN and infinity are encoded and counted, not refused
} bb_matrix_coding;

/// Result of an encoding: stored bytes as counted by bb_coded_matrix_bytes, counts of values, and
/// errors of all values.
typedef struct bb_coding_loss {
    double bytes, saturated, underflowed, non_finite;
    bb_error_norms norms;
} bb_coding_loss;

/// Encodes all rows into an empty matrix over the threads and compares the decoded values. Errors:
/// BB_INVALID (a value of the source is not finite, with row and column), BB_MEMORY, the source's.
BB_CHECKED bb_status bb_matrix_coding_encode(const bb_matrix_coding *task, bb_coded_matrix *matrix,
                                             bb_coding_loss *loss);

/// Compares a finished matrix with its exact rows, without factors. Errors: as above.
BB_CHECKED bb_status bb_matrix_coding_compare(const bb_matrix_coding *task,
                                              const bb_coded_matrix *matrix, bb_coding_loss *loss);

/// Decodes a matrix into `out` [rows][columns] over the threads, without scales. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_matrix_coding_decode(const bb_coded_matrix *coded, double *out);

/// Decodes a matrix into plain fp32 over the threads, without scales; exact for codecs that work on
/// floats. Adds the time to `seconds`. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_matrix_coding_unpack(const bb_coded_matrix *coded, double *seconds,
                                             bb_coded_matrix **out);

#endif

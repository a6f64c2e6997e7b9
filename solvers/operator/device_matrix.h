// SPDX-License-Identifier: Apache-2.0
//
// A coded matrix on a GPU in the form that its codec has there, and its products: rows of tiles
// (coded_stream.h), low-rank tiles (low_rank_stream.h), transformed blocks (transform_stream.h) or
// zfp panels (zfp_panels.h). A form is a row of the table in device_matrix.c.
#ifndef BB_SOLVERS_OPERATOR_DEVICE_MATRIX_H
#define BB_SOLVERS_OPERATOR_DEVICE_MATRIX_H

#include "solvers/operator/stream/coded_stream.h"

typedef struct bb_device_matrix bb_device_matrix;

/// Copies rows [first, first + rows) of a matrix to a GPU, its rows 0 to rows - 1, with a
/// workspace; the matrix may go. Forms other than rows of tiles are copied whole. Errors: BB_MEMORY
/// (host or device), BB_DEVICE, BB_UNSUPPORTED (a codec without a form here, sizes beyond a
/// form's).
BB_CHECKED bb_status bb_device_matrix_create(bb_device *device, const bb_coded_matrix *matrix,
                                             bb_index first, bb_index rows, bb_device_matrix **out);

/// What an operator of a matrix asks for.
typedef struct bb_device_matrix_shape {
    bb_codec_config storage; ///< with defaults filled in
    bb_index rows, columns;
    bool finite; ///< known: no stored value is NaN or infinite
} bb_device_matrix_shape;

/// A matrix of all rows of a stream, which is taken also where it fails. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_device_matrix_of_stream(bb_coded_stream **stream,
                                                const bb_device_matrix_shape *shape,
                                                bb_device_matrix **out);
void bb_device_matrix_destroy(bb_device_matrix **matrix);

const bb_device_matrix_shape *bb_device_matrix_shape_of(const bb_device_matrix *matrix);

/// For plans: bits of a value that a storage takes here beside its own.
double bb_device_matrix_index_bits(const bb_codec_config *storage);

/// Bytes of matrix that a product of all rows reads.
size_t bb_device_matrix_bytes(const bb_device_matrix *matrix, bb_stream_sums sums);

/// Whether one product may have both, matrices of one shape, codec and number of bits.
bool bb_device_matrix_alike(const bb_device_matrix *one, const bb_device_matrix *other);

/// The form of rows of tiles, which finds its rows on the device and whose bytes may be moved; NULL
/// of another.
const bb_coded_stream *bb_device_matrix_stream(const bb_device_matrix *matrix);

/// Rows of up to BB_STREAM_OPERANDS matrices that are alike, times one vector.
typedef struct bb_device_product {
    bb_device_matrix *const *matrices;
    int count;
    bb_stream_sums sums;
    bb_index run;          ///< of BB_STREAM_RUNS
    bb_index row;          ///< first one
    const int32_t *row_at; ///< on the device, read in place of `row`; NULL: `row` holds. Needs rows
                           ///< of tiles
    const void *x;         ///< on the device, in the format of the products, at 16 bytes
    double *const *y;      ///< [count] of [rows] on the device, scales undone
} bb_device_product;

/// Queues it (`product`), in one launch but for matrices that do not share an x in limbs
/// (bb_coded_stream_shares_limbs); nothing waits or allocates. One product at a time uses a
/// matrix's workspace.
bb_status bb_device_matrix_multiply(bb_queue *queue, bb_index begin, bb_index rows, void *product);

/// Whether this build has such products.
bool bb_device_matrix_available(void);

#endif

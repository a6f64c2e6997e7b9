// SPDX-License-Identifier: Apache-2.0
//
// A coded matrix on a GPU in the GPU form of its codec, and its products: rows of tiles
// (coded_stream.h), low-rank tiles (low_rank_stream.h), transformed blocks (transform_stream.h) or
// zfp panels (zfp_panels.h). A form is a row of the table in device_matrix.c.
#ifndef BB_SOLVERS_OPERATOR_DEVICE_MATRIX_H
#define BB_SOLVERS_OPERATOR_DEVICE_MATRIX_H

#include "solvers/operator/stream/coded_stream.h"

typedef struct bb_device_matrix bb_device_matrix;

/// Copies rows [first, first + rows) of a matrix to a GPU, where they become rows 0 to rows - 1,
/// with a workspace; the matrix may be freed. Forms other than rows of tiles are copied whole.
/// Errors: BB_MEMORY (host or device), BB_DEVICE, BB_UNSUPPORTED (a codec without GPU form, sizes
/// beyond the limits of the form).
BB_CHECKED bb_status bb_device_matrix_create(bb_device *device, const bb_coded_matrix *matrix,
                                             bb_index first, bb_index rows, bb_device_matrix **out);

/// Properties of a matrix that an operator needs.
typedef struct bb_device_matrix_shape {
    bb_codec_config storage; ///< storage with defaults filled in
    bb_index rows, columns;
    bool finite; ///< true: certainly no stored value is NaN or infinite
} bb_device_matrix_shape;

/// Creates a matrix of all rows of a stream; takes ownership of the stream, even on failure.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_device_matrix_of_stream(bb_coded_stream **stream,
                                                const bb_device_matrix_shape *shape,
                                                bb_device_matrix **out);
void bb_device_matrix_destroy(bb_device_matrix **matrix);

const bb_device_matrix_shape *bb_device_matrix_shape_of(const bb_device_matrix *matrix);

/// For plans: additional bits per value of a storage in its GPU form.
double bb_device_matrix_index_bits(const bb_codec_config *storage);

/// Bytes of the matrix read by a product of all rows.
size_t bb_device_matrix_bytes(const bb_device_matrix *matrix, bb_stream_sums sums);

/// True if one product may have both matrices: they have the same shape, codec and number of bits.
bool bb_device_matrix_alike(const bb_device_matrix *one, const bb_device_matrix *other);

/// The stream of a matrix in rows of tiles, which can read its first row on the device and whose
/// memory may be overwritten; NULL for other forms.
const bb_coded_stream *bb_device_matrix_stream(const bb_device_matrix *matrix);

/// Product of rows of up to BB_STREAM_OPERANDS compatible matrices with one vector.
typedef struct bb_device_product {
    bb_device_matrix *const *matrices;
    int count;
    bb_stream_sums sums;
    bb_index run; ///< length of a run for BB_STREAM_RUNS
    bb_index row; ///< first row
    /// Device address read instead of `row`; NULL: use `row`. Needs rows of tiles.
    const int32_t *row_at;
    const void *x;    ///< x on the device, in the format of the products, aligned to 16 bytes
    double *const *y; ///< [count] of [rows] on the device, with the scales removed
} bb_device_product;

/// Queues a bb_device_product, in one launch unless matrices do not share an x in limbs
/// (bb_coded_stream_shares_limbs). Nothing waits or allocates. A matrix's workspace serves one
/// product at a time.
bb_status bb_device_matrix_multiply(bb_queue *queue, bb_index begin, bb_index rows, void *product);

/// True if this build has such products.
bool bb_device_matrix_available(void);

#endif

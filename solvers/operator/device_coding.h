// SPDX-License-Identifier: Apache-2.0
//
// Encoding of a matrix on a GPU: rows in fp64 in device memory become a device matrix
// (device_matrix.h) without a copy through the host.
//
// Stored words, exponents, scales, steps and their positions equal, byte for byte, those of
// bb_device_matrix_create with the coded matrix of the same rows (precision/coded_matrix.h).
// Counts, extremes and the largest errors are equal, too. Sums of errors have another order than on
// the host, the same in every run; they agree within the rounding of fp64 sums.
//
// Plain formats, bfp, mx int8, integer, the quantiser and transform have an encoder. Diffused
// errors, low_rank, zfp and codecs without products on a GPU have none.
#ifndef BB_SOLVERS_OPERATOR_DEVICE_CODING_H
#define BB_SOLVERS_OPERATOR_DEVICE_CODING_H

#include "core/need.h"
#include "precision/matrix_coding.h"
#include "solvers/operator/device_matrix.h"

/// True if this build encodes a storage on a GPU; otherwise rows are encoded on the host.
bool bb_device_coding_available(const bb_codec_config *storage);

/// Matrix to encode. All members are borrowed.
typedef struct bb_device_coding {
    const bb_codec_config *storage;
    bb_row_scale scale;
    const bb_matrix_layout *layout;
    const double *values; ///< [layout rows][layout columns] on the device
    /// [layout rows] on the host, factors of a rounding sample (precision/draw.h): rows are encoded
    /// times their factor and compared without it; NULL: none.
    const double *factors;
} bb_device_coding;

/// Encodes a matrix, decodes it and compares it with its values, which may be freed afterwards.
/// `certificates` [layout rows] on the host, or NULL. Waits. Errors: BB_UNSUPPORTED (a storage that
/// is not available, values that its GPU form cannot represent), BB_INVALID (those of
/// bb_coded_matrix_create), BB_MEMORY (host or device), BB_DEVICE. Owner of the matrix: the caller.
BB_CHECKED bb_status bb_device_coding_encode(bb_device *device, const bb_device_coding *coding,
                                             bb_coding_loss *loss, bb_row_certificate *certificates,
                                             bb_device_matrix **out);

/// Workspace of encoding, without the values and the matrix (bb_coded_operator_need).
bb_need bb_device_coding_need(const bb_codec_config *storage, double rows, double columns);

#endif

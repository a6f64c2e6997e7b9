// SPDX-License-Identifier: Apache-2.0
//
// Encoding of transform matrices on a GPU: blocks of precision/codecs/transform.h, their
// coefficients and words, and the errors of their rows.
//
// A thread block encodes a strip: consecutive blocks of the mesh in one block of rows. Words are
// written to a range of a common buffer, recorded in an index; the host orders them. Coefficients
// and decoded values are bit-identical to the host's sums.
#ifndef BB_SOLVERS_OPERATOR_TRANSFORM_ENCODER_H
#define BB_SOLVERS_OPERATOR_TRANSFORM_ENCODER_H

#include "precision/codecs/transform.h"
#include "solvers/operator/stream/stream_encoder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_TRANSFORM_STRIP = 16, ///< blocks per strip
    BB_TRANSFORM_SHORT = 16, ///< longest axis that is transformed in place
    BB_TRANSFORM_KINDS = 1 << BB_TRANSFORM_AXES,
};

/// Location of the words of a block.
typedef struct bb_transform_record {
    uint64_t first;
    uint32_t words;
} bb_transform_record;

/// Sums of a row over a strip, with H of precision/row_certificate.h.
typedef struct bb_transform_path {
    double norm_1, norm_2, largest; ///< sum of H sqrt(cells), sum of H^2, largest H
} bb_transform_path;

typedef struct bb_transform_encoding {
    bb_stream_rows source;
    uint32_t extent[BB_TRANSFORM_AXES], length[BB_TRANSFORM_AXES], count[BB_TRANSFORM_AXES];
    uint32_t strips; ///< strips of a block of rows
    uint32_t padded; ///< values of a whole block, with an odd number of columns
    bool has_room;   ///< allocate a second buffer, because an axis is long
    double step;
    const double *bases; ///< matrices of the axes, whole and rest, forward and inverse
    uint32_t basis[BB_TRANSFORM_AXES][2][2];
    const uint16_t *orders; ///< position among padded values of each coefficient, by kind of block
    uint32_t order[BB_TRANSFORM_KINDS];
    uint32_t *words; ///< [capacity]
    uint64_t capacity;
    uint64_t *used; ///< required words; may exceed the capacity, beyond which nothing is written
    bb_transform_record *records; ///< [bands][blocks across][blocks of the mesh]
    bb_transform_path *paths;     ///< [rows][strips], or NULL: no paths, sums and counts
    uint64_t *sums;               ///< sums of |q| [blocks of rows][frequencies of a whole block]
    uint32_t *counts;         ///< [blocks of rows][lines of blocks][frequencies], as for a spectrum
    bb_stream_errors *errors; ///< [rows][strips]
    bb_stream_errors *totals; ///< [rows]
    bb_stream_tally *tally;   ///< zero on entry
} bb_transform_encoding;

/// Implements bb_device_coding_encode for a transform storage: a coded matrix on the host, without
/// its values.
BB_CHECKED bb_status bb_transform_encoder_encode(bb_device *device,
                                                 const struct bb_device_coding *coding,
                                                 struct bb_coding_loss *loss,
                                                 bb_row_certificate *certificates,
                                                 bb_coded_matrix **out);

/// True if this build supports it.
bool bb_transform_encoder_available(const bb_codec_config *storage);

/// Workspace of the encoder.
bb_need bb_transform_encoder_need(double rows, double columns);

/// Queues a bb_transform_encoding.
bb_status bb_transform_encoder_encode_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                           void *arguments);

#ifdef __cplusplus
}
#endif

#endif

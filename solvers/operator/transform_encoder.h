// SPDX-License-Identifier: Apache-2.0
//
// Encoding of transform matrices on a GPU: blocks of precision/codecs/transform.h, their
// coefficients and words, and the errors of their rows.
//
// A block of threads takes a strip: blocks of the mesh that follow each other, of one block of
// rows. Words go to a place of their own in a common buffer, by an index; the host puts them in
// order. Coefficients and decoded values have the bits of the host's sums.
#ifndef BB_SOLVERS_OPERATOR_TRANSFORM_ENCODER_H
#define BB_SOLVERS_OPERATOR_TRANSFORM_ENCODER_H

#include "precision/codecs/transform.h"
#include "solvers/operator/stream/stream_encoder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_TRANSFORM_STRIP = 16, ///< blocks
    BB_TRANSFORM_SHORT = 16, ///< longest axis that is transformed in place
    BB_TRANSFORM_KINDS = 1 << BB_TRANSFORM_AXES,
};

/// Where the words of a block are.
typedef struct bb_transform_record {
    uint64_t first;
    uint32_t words;
} bb_transform_record;

/// Of a row over a strip, with H of precision/row_certificate.h.
typedef struct bb_transform_path {
    double norm_1, norm_2, largest; ///< sum of H sqrt(cells), sum of H^2, largest H
} bb_transform_path;

typedef struct bb_transform_encoding {
    bb_stream_rows source;
    uint32_t extent[BB_TRANSFORM_AXES], length[BB_TRANSFORM_AXES], count[BB_TRANSFORM_AXES];
    uint32_t strips; ///< of a block of rows
    uint32_t padded; ///< values of a whole block, with an odd number of columns
    bool has_room;   ///< for as many again: an axis is long
    double step;
    const double *bases; ///< of axes, whole and rest, forward and inverse
    uint32_t basis[BB_TRANSFORM_AXES][2][2];
    const uint16_t *orders; ///< place among padded values of each coefficient, by kind of block
    uint32_t order[BB_TRANSFORM_KINDS];
    uint32_t *words; ///< [capacity]
    uint64_t capacity;
    uint64_t *used;               ///< words; may exceed the capacity, beyond which none is written
    bb_transform_record *records; ///< [bands][blocks across][blocks of the mesh]
    bb_transform_path *paths;     ///< [rows][strips], or NULL: no paths, sums and counts
    uint64_t *sums;               ///< of |q| [blocks of rows][frequencies of a whole block]
    uint32_t *counts;         ///< [blocks of rows][lines of blocks][frequencies], as a spectrum's
    bb_stream_errors *errors; ///< [rows][strips]
    bb_stream_errors *totals; ///< [rows]
    bb_stream_tally *tally;   ///< zero before
} bb_transform_encoding;

/// bb_device_coding_encode of a transform storage: a coded matrix on the host, without its values.
BB_CHECKED bb_status bb_transform_encoder_encode(bb_device *device,
                                                 const struct bb_device_coding *coding,
                                                 struct bb_coding_loss *loss,
                                                 bb_row_certificate *certificates,
                                                 bb_coded_matrix **out);

/// Whether this build has it.
bool bb_transform_encoder_available(const bb_codec_config *storage);

/// Workspace of it.
bb_need bb_transform_encoder_need(double rows, double columns);

/// Queues a bb_transform_encoding on a queue.
bb_status bb_transform_encoder_encode_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                           void *arguments);

#ifdef __cplusplus
}
#endif

#endif

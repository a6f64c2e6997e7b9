// SPDX-License-Identifier: Apache-2.0
//
// What coded_stream.c and stream_quotients.c share: the stream, and how whole numbers are laid out.
#ifndef BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_PARTS_H
#define BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_PARTS_H

#include "precision/codecs/plane_core.h"
#include "solvers/operator/stream/coded_stream.h"

enum {
    BB_STREAM_LINE = 128,             ///< bytes of 32 lanes' words
    BB_STREAM_CHUNK_BYTES = 64 << 20, ///< that are uploaded at once
};

struct bb_coded_stream {
    bb_device *device;
    bb_stream_layout layout;
    bb_index first_row; // of the matrix
    bb_index rows, columns, tiles;
    int blocks;
    float step;
    bool beyond_fp32; // rows of whole quotients, or of fp32 beside quotients
    bool in_limbs;
    bb_index uppers;          // tiles of upper parts of quotients, which limbs take beside
    int32_t *sources;         // [uppers] tiles whose ones they are, ascending
    size_t bytes, limb_bytes; // the latter where there are uppers
    void *words, *places, *scales, *steps, *limbs, *sums, *counts; // on the device
    void *limb_places, *device_sources;                            // where there are uppers
};

// Tiles [first, first + count) on their way to the device.
typedef struct bb_stream_packing {
    const bb_coded_stream *stream;
    const bb_coded_matrix *matrix;
    bb_index first;
    unsigned char *out; // zeroed
} bb_stream_packing;

static inline bb_index bb_coded_stream_least(bb_index a, bb_index b)
{
    return a < b ? a : b;
}

/// A lane's values of a tile in the order of their chunks, `word` bytes each.
void bb_coded_stream_order_chunks(int lane, int chunks, size_t word, const unsigned char *source,
                                  unsigned char *out);

/// A block's whole numbers, the lanes' chunks (`lanes_of` lanes a block) in their order.
void bb_coded_stream_order_block(const int32_t natural[BB_BLOCK], bb_index place, int lanes_of,
                                 int32_t out[BB_BLOCK]);

/// Block `place` of `blocks` of a row or a part of it, of `width` bits in planes, the widest first.
void bb_coded_stream_pack_planes(const int32_t block[BB_BLOCK], int width, bb_index place,
                                 bb_index blocks, bb_index row, unsigned char *out);

/// The quantiser's rows, whose bytes the data decide: words and places, those of limbs too, and
/// whether limbs take them. Errors: BB_UNSUPPORTED (too many units), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_upload_quotients(bb_coded_stream *stream,
                                                      const bb_coded_matrix *matrix);

#endif

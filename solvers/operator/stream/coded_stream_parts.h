// SPDX-License-Identifier: Apache-2.0
//
// The stream and the layout of whole numbers, for coded_stream.c and stream_quotients.c.
#ifndef BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_PARTS_H
#define BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_PARTS_H

#include "precision/codecs/plane_core.h"
#include "precision/codecs/quantiser_core.h"
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

/// Width of a quarter in which `magnitudes` has the bits of q ^ (q >> 31) of all quotients q, `any`
/// those of q; BB_STREAM_QUOTIENTS: too wide for planes.
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_quarter_width(uint32_t magnitudes, uint32_t any)
{
    const uint32_t width = (uint32_t)bb_quantiser_width(magnitudes, any);
    // Decoding takes time by the plane: a bit more a value is cheaper than one more of them.
    return width > BB_STREAM_MOST_PLANES ? BB_STREAM_QUOTIENTS
           : width >= 13                 ? 16
           : width % 4 == 3              ? width + 1
                                         : width;
}

/// One width of all quarters.
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_all_quarters(uint32_t width)
{
    return width * 0x01010101U;
}

/// The lower or the upper part of a quotient, which may have 17 bits.
BB_DEVICE_FUNCTION
int32_t bb_coded_stream_part(int32_t quotient, bb_stream_part part)
{
    const int32_t lower = (int32_t)(((uint32_t)quotient + 0x8000U) & 0xffffU) - 0x8000;
    return part == BB_STREAM_WHOLE   ? quotient
           : part == BB_STREAM_LOWER ? lower
                                     : (int32_t)(((int64_t)quotient - lower) / 0x10000);
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

/// A tile of quotients, or a part of one, as it lies.
typedef struct bb_stream_laid {
    bb_index source; ///< tile of the matrix
    bb_stream_part part;
} bb_stream_laid;

/// Quotients of a matrix, on the host or on the device.
typedef struct bb_stream_quotients {
    void *context;
    float step;
    /// Widths of all rows of `count` laid tiles into places [count][rows], before they are
    /// levelled.
    bb_status (*measure)(void *context, const bb_stream_laid *tiles, bb_index count,
                         bb_stream_place *places);
    /// Words of all laid tiles in their places, which the stream has on the device too.
    bb_status (*write)(void *context, const bb_stream_laid *tiles, bb_index count,
                       bb_stream_place *places);
} bb_stream_quotients;

/// Lays out the quantiser's rows, whose bytes the data decide: words and places, those of limbs
/// too, and whether limbs take them. Errors: BB_UNSUPPORTED (too many units), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_lay_quotients(bb_coded_stream *stream,
                                                   const bb_stream_quotients *source);
/// The same of a coded matrix.
BB_CHECKED bb_status bb_coded_stream_upload_quotients(bb_coded_stream *stream,
                                                      const bb_coded_matrix *matrix);

/// A stream of a storage without words, to be filled by its encoder; and the workspace of a filled
/// one. Errors: BB_UNSUPPORTED (a codec without layout), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_start(bb_device *device, const bb_codec_config *storage,
                                           bb_index rows, bb_index columns, bb_coded_stream **out);
BB_CHECKED bb_status bb_coded_stream_acquire_workspace(bb_coded_stream *stream);

#endif

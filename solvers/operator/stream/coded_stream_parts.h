// SPDX-License-Identifier: Apache-2.0
//
// Stream object and layout of integers, shared by coded_stream.c and stream_quotients.c.
#ifndef BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_PARTS_H
#define BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_PARTS_H

#include "precision/codecs/plane_core.h"
#include "precision/codecs/quantiser_core.h"
#include "solvers/operator/stream/coded_stream.h"

enum {
    BB_STREAM_LINE = 128,             ///< bytes of 32 lanes' words
    BB_STREAM_CHUNK_BYTES = 64 << 20, ///< uploaded at a time
};

struct bb_coded_stream {
    bb_device *device;
    bb_stream_layout layout;
    bb_index first_row; // first row in the matrix
    bb_index rows, columns, tiles;
    int blocks;
    float step;
    bool beyond_fp32; // the stream has rows of 32-bit quotients, or of fp32 in a quantiser
    bool in_limbs;
    bb_index uppers;          // tiles of upper parts of quotients, used by limbs
    int32_t *sources;         // [uppers] source tiles, ascending
    size_t bytes, limb_bytes; // limb_bytes is set if there are uppers
    void *words, *places, *scales, *steps, *limbs, *sums, *counts; // arrays on the device
    void *limb_places, *device_sources;                            // allocated if there are uppers
};

// Tiles [first, first + count) being packed for upload.
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

/// Width of a quarter. `magnitudes` is the bitwise or of q ^ (q >> 31) over all quotients q, `any`
/// the bitwise or of q. BB_STREAM_QUOTIENTS: too wide for planes.
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_quarter_width(uint32_t magnitudes, uint32_t any)
{
    const uint32_t width = (uint32_t)bb_quantiser_width(magnitudes, any);
    // Decoding time grows with the number of planes, so an extra bit per value is cheaper than an
    // extra plane.
    return width > BB_STREAM_MOST_PLANES ? BB_STREAM_QUOTIENTS
           : width >= 13                 ? 16
           : width % 4 == 3              ? width + 1
                                         : width;
}

/// Widths with the same value in all quarters.
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_all_quarters(uint32_t width)
{
    return width * 0x01010101U;
}

/// Lower or upper part of a quotient; the upper one may have 17 bits.
BB_DEVICE_FUNCTION
int32_t bb_coded_stream_part(int32_t quotient, bb_stream_part part)
{
    const int32_t lower = (int32_t)(((uint32_t)quotient + 0x8000U) & 0xffffU) - 0x8000;
    return part == BB_STREAM_WHOLE   ? quotient
           : part == BB_STREAM_LOWER ? lower
                                     : (int32_t)(((int64_t)quotient - lower) / 0x10000);
}

/// Orders a lane's values of a tile by chunks, `word` bytes each.
void bb_coded_stream_order_chunks(int lane, int chunks, size_t word, const unsigned char *source,
                                  unsigned char *out);

/// Orders a block's integers by the chunks of its lanes (`lanes_of` lanes per block).
void bb_coded_stream_order_block(const int32_t natural[BB_BLOCK], bb_index place, int lanes_of,
                                 int32_t out[BB_BLOCK]);

/// Packs block `place` of the `blocks` of a row, or of a part of it, into planes of `width` bits in
/// total, the widest plane first.
void bb_coded_stream_pack_planes(const int32_t block[BB_BLOCK], int width, bb_index place,
                                 bb_index blocks, bb_index row, unsigned char *out);

/// Stored tile of quotients, or of a part of each.
typedef struct bb_stream_laid {
    bb_index source; ///< tile of the matrix
    bb_stream_part part;
} bb_stream_laid;

/// Source of the quotients of a matrix, on the host or on the device.
typedef struct bb_stream_quotients {
    void *context;
    float step;
    /// Writes the widths of all rows of `count` stored tiles to places [count][rows], before they
    /// are levelled.
    bb_status (*measure)(void *context, const bb_stream_laid *tiles, bb_index count,
                         bb_stream_place *places);
    /// Writes the words of all stored tiles to their places, which are also on the device.
    bb_status (*write)(void *context, const bb_stream_laid *tiles, bb_index count,
                       bb_stream_place *places);
} bb_stream_quotients;

/// Lays out the rows of the quantiser, whose size is data-dependent: words and places, also for
/// limbs, and whether limbs are supported. Errors: BB_UNSUPPORTED (too many units), BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_lay_quotients(bb_coded_stream *stream,
                                                   const bb_stream_quotients *source);
/// Lays out the quantiser's rows from a coded matrix.
BB_CHECKED bb_status bb_coded_stream_upload_quotients(bb_coded_stream *stream,
                                                      const bb_coded_matrix *matrix);

/// Creates a stream without words, to be filled by an encoder; then allocates the workspace of the
/// filled stream. Errors: BB_UNSUPPORTED (a codec without layout), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_start(bb_device *device, const bb_codec_config *storage,
                                           bb_index rows, bb_index columns, bb_coded_stream **out);
BB_CHECKED bb_status bb_coded_stream_acquire_workspace(bb_coded_stream *stream);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A coded matrix laid out for a GPU that streams it: y = C x, decoded on the way to the product and
// never written decoded.
//
// Columns are cut into tiles, a tile's rows lie one after the other, so that whatever rows a
// product takes are contiguous in every tile. A row of a tile is what 32 lanes decode: lane l has
// the `columns / 32` columns from l columns / 32 on, in chunks of four columns whose order
// bb_coded_stream_chunk gives: eight lanes that read x at once meet no bank of shared memory twice.
// The last tile is filled up with zeros, and so is x.
//
// Row of a tile by storage. Plain formats: 512 bytes of words (fp64: 1024). bfp of 4, 8 and 16
// bits: 512 bytes of mantissas, as in bfp_core.h but for the sign bits of 8 and 16, which are
// turned over (m + 2^7, m + 2^15), and the exponents, up to a multiple of 16. An exponent e is
// stored as e + 127; a poisoned block has 255 and mantissas of zero. mx int8: as bfp of 8 bits.
//
// Other bfp: planes (plane_core.h), the widest first, each of 32 blocks, a lane's the block of its
// columns, then 32 exponents. Block b of row r stands in place b ^ (r mod 8) of its plane, half h
// of one of bytes in place (2 b + h) ^ (r mod 8): lanes that read a block of eight rows meet no
// bank twice. Integers: the same without exponents; of 8 bits 512 bytes, halves so exchanged, sign
// bits turned over.
//
// Quantiser: the same planes of eight blocks in each quarter of the tile, the quarters one after
// the other. A quarter has as many as the widest block of 16 rows needs, rounded up where another
// plane less pays (3 to 4, 7 to 8, 11 to 12, 13 to 16), nothing where the row's are zero; rows of
// wider ones have 32 words of quotients in all quarters, or of fp32 where some value of the tile is
// not held as a quotient.
//
// Limbs take planes alone. Where tiles with rows of words are few, at most one for
// BB_STREAM_UPPER_SHARE tiles' columns, and none is fp32, these tiles lie a second time behind the
// others in two parts, q = lower + 2^16 upper of 16 bits each, both laid as above: a tile of lower
// parts, which limbs take in the place of theirs, and a tile of upper parts, an upper tile, which
// they take beside, times 2^16 x of its source. A quarter of a row without wide quotients has no
// upper part, and a width of zero there.
#ifndef BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_H
#define BB_SOLVERS_OPERATOR_STREAM_CODED_STREAM_H

#include "core/device/device.h"
#include "core/portable.h"
#include "precision/coded_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_stream_storage {
    BB_STREAM_FP64,
    BB_STREAM_FP32, ///< tf32 as well: its words are floats
    BB_STREAM_BF16,
    BB_STREAM_FP16,
    BB_STREAM_E4M3,
    BB_STREAM_E5M2,
    BB_STREAM_BFP4,
    BB_STREAM_BFP8,
    BB_STREAM_BFP16,
    BB_STREAM_BFP_NARROW, ///< 5 to 7 bits
    BB_STREAM_BFP,        ///< 9 to 15
    BB_STREAM_INTEGER8,
    BB_STREAM_INTEGER_NARROW, ///< 2 to 7 bits
    BB_STREAM_INTEGER,        ///< 9 to 16
    BB_STREAM_QUANTISER,
    BB_STREAM_STORAGES,
} bb_stream_storage;

enum {
    BB_STREAM_LANES = 32,
    BB_STREAM_WARPS = 16,         ///< of a block
    BB_STREAM_MOST_PLANES = 16,   ///< widest quotient that is cut into planes
    BB_STREAM_UNIT = 32,          ///< bytes of eight blocks of one bit
    BB_STREAM_STAGE_UNITS = 2048, ///< of rows of a tile of the quantiser in shared memory: 64, or
                                  ///< 32 of the widest planes
    BB_STREAM_QUARTERS = 4,       ///< of a row of the quantiser
    BB_STREAM_BAND = 16, ///< rows whose quotients have one width, and that a warp takes in limbs
    BB_STREAM_TURNS = 8, ///< rows whose blocks lie in different places
    BB_STREAM_QUOTIENTS = 32,   ///< width of a row of a tile: 32 words of quotients
    BB_STREAM_RAW = 33,         ///< 32 words of fp32
    BB_STREAM_UPPER_SHARE = 4,  ///< an upper tile for so many tiles' columns at most
    BB_STREAM_LIMBS_OF_X = 3,   ///< BB_STREAM_LIMBS: 11 bits each
    BB_STREAM_CUT_BYTES = 5216, ///< of a tile of x in limbs or digits, at most
};

typedef struct bb_stream_layout {
    bb_stream_storage storage;
    int bits;           ///< of bfp and integers
    bb_index columns;   ///< of a tile
    bb_index row_bytes; ///< of a tile's row, a multiple of 16; 0 where the data decide
    bb_index warp_rows; ///< that a warp takes at once
} bb_stream_layout;

/// Where a row of a tile of the quantiser lies.
typedef struct bb_stream_place {
    uint32_t unit;   ///< of BB_STREAM_UNIT bytes
    uint32_t widths; ///< a byte a quarter: bits of a quotient, 0 to 16, or in all of them
                     ///< BB_STREAM_QUOTIENTS or BB_STREAM_RAW
} bb_stream_place;

/// Part of a quotient: all of it, or one of lower + 2^16 upper, lower in [-2^15, 2^15).
typedef enum bb_stream_part { BB_STREAM_WHOLE, BB_STREAM_LOWER, BB_STREAM_UPPER } bb_stream_part;

/// How products are summed on the way: each promoted by itself, in runs, or not at all.
typedef enum bb_stream_sums {
    BB_STREAM_WIDE,   ///< fp64 products (fused with their sum), fp64 sums
    BB_STREAM_EACH,   ///< fp32 products, rounded, each added in fp64
    BB_STREAM_RUNS,   ///< fp32 products fused into fp32 sums, promoted after a run
    BB_STREAM_NARROW, ///< the same, promoted once at the end
    BB_STREAM_LIMBS,  ///< x in limbs on tensor cores: of bytes for integers, whose sums are exact
                      ///< (of quotients above 16 bits those of either part), of fp16 for floats,
                      ///< fp32 sums of 128 columns; promoted
} bb_stream_sums;

/// One matrix of a product; addresses are the device's.
typedef struct bb_stream_operand {
    const unsigned char *words;
    const bb_stream_place *lies; ///< [tiles][matrix rows] of the quantiser, tiles of the task
    const double *scales;        ///< [matrix rows], or NULL
    const float *steps;          ///< [matrix rows] of integers
    float step;                  ///< of the quantiser
    double *y;                   ///< [rows], scales undone
} bb_stream_operand;

/// What blocks of a product have done.
typedef struct bb_stream_counts {
    unsigned cutting;   ///< turns of tiles whose x is cut into limbs, taken
    unsigned cut;       ///< tiles whose x is in limbs
    unsigned turns;     ///< taken
    unsigned published; ///< blocks whose sums are in their places
    unsigned known;     ///< blocks of add_places that saw it
} bb_stream_counts;

enum {
    BB_STREAM_OPERANDS = 3, ///< most of a task: the axes of a displacement
};

/// Products of matrices of one shape and storage with one x, together, the same rows of each.
typedef struct bb_stream_task {
    bb_stream_layout layout;
    bb_stream_sums sums;
    int run;                       ///< products of a lane in a run, a multiple of 32
    int blocks;                    ///< multiprocessors of the device
    bb_index matrix_rows, columns; ///< of a matrix
    bb_index tiles;                ///< of the columns, then upper ones
    const int32_t *sources;        ///< [upper tiles] on the device: tiles whose x they take
    bb_index row, rows;            ///< wanted
    const int32_t *row_at;         ///< on the device: read in place of `row`; NULL: `row` holds
    const void *x;                 ///< [columns] in the products' format, at 16 bytes
    int operands;
    bb_stream_operand operand[BB_STREAM_OPERANDS];
    unsigned char *limbs;     ///< workspace: x in limbs or digits, [tiles]
    double *places;           ///< workspace: sums of runs, [operands * rows][places]
    bb_stream_counts *counts; ///< workspace: zero before and after
} bb_stream_task;

/// Chunk `chunk` of lane `lane` holds the lane's columns from 4 times this on; `chunks` of a lane
/// are 1, 2, 4 or 8.
BB_DEVICE_FUNCTION
int bb_coded_stream_chunk(int chunks, int lane, int chunk)
{
    return chunk ^ (lane * chunks / 8 & (chunks - 1));
}

/// Width of a quarter of a row, and units of the quarters before it; of a row of planes, and of any
/// row in all.
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_width(uint32_t widths, int quarter)
{
    return widths >> (8 * quarter) & 255u;
}
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_units_before(uint32_t widths, int quarter)
{
    uint32_t units = 0;
    for (int q = 0; q < quarter; ++q) {
        units += bb_coded_stream_width(widths, q);
    }
    return units;
}
BB_DEVICE_FUNCTION
uint32_t bb_coded_stream_units(uint32_t widths)
{
    return (widths & 255u) < BB_STREAM_QUOTIENTS ? bb_coded_stream_units_before(widths, 4)
                                                 : 4u * BB_STREAM_QUOTIENTS;
}

typedef struct bb_coded_stream bb_coded_stream;

/// Whether a form of a codec has a layout here: words, blocks, integers and quotients.
bool bb_stream_layout_of(const bb_codec_config *config, bb_stream_layout *out);

/// Whether fp16 or bytes hold a storage's values (of the quantiser some matrices', in one part or
/// in two), which BB_STREAM_LIMBS asks for, and it is narrow enough to gain by it. A tile's largest
/// |x| 2^-34 is what limbs lose of x; an x with a value that is not finite makes all sums NaN.
bool bb_coded_stream_supports_limbs(bb_stream_storage storage);

/// Copies rows [first, first + rows) of a matrix to a device in its layout, which become rows 0 to
/// rows - 1 there, with a workspace for products of all of them and of others like them,
/// BB_STREAM_OPERANDS together.
/// Errors: BB_UNSUPPORTED (a codec without layout), BB_MEMORY (host or device), BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                            bb_index first, bb_index rows, bb_coded_stream **out);
void bb_coded_stream_destroy(bb_coded_stream **stream);

/// The members that the matrix and a way to sum decide, with it as the only operand; runs, rows, x
/// and y are the caller's to fill in.
bb_stream_task bb_coded_stream_task(const bb_coded_stream *stream, bb_stream_sums sums);

/// Whether two matrices of one shape can be in one task; of BB_STREAM_LIMBS, which have one x in
/// limbs, where they also have upper tiles of the same sources.
bool bb_coded_stream_alike(const bb_coded_stream *one, const bb_coded_stream *other);
bool bb_coded_stream_shares_limbs(const bb_coded_stream *one, const bb_coded_stream *other);

/// Whether what a stored value decodes to fits fp32: not so for quotients of more than 24 bits,
/// which products in fp64 would take whole on the cpu.
bool bb_coded_stream_fits_fp32(const bb_coded_stream *stream);

/// Whether BB_STREAM_LIMBS may sum products with this matrix.
bool bb_coded_stream_sums_in_limbs(const bb_coded_stream *stream);

/// Bytes of matrix that a product of all rows reads.
size_t bb_coded_stream_bytes(const bb_coded_stream *stream, bb_stream_sums sums);

/// Queues a product (`arguments`: bb_stream_task) on a queue; nothing waits, so that a
/// stream that is being captured takes it. One product at a time uses a workspace.
bb_status bb_coded_stream_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                        void *arguments);

#ifdef __cplusplus
}
#endif

#endif

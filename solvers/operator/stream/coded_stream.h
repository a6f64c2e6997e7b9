// SPDX-License-Identifier: Apache-2.0
//
// Layout of a coded matrix for a streaming product on a GPU: y = C x, decoded in registers; decoded
// values are never written to memory.
//
// Columns are cut into tiles, and the rows of a tile are contiguous, so any range of rows is
// contiguous in every tile. The 32 lanes of a warp decode a row of a tile. Lane l has the `columns
// / 32` columns from l columns / 32 on, in chunks of four columns, in the order of
// bb_coded_stream_chunk: eight lanes that read x at the same time have no bank conflicts in shared
// memory. The last tile and x are padded with zeros.
//
// Row of a tile by storage. Plain formats: 512 bytes of words (fp64: 1024). bfp of 4, 8 and 16
// bits: 512 bytes of mantissas, as in bfp_core.h except that the sign bits of 8 and 16 bits are
// inverted (m + 2^7, m + 2^15), then the exponents, padded to a multiple of 16. An exponent e is
// stored as e + 127; a poisoned block has 255 and zero mantissas. mx int8: like bfp of 8 bits.
//
// Other bfp: planes (plane_core.h), the widest first, each of 32 blocks, one per lane with the
// block of its columns, then 32 exponents. Block b of row r is at position b ^ (r mod 8) of its
// plane; in planes of bytes half h is at position (2 b + h) ^ (r mod 8). Lanes that read one block
// of eight rows thus have no bank conflicts. Integers: the same without exponents; those of 8 bits
// are 512 bytes with halves exchanged in the same way and inverted sign bits.
//
// Quantiser: the same planes of eight blocks in each quarter of the tile, one quarter after the
// other. The width of a quarter is the largest among the blocks of 16 rows. It is rounded up if
// that saves a plane (3 to 4, 7 to 8, 11 to 12, 13 to 16), and zero where the row has only zeros.
// Rows with wider quotients have 32 words of quotients in all quarters, or of fp32 if some value of
// the tile is not represented as a quotient.
//
// Limbs support planes only. If tiles with rows of words are few, at most one per
// BB_STREAM_UPPER_SHARE tiles of columns, and none is fp32, these tiles are stored a second time
// behind the others in two parts of 16 bits each, q = lower + 2^16 upper, both with the layout
// above. Limbs use the tile of lower parts instead of the original, and in addition the tile of
// upper parts, an upper tile, with 2^16 x of its source. A quarter of a row without wide quotients
// has no upper part, and width zero there.
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
    BB_STREAM_FP32, ///< also tf32, whose words are floats
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
    BB_STREAM_WARPS = 16,         ///< warps per thread block
    BB_STREAM_MOST_PLANES = 16,   ///< widest quotient stored in planes
    BB_STREAM_UNIT = 32,          ///< bytes of eight blocks of one bit
    BB_STREAM_STAGE_UNITS = 2048, ///< units of the rows of a quantiser tile in shared memory: 64
                                  ///< rows, or 32 with the widest planes
    BB_STREAM_QUARTERS = 4,       ///< quarters per row of the quantiser
    /// Rows whose quotients have the same width; a warp multiplies them together in limbs.
    BB_STREAM_BAND = 16,
    BB_STREAM_TURNS = 8,        ///< period in rows of the block positions
    BB_STREAM_QUOTIENTS = 32,   ///< width that denotes 32 words of quotients in a row of a tile
    BB_STREAM_RAW = 33,         ///< width that denotes 32 words of fp32
    BB_STREAM_UPPER_SHARE = 4,  ///< at most one upper tile per this number of tiles
    BB_STREAM_LIMBS_OF_X = 3,   ///< BB_STREAM_LIMBS: limbs of 11 bits each
    BB_STREAM_CUT_BYTES = 5216, ///< largest size of a tile of x in limbs or digits
};

typedef struct bb_stream_layout {
    bb_stream_storage storage;
    int bits;           ///< bits per value of bfp and integers
    bb_index columns;   ///< columns per tile
    bb_index row_bytes; ///< bytes per row of a tile, a multiple of 16; 0 if data-dependent
    bb_index warp_rows; ///< rows that a warp processes together
} bb_stream_layout;

/// Location of a row of a quantiser tile.
typedef struct bb_stream_place {
    uint32_t unit;   ///< offset in units of BB_STREAM_UNIT bytes
    uint32_t widths; ///< one byte per quarter: bits of a quotient, 0 to 16, or BB_STREAM_QUOTIENTS
                     ///< or BB_STREAM_RAW in all of them
} bb_stream_place;

/// Part of a quotient: the whole, or one of lower + 2^16 upper, lower in [-2^15, 2^15).
typedef enum bb_stream_part { BB_STREAM_WHOLE, BB_STREAM_LOWER, BB_STREAM_UPPER } bb_stream_part;

/// Summation of products: each promoted separately, in runs, or not at all.
typedef enum bb_stream_sums {
    BB_STREAM_WIDE,   ///< fp64 products (fused with their sum), fp64 sums
    BB_STREAM_EACH,   ///< fp32 products, rounded, each added in fp64
    BB_STREAM_RUNS,   ///< fp32 products fused into fp32 sums, promoted after a run
    BB_STREAM_NARROW, ///< fp32 sums as in runs, promoted once at the end
    BB_STREAM_LIMBS,  ///< x in limbs on tensor cores, promoted to fp64. Integers: limbs are bytes
                      ///< and sums are exact (for quotients above 16 bits, the sums of each part).
                      ///< Floats: limbs are fp16 with fp32 sums of 128 columns
} bb_stream_sums;

/// One matrix of a product; all addresses are device addresses.
typedef struct bb_stream_operand {
    const unsigned char *words;
    const bb_stream_place *lies; ///< quantiser: [tiles][matrix rows], tiles as in the task
    const double *scales;        ///< [matrix rows], or NULL
    const float *steps;          ///< integers: [matrix rows]
    float step;                  ///< quantiser
    double *y;                   ///< [rows], with the scales removed
} bb_stream_operand;

/// Progress counters of a product.
typedef struct bb_stream_counts {
    unsigned cutting;   ///< drawn turns of tiles whose x is cut into limbs
    unsigned cut;       ///< tiles whose x is in limbs
    unsigned turns;     ///< drawn turns of pieces
    unsigned published; ///< blocks whose sums are in their places
    unsigned known;     ///< blocks of add_places that have seen all of these
} bb_stream_counts;

enum {
    BB_STREAM_OPERANDS = 3, ///< most operands of a task: the axes of a displacement
};

/// Products of matrices of one shape and storage with the same x, for the same rows.
typedef struct bb_stream_task {
    bb_stream_layout layout;
    bb_stream_sums sums;
    int run;                       ///< products of a lane per run, a multiple of 32
    int blocks;                    ///< multiprocessors of the device
    bb_index matrix_rows, columns; ///< extents of a matrix
    bb_index tiles;                ///< tiles of the columns, then upper tiles
    const int32_t *sources;        ///< [upper tiles] on the device: source tiles, whose x they use
    bb_index row, rows;            ///< requested rows
    const int32_t *row_at;         ///< device address read instead of `row`; NULL: use `row`
    const void *x;                 ///< [columns] in the products' format, aligned to 16 bytes
    int operands;
    bb_stream_operand operand[BB_STREAM_OPERANDS];
    unsigned char *limbs;     ///< workspace: x in limbs or digits, [tiles]
    double *places;           ///< workspace: sums of runs, [operands * rows][places]
    bb_stream_counts *counts; ///< workspace: zero before and after
} bb_stream_task;

/// Chunk `chunk` of lane `lane` contains the lane's columns from 4 times the result on; a lane has
/// 1, 2, 4 or 8 `chunks`.
BB_DEVICE_FUNCTION
int bb_coded_stream_chunk(int chunks, int lane, int chunk)
{
    return chunk ^ (lane * chunks / 8 & (chunks - 1));
}

/// Width of a quarter of a row of planes, units of the quarters before it, and units of any row in
/// total.
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

/// True if a codec has a layout here: words, blocks, integers and quotients.
bool bb_stream_layout_of(const bb_codec_config *config, bb_stream_layout *out);

/// True if fp16 or bytes can represent a storage's values, as BB_STREAM_LIMBS requires, and it is
/// narrow enough to benefit; for the quantiser this depends on the matrix. Limbs lose 2^-34 of a
/// tile's largest |x|; an x with a value that is not finite makes all sums NaN.
bool bb_coded_stream_supports_limbs(bb_stream_storage storage);

/// Copies rows [first, first + rows) of a matrix to a device in its layout, where they become rows
/// 0 to rows - 1. Allocates a workspace for products of all of them in up to BB_STREAM_OPERANDS
/// compatible matrices. Errors: BB_UNSUPPORTED (a codec without layout), BB_MEMORY (host or
/// device), BB_DEVICE.
BB_CHECKED bb_status bb_coded_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                            bb_index first, bb_index rows, bb_coded_stream **out);
void bb_coded_stream_destroy(bb_coded_stream **stream);

/// Task with the matrix as the only operand and the members that follow from it and the kind of
/// sums; the caller sets runs, rows, x and y.
bb_stream_task bb_coded_stream_task(const bb_coded_stream *stream, bb_stream_sums sums);

/// True if two matrices of one shape can be in one task. BB_STREAM_LIMBS, with one x in limbs, also
/// needs upper tiles of the same sources.
bool bb_coded_stream_alike(const bb_coded_stream *one, const bb_coded_stream *other);
bool bb_coded_stream_shares_limbs(const bb_coded_stream *one, const bb_coded_stream *other);

/// True if every decoded value fits fp32; false for quotients of more than 24 bits, which products
/// in fp64 on the cpu use exactly.
bool bb_coded_stream_fits_fp32(const bb_coded_stream *stream);

/// True if products with this matrix may use BB_STREAM_LIMBS.
bool bb_coded_stream_sums_in_limbs(const bb_coded_stream *stream);

/// Bytes of the matrix read by a product of all rows.
size_t bb_coded_stream_bytes(const bb_coded_stream *stream, bb_stream_sums sums);

/// Queues a product (`arguments`: bb_stream_task); nothing waits, so a stream under capture can
/// record it. A workspace serves one product at a time.
bb_status bb_coded_stream_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                        void *arguments);

#ifdef __cplusplus
}
#endif

#endif

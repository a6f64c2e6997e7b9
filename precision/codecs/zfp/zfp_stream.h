// SPDX-License-Identifier: Apache-2.0
//
// Decoder of whole zfp arrays, standard libzfp streams of any mode in one to four dimensions, on
// the cpu and on a cuda device: the same bits as libzfp's own decoder.
//
// A zfp stream does not record the positions of its blocks. Fixed rate does not need them;
// otherwise a separate index of runs has the number of bits of every run of R blocks in 16 bits,
// and a 64-bit position every 32 runs. That is 18 / R bits per block; in two dimensions 1.13 / R
// bits per value.
//
// Corrupt streams. No read leaves the stream and no write the array. With an index every run must
// end where the next one begins, without one the last block must end in the stream's last word:
// otherwise an error is returned. Wrong bits in a valid position (of a coefficient, of the
// exponent, in a fixed-rate stream any) decode to wrong values: the format has no redundancy, and
// libzfp cannot detect them either.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_STREAM_H
#define BB_PRECISION_CODECS_ZFP_ZFP_STREAM_H

#include "core/array.h"
#include "precision/codecs/zfp/zfp_block_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A stream without header and its array. Owns nothing.
typedef struct bb_zfp_stream {
    const void *bytes; ///< any alignment
    size_t size;       ///< readable bytes
    uint64_t bits;     ///< bits of the blocks, or up to 63 more with the writer's padding
    bb_type type;      ///< F32 or F64
    bb_zfp_shape shape;
    bb_zfp_settings settings;
} bb_zfp_stream;

enum {
    BB_ZFP_GROUP_RUNS = 32,       ///< runs that share a position, and a warp
    BB_ZFP_RUN_BITS_END = 1 << 16 ///< exclusive upper limit of the bits of a run
};

/// Positions of runs of blocks. Owner: the caller that built it. Fixed rate: no arrays.
typedef struct bb_zfp_index {
    bb_index run_blocks; ///< R; the last run may have fewer
    bb_index runs;
    uint64_t *bases;   ///< [runs / 32 rounded up] first bit of every 32nd run
    uint16_t *lengths; ///< [runs] bits of a run
} bb_zfp_index;

/// Checks a stream. Errors: BB_INVALID (a type, shape or settings that no stream has, fewer bytes
/// than its bits, a fixed-rate stream too short for its array).
BB_CHECKED bb_status bb_zfp_stream_check(const bb_zfp_stream *stream);

bb_index bb_zfp_stream_blocks(const bb_zfp_stream *stream);
bb_index bb_zfp_stream_values(const bb_zfp_stream *stream);

/// Reads the stream once, block by block, and records the positions of runs of `run_blocks` blocks,
/// or fewer if a run would reach 2^16 bits. Errors: BB_MEMORY; those of bb_zfp_stream_check;
/// BB_INVALID (the blocks end before or after the stream).
BB_CHECKED bb_status bb_zfp_index_create(const bb_zfp_stream *stream, bb_index run_blocks,
                                         bb_zfp_index *out);
void bb_zfp_index_release(bb_zfp_index *index);

/// Returns the bytes of the index in device memory, in addition to the stream.
size_t bb_zfp_index_bytes(const bb_zfp_index *index);

/// Decodes a whole stream, block after block, to out [values] of its type. Errors as for
/// bb_zfp_index_create; `out` is then undefined.
BB_CHECKED bb_status bb_zfp_stream_decode(const bb_zfp_stream *stream, void *out);

struct bb_coded_matrix;

/// The stream of one band of a matrix in codec zfp (codec.h): an array [nw][nz][ny][nx] whose last
/// two axes are the row's mesh; row scales are not undone. Poisoned pieces are zeros in the stream.
/// Valid until the band is encoded again. Errors: BB_UNSUPPORTED (another codec), BB_INVALID (no
/// such band, or not encoded).
BB_CHECKED bb_status bb_coded_matrix_zfp_stream(const struct bb_coded_matrix *matrix, bb_index band,
                                                bb_zfp_stream *out);

/// Returns whether a value of the row decodes to NaN because its piece is poisoned: readers of
/// streams must apply this themselves.
bool bb_coded_matrix_zfp_poisoned(const struct bb_coded_matrix *matrix, bb_index row);

/// Returns the number of blocks along an axis.
BB_DEVICE_FUNCTION
bb_index bb_zfp_stream_blocks_of(bb_index extent)
{
    return (extent + 3) / 4;
}

/// First value of a block along each axis.
typedef struct bb_zfp_corner {
    bb_index x, y, z, w;
} bb_zfp_corner;

BB_DEVICE_FUNCTION
bb_zfp_corner bb_zfp_corner_of(const bb_zfp_shape *shape, bb_index block)
{
    const bb_index across = bb_zfp_stream_blocks_of(shape->nx);
    const bb_index down = bb_zfp_stream_blocks_of(shape->ny);
    const bb_index deep = bb_zfp_stream_blocks_of(shape->nz);
    bb_zfp_corner corner;
    corner.x = 4 * (block % across);
    corner.y = 4 * (block / across % down);
    corner.z = 4 * (block / across / down % deep);
    corner.w = 4 * (block / across / down / deep);
    return corner;
}

/// Advances to the next block.
BB_DEVICE_FUNCTION
void bb_zfp_corner_step(const bb_zfp_shape *shape, bb_zfp_corner *corner)
{
    corner->x += 4;
    if (corner->x >= shape->nx) {
        corner->x = 0;
        corner->y += 4;
    }
    if (corner->y >= shape->ny) {
        corner->y = 0;
        corner->z += 4;
    }
    if (corner->z >= shape->nz) {
        corner->z = 0;
        corner->w += 4;
    }
}

/// Internal, for zfp_decoder.c: whether runs need no index, the most bits of a block, and group
/// positions of runs.
bool bb_zfp_stream_fixed(const bb_zfp_stream *stream);
uint64_t bb_zfp_stream_block_bits(const bb_zfp_stream *stream);
bb_index bb_zfp_stream_run_groups(bb_index runs);

/// Internal: decodes the block at the reader's position and stores the part inside the array in
/// `out`.
void bb_zfp_stream_decode_at(bb_zfp_reader *reader, bb_type type, const bb_zfp_settings *settings,
                             const bb_zfp_shape *shape, const bb_zfp_corner *corner, void *out);

#ifdef __cplusplus
}
#endif

#endif

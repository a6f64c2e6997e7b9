// SPDX-License-Identifier: Apache-2.0
//
// One band of rows as one standard zfp stream (P. Lindstrom, IEEE TVCG 20, 2014; libzfp 1.0), with
// a separate index of runs, for decoding in pieces. Internal to precision/ and its tests.
//
// The stream is identical to the output of zfp_compress for the band as an array [nw][nz][ny][nx]
// of floats, without a header; it ends with a whole word of the library's bit stream (8 bits in
// Debian). A run is a line of blocks (in one dimension 512 of them): blocks that are consecutive in
// the stream and whose columns are consecutive in the matrix.
//
// libzfp reads past the end of a corrupt stream. Here a run stops at the first block that begins
// beyond the band's bits, and the buffer is extended by the most bits that a block can read, so no
// stream and no index makes a decoder read outside it; what cannot be decoded is NaN.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_BAND_H
#define BB_PRECISION_CODECS_ZFP_ZFP_BAND_H

#include "core/status.h"
#include "precision/codecs/zfp/zfp_block_core.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    BB_ZFP_LINE_BLOCKS = 512, ///< blocks of a run in one dimension
    BB_ZFP_BASE_RUNS = 16,    ///< runs that share a 64-bit base in the index
};

/// An encoded band. Fixed rate needs no index. Owner: the encoder.
typedef struct bb_zfp_band {
    unsigned char *words; ///< the stream, followed by zeros
    size_t bytes;         ///< bytes of the stream, a whole number of libzfp words
    uint64_t bits;        ///< total bits of its blocks
    uint64_t *bases;      ///< [runs / 16 rounded up] first bit of every 16th run; NULL: fixed rate
    uint32_t *offsets;    ///< [runs] bits after the base
    unsigned char *poisoned; ///< [runs] 1: contains a NaN; NULL: none
} bb_zfp_band;

/// Most bits that decoding one block reads, whatever the bits are.
uint64_t bb_zfp_band_block_limit(bb_zfp_settings settings, int dimensions);

/// Zero bytes in `words` after the stream.
size_t bb_zfp_band_slack(bb_zfp_settings settings, int dimensions);

bool bb_zfp_band_fixed_rate(bb_zfp_settings settings);
bb_index bb_zfp_band_runs(const bb_zfp_shape *shape);

/// Encodes values [nw][nz][ny][nx], contiguous, all finite; copies the poison marks [runs] unless
/// NULL. `out` is zeroed or an earlier band, which is released. Errors: BB_MEMORY, BB_INVALID (a
/// run too long for the index).
BB_CHECKED bb_status bb_zfp_band_encode(bb_zfp_settings settings, const bb_zfp_shape *shape,
                                        const float *values, const unsigned char *poisoned,
                                        bb_zfp_band *out);
void bb_zfp_band_release(bb_zfp_band *band);

/// Destination of a decoded run: rows w nz' + z of the run's rows, nz' at most 4, by its columns.
/// Exactly one of the pointers is not NULL.
typedef struct bb_zfp_target {
    float *f32;
    double *f64;
    bb_index stride;     ///< row stride
    bb_index only_row;   ///< one of the run's rows; -1: all
    bb_index begin, end; ///< requested columns of the run; the first one is stored in item 0
} bb_zfp_target;

void bb_zfp_band_decode(bb_zfp_settings settings, const bb_zfp_shape *shape,
                        const bb_zfp_band *band, bb_index run, const bb_zfp_target *target);

/// Describes, in a sentence, the measured rounding of transform coefficients in this build of
/// libzfp.
const char *bb_zfp_band_measured_rounding(void);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Matrices of products y = C x: their layouts, sizes and values.
#ifndef BB_BENCH_GEMV_GEMV_BENCH_H
#define BB_BENCH_GEMV_GEMV_BENCH_H

#include "bench/bench.h"

/// `choice` of a row: a layout, options, and for a peer on a cuda device its kind (gemv_peer.h).
/// `storage` is in the format of bb_codec_read, NULL for a peer.
enum {
    BB_GEMV_WIDE,   ///< 378 x 256000: a wafer's response at points of a slit
    BB_GEMV_SQUARE, ///< 9728 x 9728, by the same formula
    BB_GEMV_TALL,   ///< 252000 x 384, by the same formula
    BB_GEMV_FRAME,  ///< 4092 x 19078: commands from slopes, random values
    BB_GEMV_TARGET, ///< 5316 x 100368, commands of one target; random values
    BB_GEMV_LAYOUTS,
    BB_GEMV_LAYOUT = 7,
    BB_GEMV_FP32_SUMS = 1 << 3, ///< sums in fp32 on the cpu; default: sums in fp64
    BB_GEMV_EACH = 1 << 4,      ///< every product separately in fp64 on cuda, not in runs of 32
    BB_GEMV_AXES = 1 << 5,      ///< three matrices in one launch on cuda, as in a light step
    BB_GEMV_PEER = 1 << 6,      ///< factor that encodes the kind of a peer on cuda
};

/// Rows, columns, and mesh columns that divide the columns; 0: random values.
typedef struct bb_gemv_sizes {
    bb_index rows, columns, mesh_columns;
} bb_gemv_sizes;

/// Returns the sizes of the row's layout, or of --size with 512, 128 or no mesh columns.
bb_gemv_sizes bb_gemv_sizes_of(const bb_bench_case *self, const bb_bench_setup *setup);

/// Computes a row of C. A response decreases as 1 over the distance from a point that moves along
/// the slit. Random values are those of `bitbudget realtime` for ao: normal numbers, large for
/// commands and slopes at the same position of the pupil.
void bb_gemv_sizes_fill(const bb_gemv_sizes *sizes, bb_index row, double *out);

#endif

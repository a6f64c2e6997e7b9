// SPDX-License-Identifier: Apache-2.0
//
// y = C x on a cuda device: our products by storage, the seed's kernel and cuBLAS's.
#ifndef BB_BENCH_GEMV_CUDA_BENCH_H
#define BB_BENCH_GEMV_CUDA_BENCH_H

#include "bench/bench.h"

/// Rows of the table: storages of ours, then peers.
typedef enum bb_gemv_cuda_row {
    BB_GEMV_CUDA_FP64,
    BB_GEMV_CUDA_FP32,
    BB_GEMV_CUDA_FP32_EACH, ///< the seed's sums: every product by itself in fp64
    BB_GEMV_CUDA_TF32,
    BB_GEMV_CUDA_BF16,
    BB_GEMV_CUDA_FP16,
    BB_GEMV_CUDA_E4M3,
    BB_GEMV_CUDA_E5M2,
    BB_GEMV_CUDA_BFP4,
    BB_GEMV_CUDA_BFP6,
    BB_GEMV_CUDA_BFP8,
    BB_GEMV_CUDA_BFP12,
    BB_GEMV_CUDA_BFP16,
    BB_GEMV_CUDA_QUANTISER,
    BB_GEMV_CUDA_OTHER,     ///< the case's own
    BB_GEMV_CUDA_ZFP,       ///< fixed accuracy at the seed's tolerance, 2-D
    BB_GEMV_CUDA_FP32_AXES, ///< three matrices in one launch, as a light step has
    BB_GEMV_CUDA_E4M3_AXES,
    BB_GEMV_CUDA_BFP8_AXES,
    BB_GEMV_CUDA_BFP4_AXES,
    BB_GEMV_CUDA_ZFP_AXES,
    BB_GEMV_CUDA_FIGURE9,
    BB_GEMV_CUDA_CUBLAS_S,
    BB_GEMV_CUDA_CUBLAS_D,
    BB_GEMV_CUDA_CUBLAS_H,
    BB_GEMV_CUDA_LOW_RANK_TILES,
    BB_GEMV_CUDA_SPLIT_BATCHED,
    BB_GEMV_CUDA_SPLIT_GEMV,
    BB_GEMV_CUDA_ROWS,
} bb_gemv_cuda_row;

/// Measures a bb_gemv_cuda_row; skipped without a cuda device.
BB_CHECKED bb_status bb_gemv_cuda_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                                        bb_bench_outcome *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Products y = C x on a cuda device to hold ours against, and what reading gives there. C is
// row-major and not coded.
#ifndef BB_BENCH_GEMV_GEMV_PEER_H
#define BB_BENCH_GEMV_GEMV_PEER_H

#include "core/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_gemv_peer_kind {
    BB_GEMV_FIGURE9,       ///< Bamakhrama et al. 2019, Figure 9: a block a row, fp32, fp64 sums
    BB_GEMV_CUBLAS_S,      ///< cublasSgemv, transposed: C's rows are its columns
    BB_GEMV_CUBLAS_D,      ///< cublasDgemv, the same
    BB_GEMV_CUBLAS_H,      ///< cublasHSSgemvStridedBatched: fp16 matrix and x, fp32 sums
    BB_GEMV_SPLIT_BATCHED, ///< cublasGemmStridedBatchedEx over 64 runs of columns, added in fp64
    BB_GEMV_READ,          ///< reads C in fp32 and adds it up: the ceiling
} bb_gemv_peer_kind;

typedef struct bb_gemv_peer bb_gemv_peer;

/// Room on the device for a matrix [rows][columns], of the split one with a multiple of 64 columns;
/// x is copied. Errors: BB_MEMORY, BB_DEVICE (also: cuBLAS cannot be loaded).
BB_CHECKED bb_status bb_gemv_peer_create(bb_device *device, bb_gemv_peer_kind kind, bb_index rows,
                                         bb_index columns, const double *x, bb_gemv_peer **out);
void bb_gemv_peer_destroy(bb_gemv_peer **peer);

/// Bytes that a product reads of its matrix.
double bb_gemv_peer_bytes(const bb_gemv_peer *peer);

/// Copies one row, rounded to the peer's format.
BB_CHECKED bb_status bb_gemv_peer_load(bb_gemv_peer *peer, bb_index row, const double *values);

/// Queues `repeats` products and waits: seconds of one, by the device's clock.
BB_CHECKED bb_status bb_gemv_peer_time(bb_gemv_peer *peer, int repeats, double *seconds);

/// y [rows] of the last product, on the host.
BB_CHECKED bb_status bb_gemv_peer_result(bb_gemv_peer *peer, double *y);

#ifdef __cplusplus
}
#endif

#endif

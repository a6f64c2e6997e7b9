// SPDX-License-Identifier: Apache-2.0
//
// Reference products y = C x on a cuda device, and its read rate. C is row-major and not encoded.
#ifndef BB_BENCH_GEMV_GEMV_PEER_H
#define BB_BENCH_GEMV_GEMV_PEER_H

#include "core/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_gemv_peer_kind {
    BB_GEMV_FIGURE9,  ///< Bamakhrama et al. 2019, Figure 9: one block for each row, fp32, fp64 sums
    BB_GEMV_CUBLAS_S, ///< cublasSgemv, transposed: C's rows are its columns
    BB_GEMV_CUBLAS_D, ///< cublasDgemv, transposed
    BB_GEMV_CUBLAS_H, ///< cublasHSSgemvStridedBatched: fp16 matrix and x, fp32 sums
    BB_GEMV_SPLIT_BATCHED, ///< cublasGemmStridedBatchedEx over 64 runs of columns, summed in fp64
    BB_GEMV_READ,          ///< reads C in fp32 and sums it: the ceiling
} bb_gemv_peer_kind;

typedef struct bb_gemv_peer bb_gemv_peer;

/// Allocates a matrix [rows][columns] on the device and copies x. The split product needs a
/// multiple of 64 columns. Errors: BB_MEMORY, BB_DEVICE (also if cuBLAS cannot be loaded).
BB_CHECKED bb_status bb_gemv_peer_create(bb_device *device, bb_gemv_peer_kind kind, bb_index rows,
                                         bb_index columns, const double *x, bb_gemv_peer **out);
void bb_gemv_peer_destroy(bb_gemv_peer **peer);

/// Bytes that a product reads from its matrix.
double bb_gemv_peer_bytes(const bb_gemv_peer *peer);

/// Copies one row, rounded to the peer's format.
BB_CHECKED bb_status bb_gemv_peer_load(bb_gemv_peer *peer, bb_index row, const double *values);

/// Queues `repeats` products and waits; returns the time in s of one product by the device's clock.
BB_CHECKED bb_status bb_gemv_peer_time(bb_gemv_peer *peer, int repeats, double *seconds);

/// Copies y [rows] of the last product to the host.
BB_CHECKED bb_status bb_gemv_peer_result(bb_gemv_peer *peer, double *y);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what a scorer keeps on the device.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_SCORER_CUDA_H
#define BB_SOLVERS_FACTOR_RESIDUAL_SCORER_CUDA_H

#include "core/device/transfer.h"
#include "solvers/factor/residual_scorer.h"
#include "solvers/gpu/dense_library_cuda.h"

struct bb_residual_scorer {
    bb_device *device;
    bb_device_source *cmm;
    const bb_dense_library_cuda *library;
    cublasHandle_t handle;
    cudaStream_t stream;
    bb_transfer *transfer;
    bb_index n, width; ///< width of a panel
};

/// Makes the device the current one.
bb_status bb_residual_scorer_use(const bb_residual_scorer *scorer);

/// `items` values in fp64 from the host into new memory of the device; NULL: room for them alone.
bb_status bb_residual_scorer_put(const bb_residual_scorer *scorer, const double *values,
                                 bb_index items, void **out);

/// `items` values from the device to `out` on the host, behind the scorer's stream.
bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                   bb_index items, double *out);

#endif

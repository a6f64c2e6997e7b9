// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what a scorer keeps on its GPUs, some of which may be one.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_SCORER_CUDA_H
#define BB_SOLVERS_FACTOR_RESIDUAL_SCORER_CUDA_H

#include "core/device/transfer.h"
#include "solvers/factor/residual_scorer.h"
#include "solvers/gpu/dense_library_cuda.h"

struct bb_residual_gpu {
    bb_device *device;
    int ordinal;
    bb_device_source *cmm;
    cublasHandle_t handle;
    cudaStream_t stream; ///< of all its work
    bb_transfer *transfer;
    cudaEvent_t made; ///< its partial sum is made
    cudaEvent_t read; ///< by the first GPU, whose event this is
};

struct bb_residual_scorer {
    const bb_dense_library_cuda *library;
    bb_index n, width; ///< width of a panel
    bb_index count;    ///< of GPUs; results are on the first
    bb_residual_gpu gpus[BB_RESIDUAL_GPUS];
};

/// Makes a GPU the current one.
bb_status bb_residual_scorer_use(const bb_residual_gpu *gpu);

/// Waits for all GPUs and makes the first the current one; a failure of earlier work is returned.
bb_status bb_residual_scorer_wait(const bb_residual_scorer *scorer);

/// `items` values in fp64 from the host into new memory of a GPU; NULL: room for them alone.
BB_CHECKED bb_status bb_residual_scorer_put(const bb_residual_gpu *gpu, const double *values,
                                            bb_index items, void **out);

/// `items` values from the first GPU to `out` on the host, behind its stream.
BB_CHECKED bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                              bb_index items, double *out);

/// C [rows][columns] = A [rows][depth] op(B), without gaps but for what is set after.
bb_dense_product_cuda bb_residual_scorer_product(void *a, void *b, void *c, bb_index rows,
                                                 bb_index columns, bb_index depth, bool transposed);

/// Queues a product on a GPU, the current one.
BB_CHECKED bb_status bb_residual_scorer_queue(const bb_residual_scorer *scorer,
                                              const bb_residual_gpu *gpu,
                                              const bb_dense_product_cuda *product);

/// Columns of Cmm in the panel from `begin` on.
inline bb_index bb_residual_scorer_width(const bb_residual_scorer *scorer, bb_index begin)
{
    return scorer->n - begin < scorer->width ? scorer->n - begin : scorer->width;
}

inline double *bb_residual_scorer_values(void *memory, bb_index item)
{
    return static_cast<double *>(memory) + item;
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: data of a scorer on its GPUs, which need not be different.
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
    cudaStream_t stream; ///< end of all its work
    bb_transfer *transfer;
    cudaEvent_t made; ///< partial sum of the GPU is computed
    cudaEvent_t read; ///< the first GPU has read the partial sum; the event belongs to the first
                      ///< GPU
};

/// A matrix whose panels of columns are cached on the GPUs: Cmm of the scorer, or another one.
struct bb_residual_kept {
    bb_device_source *source; ///< source on the first GPU
    bool lower;               ///< panels start at the diagonal block
    void **panels;            ///< [panels], each on the GPU that multiplies by it
};

enum { BB_RESIDUAL_KEPT = 9 }; ///< Cmm, and right-hand sides of a few targets

struct bb_residual_scorer {
    const bb_dense_library_cuda *library;
    bb_index n, width;                       ///< width of a panel
    bb_index count;                          ///< number of GPUs; results are on the first
    double room;                             ///< bytes left on each GPU for further cached panels
    bb_residual_kept kept[BB_RESIDUAL_KEPT]; ///< the first is Cmm
    int kept_count;                          ///< 0: caching is off
    bb_index rank;                           ///< rank of the low-rank part of Cmm
    void *vectors;                           ///< U C^(1/2) [n][rank] on the first GPU
    const double *seen_by;                   ///< B [q][m] of the previous plain task, on the host
    void *weights;                           ///< that B on the first GPU
    bb_residual_gpu gpus[BB_RESIDUAL_GPUS];
};

/// Makes a GPU current.
bb_status bb_residual_scorer_use(const bb_residual_gpu *gpu);

/// Waits for all GPUs and makes the first one current; returns errors of earlier work.
bb_status bb_residual_scorer_wait(const bb_residual_scorer *scorer);

/// Copies `items` fp64 values from the host into new memory of a GPU; NULL: allocates only.
BB_CHECKED bb_status bb_residual_scorer_upload(const bb_residual_gpu *gpu, const double *values,
                                               bb_index items, void **out);

/// Copies `items` values from the first GPU to `out` on the host, in the order of its stream.
BB_CHECKED bb_status bb_residual_scorer_fetch(const bb_residual_scorer *scorer, const void *source,
                                              bb_index items, double *out);

/// C [rows][columns] = A [rows][depth] op(B), with dense strides unless set afterwards.
bb_dense_product_cuda bb_residual_scorer_product(void *a, void *b, void *c, bb_index rows,
                                                 bb_index columns, bb_index depth, bool transposed);

/// Queues a product on the current GPU.
BB_CHECKED bb_status bb_residual_scorer_queue(const bb_residual_scorer *scorer,
                                              const bb_residual_gpu *gpu,
                                              const bb_dense_product_cuda *product);

/// Copies B of plain tasks to the first GPU, unless the cached one is the same.
BB_CHECKED bb_status bb_residual_scorer_keep_weights(bb_residual_scorer *scorer,
                                                     const double *weights, bb_index items);

/// Cee without Ctt, not symmetric, and the diagonal of a plain task with B, from its `product` on
/// the first GPU.
BB_CHECKED bb_status bb_residual_scorer_see(bb_residual_scorer *scorer,
                                            const bb_residual_task *task, void *product);

/// Number of columns of the panel of Cmm from `begin` on.
inline bb_index bb_residual_scorer_width(const bb_residual_scorer *scorer, bb_index begin)
{
    return scorer->n - begin < scorer->width ? scorer->n - begin : scorer->width;
}

inline double *bb_residual_scorer_values(void *memory, bb_index item)
{
    return static_cast<double *>(memory) + item;
}

/// Panel of columns from `begin` on of a cached matrix on the current GPU, filled on `stream` at
/// first use; NULL: there is no room.
BB_CHECKED bb_status bb_residual_kept_panel(bb_residual_scorer *scorer, bb_residual_kept *kept,
                                            bb_index gpu, bb_index begin, cudaStream_t stream,
                                            void **panel);

/// Frees all cached panels.
void bb_residual_kept_drop(bb_residual_scorer *scorer);

// Sum over panels of columns of Cmm, distributed over the GPUs of a scorer.
//
// The order of the sum fixes the bits, whichever GPU computes it. Panel p belongs to partial sum p
// mod BB_RESIDUAL_PARTIALS, whose panels are added from left to right; partial sums are added in
// order on the first GPU. GPU g of G computes the partial sums g, g + G, ..., so that every cuBLAS
// call has the shape that it has on one GPU. The first partial sum is accumulated in place. The
// first GPU reads the partial sums of the others in place, which needs no memory and, by estimate,
// 3 ms per GB over NVLink. Meanwhile the other GPU waits before its next partial sum; this costs
// nothing, because the first GPU's next one takes as long.

struct bb_residual_partials {
    const bb_residual_scorer *scorer;
    void *blocks[BB_RESIDUAL_GPUS]; ///< [items] on each GPU: the current partial sum
};

/// Allocates partial sums of at most `items` values on all GPUs. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_partials_create(const bb_residual_scorer *scorer, bb_index items,
                                                 bb_residual_partials *out);

/// Call it when no GPU uses the memory any more.
void bb_residual_partials_release(bb_residual_partials *partials);

/// Queues on GPU `gpu`, the current one: target <- beta target + contribution of the panel of
/// columns from `begin` on. With beta 0 the target's old contents are ignored.
typedef bb_status (*bb_residual_panel)(const void *context, bb_index gpu, bb_index begin,
                                       double beta, void *target);

/// Queues the sum over all panels, `items` values, added to `sum` in the memory of the first GPU,
/// in the order of its stream; leaves it current. Waits only if a fill does. Errors: those of
/// `panel`, BB_DEVICE.
BB_CHECKED bb_status bb_residual_partials_add(const bb_residual_partials *partials, bb_index items,
                                              bb_residual_panel panel, const void *context,
                                              void *sum);

#endif

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

/// A matrix of which panels of columns stay on the GPUs: the scorer's Cmm, or one of others.
struct bb_residual_kept {
    bb_device_source *source; ///< on the first GPU
    bool lower;               ///< panels begin with the diagonal block
    void **panels;            ///< [panels], each on the GPU that multiplies by it
};

enum { BB_RESIDUAL_KEPT = 9 }; ///< Cmm, and right-hand sides of a few targets

struct bb_residual_scorer {
    const bb_dense_library_cuda *library;
    bb_index n, width;                       ///< width of a panel
    bb_index count;                          ///< of GPUs; results are on the first
    double room;                             ///< bytes of each GPU for panels still to be kept
    bb_residual_kept kept[BB_RESIDUAL_KEPT]; ///< the first is Cmm
    int kept_count;                          ///< 0: none is kept
    bb_index rank;                           ///< of the part of Cmm beside its source
    void *vectors;                           ///< U C^(1/2) [n][rank] on the first GPU
    const double *seen_by;                   ///< B [q][m] of the plain task before, on the host
    void *weights;                           ///< on the first GPU
    bb_residual_gpu gpus[BB_RESIDUAL_GPUS];
};

/// Makes a GPU the current one.
bb_status bb_residual_scorer_use(const bb_residual_gpu *gpu);

/// Waits for all GPUs and makes the first the current one; a failure of earlier work is returned.
bb_status bb_residual_scorer_wait(const bb_residual_scorer *scorer);

/// `items` values in fp64 from the host into new memory of a GPU; NULL: room for them alone.
BB_CHECKED bb_status bb_residual_scorer_upload(const bb_residual_gpu *gpu, const double *values,
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

/// Copies B of plain tasks to the first GPU unless it is the last one's, which stays there.
BB_CHECKED bb_status bb_residual_scorer_keep_weights(bb_residual_scorer *scorer,
                                                     const double *weights, bb_index items);

/// Cee less Ctt, not symmetric, and the diagonal of a plain task with B, from its `product` on the
/// first GPU.
BB_CHECKED bb_status bb_residual_scorer_see(bb_residual_scorer *scorer,
                                            const bb_residual_task *task, void *product);

/// Columns of Cmm in the panel from `begin` on.
inline bb_index bb_residual_scorer_width(const bb_residual_scorer *scorer, bb_index begin)
{
    return scorer->n - begin < scorer->width ? scorer->n - begin : scorer->width;
}

inline double *bb_residual_scorer_values(void *memory, bb_index item)
{
    return static_cast<double *>(memory) + item;
}

/// The panel of columns from `begin` on of a kept matrix on a GPU, the current one, filled on
/// `stream` the first time; NULL: there is no room.
BB_CHECKED bb_status bb_residual_kept_panel(bb_residual_scorer *scorer, bb_residual_kept *kept,
                                            bb_index gpu, bb_index begin, cudaStream_t stream,
                                            void **panel);

/// Gives back all panels.
void bb_residual_kept_drop(bb_residual_scorer *scorer);

// Sum over panels of columns of Cmm, dealt over the GPUs of a scorer.
//
// The order of the sum fixes the bits, whichever GPU computes it: panel p belongs to partial sum
// p mod BB_RESIDUAL_PARTIALS, whose panels are added from left to right; partial sums are added in
// their order on the first GPU. Of G GPUs, the g-th makes the partial sums g, g + G, ..., so that
// every call of cuBLAS has the shape that it has on one GPU. The first partial sum is made where
// the sum is. The first GPU reads those of the others where they lie, which takes no memory of its
// own and, by count, 3 ms a GB over NVLink; until then the other waits with its next, which is as
// long as the first GPU's and would be waited for anyway.

struct bb_residual_partials {
    const bb_residual_scorer *scorer;
    void *blocks[BB_RESIDUAL_GPUS]; ///< [items] on each GPU: the partial sum in work
};

/// Room for partial sums of `items` values at most, on all GPUs. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_residual_partials_create(const bb_residual_scorer *scorer, bb_index items,
                                                 bb_residual_partials *out);

/// When no GPU uses it any more.
void bb_residual_partials_release(bb_residual_partials *partials);

/// Queues on GPU `gpu`, the current one: target <- beta target + what the panel of columns from
/// `begin` on adds. With beta 0 the target is written whatever it holds.
typedef bb_status (*bb_residual_panel)(const void *context, bb_index gpu, bb_index begin,
                                       double beta, void *target);

/// Queues the sum over all panels, `items` values, on top of what `sum` holds in the memory of the
/// first GPU, in the order of its stream; leaves it the current one. Does not wait but where a fill
/// does. Errors: those of `panel`, BB_DEVICE.
BB_CHECKED bb_status bb_residual_partials_add(const bb_residual_partials *partials, bb_index items,
                                              bb_residual_panel panel, const void *context,
                                              void *sum);

#endif

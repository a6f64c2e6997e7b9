// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: a sum over panels of columns of Cmm, dealt over the GPUs of a scorer.
//
// What fixes the bits is the order of the sum, not who makes it: panel p belongs to partial sum
// p mod BB_RESIDUAL_PARTIALS, whose panels are added from left to right; partial sums are added in
// their order on the first GPU. Of G GPUs, the g-th makes the partial sums g, g + G, ..., so that
// every call of cuBLAS has the shape that it has on one GPU. The first partial sum is made where
// the sum is. The first GPU reads those of the others where they lie, which takes no memory of its
// own and, by count, 3 ms a GB over NVLink; until then the other waits with its next, which is as
// long as the first GPU's and would be waited for anyway.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_PARTIALS_CUDA_H
#define BB_SOLVERS_FACTOR_RESIDUAL_PARTIALS_CUDA_H

#include "solvers/factor/residual_scorer_cuda.h"

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

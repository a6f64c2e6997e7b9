// SPDX-License-Identifier: Apache-2.0
//
// Geometric multigrid for weighted least squares on a grid of points,
//
//     sum over neighbours of w (u_neighbour - u) = f,
//
// cell-centred: a coarse point stands for 2 x 2 fine ones, extents are halved and rounded up, so
// any size will do. A weight of a coarse edge is half the sum of the two fine ones beneath it;
// residuals of children are added; corrections are interpolated bilinearly. V(2,1) with red-black
// Gauss-Seidel. Points without an edge keep what is interpolated.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_GRIDS_H
#define BB_SOLVERS_UNWRAP_UNWRAP_GRIDS_H

#include "solvers/unwrap/unwrap_config.h"
#include "solvers/unwrap/unwrap_step.h"

enum { BB_UNWRAP_LEVELS = 32 };

/// One grid. Of the finest the right-hand side and the weights are gradients' numbers.
typedef struct bb_unwrap_level {
    bb_unwrap_field u, f, wx, wy;
    bb_unwrap_step sweeps[2];                           ///< by colour
    bb_unwrap_step coarsen, restrict_residual, prolong; ///< to and from the next coarser one
} bb_unwrap_level;

typedef struct bb_unwrap_grids {
    bb_kernel_context *context; ///< borrowed
    bb_unwrap_level levels[BB_UNWRAP_LEVELS];
    int count;
} bb_unwrap_grids;

/// Grids of zeros down to at most 2 x 2 points. Errors: BB_MEMORY, those of
/// bb_unwrap_step_create. Owner: the caller, who releases them whatever the status.
BB_CHECKED bb_status bb_unwrap_grids_create(bb_kernel_context *context,
                                            const bb_unwrap_config *config, bb_index columns,
                                            bb_index rows, bb_unwrap_grids *out);
void bb_unwrap_grids_release(bb_unwrap_grids *grids);

/// Makes the weights of coarse grids from those of the finest.
BB_CHECKED bb_status bb_unwrap_grids_coarsen(bb_unwrap_grids *grids);

/// One V-cycle on the finest grid's u.
BB_CHECKED bb_status bb_unwrap_grids_cycle(bb_unwrap_grids *grids);

#endif

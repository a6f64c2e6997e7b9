// SPDX-License-Identifier: Apache-2.0
//
// Geometric multigrid for weighted least squares on a grid of points,
//
//     sum over neighbours of w (u_neighbour - u) = f,
//
// cell-centred: a coarse point represents 2 x 2 fine ones, and extents are halved and rounded up,
// so any size works. The weight of a coarse edge is half the sum of the two fine ones beneath it;
// residuals of children are added; corrections are interpolated bilinearly. V(2,1) with red-black
// Gauss-Seidel. Points without an edge keep the interpolated value. A coarse cell may contain
// points that the mask separates, so plain cycles may diverge; bb_unwrap_grids_precondition is
// definite all the same.
//
// Within a grid the points of each colour are stored contiguously (unwrap_pack.kernel), so that a
// sweep reads and writes neighbouring words.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_GRIDS_H
#define BB_SOLVERS_UNWRAP_UNWRAP_GRIDS_H

#include "solvers/kernels/objects/kernel_sequence.h"
#include "solvers/unwrap/unwrap_config.h"
#include "solvers/unwrap/unwrap_step.h"

enum { BB_UNWRAP_LEVELS = 32, BB_UNWRAP_LEVEL_FIELDS = 10 };
enum { BB_UNWRAP_RED, BB_UNWRAP_BLACK, BB_UNWRAP_COLOURS };

/// One grid; each colour is [rows + 3][columns / 2 + 3] including zero margins: one row or column
/// before, two or more after.
typedef struct bb_unwrap_level {
    bb_unwrap_field u[BB_UNWRAP_COLOURS], f[BB_UNWRAP_COLOURS];
    bb_unwrap_field wx[BB_UNWRAP_COLOURS], wy[BB_UNWRAP_COLOURS];
    bb_unwrap_field plain, framed; ///< solution of a coarse grid, unpacked and with a frame
    bb_unwrap_step sweeps[BB_UNWRAP_COLOURS];
    bb_unwrap_step first_sweep[BB_UNWRAP_COLOURS]; ///< sweep that starts from zero
    /// From the next finer grid to this one, and back.
    bb_unwrap_step coarsen[BB_UNWRAP_COLOURS], restrict_residual[BB_UNWRAP_COLOURS];
    bb_unwrap_step unpack, frame, prolong[BB_UNWRAP_COLOURS], inject[BB_UNWRAP_COLOURS];
} bb_unwrap_level;

typedef struct bb_unwrap_grids {
    bb_kernel_context *context; ///< borrowed
    /// [rows][columns]: solution, right-hand side, weights of the edges to the right and below.
    bb_unwrap_field u, f, wx, wy;
    bb_unwrap_step pack_u, pack_f, pack_wx, pack_wy, unpack;
    bb_unwrap_field correction; ///< [1]
    bb_unwrap_step measure;
    bb_unwrap_level levels[BB_UNWRAP_LEVELS];
    int count;
    bb_kernel_sequence *load, *cycle, *precondition;
} bb_unwrap_grids;

/// Creates zeroed grids down to at most 2 x 2 points. Errors: BB_MEMORY, those of
/// bb_unwrap_step_create and bb_kernel_sequence_create. Owner: the caller, who releases them
/// whatever the status.
BB_CHECKED bb_status bb_unwrap_grids_create(bb_kernel_context *context,
                                            const bb_unwrap_config *config, bb_index columns,
                                            bb_index rows, bb_unwrap_grids *out);
void bb_unwrap_grids_release(bb_unwrap_grids *grids);

/// Lists the fields of a level, including empty ones.
void bb_unwrap_grids_fields(bb_unwrap_level *grid, bb_unwrap_field *out[BB_UNWRAP_LEVEL_FIELDS]);

/// Makes the next cycle start from zero.
BB_CHECKED bb_status bb_unwrap_grids_clear(bb_unwrap_grids *grids);

/// Packs right-hand side and weights, and computes the weights of coarse grids.
BB_CHECKED bb_status bb_unwrap_grids_load(bb_unwrap_grids *grids);

/// Runs one V-cycle.
BB_CHECKED bb_status bb_unwrap_grids_cycle(bb_unwrap_grids *grids);

/// Queues the maximum over the last correction from the second coarse grid [rad], into
/// `correction`; does nothing without coarse grids.
BB_CHECKED bb_status bb_unwrap_grids_measure(bb_unwrap_grids *grids);

/// Reads that maximum; INFINITY without coarse grids. Waits for the device.
BB_CHECKED bb_status bb_unwrap_grids_correction(bb_unwrap_grids *grids, double *out);

/// Unpacks the result of the cycles into the solution.
BB_CHECKED bb_status bb_unwrap_grids_store(bb_unwrap_grids *grids);

/// Makes the next cycle start from the solution.
BB_CHECKED bb_status bb_unwrap_grids_restore(bb_unwrap_grids *grids);

/// Overwrites the solution with B f, f the right-hand side: one symmetric V(2,2) cycle from zero
/// with piecewise constant corrections, so that B is symmetric and definite for any mask and
/// weights. Values are rounded to their formats if bb_unwrap_config_supports_cg.
BB_CHECKED bb_status bb_unwrap_grids_precondition(bb_unwrap_grids *grids);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients for the weighted least squares of unwrap_grids.h, preconditioned by its
// symmetric cycle (bb_unwrap_grids_precondition), for masks and weights on which plain cycles do
// not contract: parts that meet in narrow joints, cuts along which weights vanish. Each direction
// is made conjugate to the one before by its own product (Notay 2000, SIAM J. Sci. Comput. 22(4),
// FCG(1)), since a cycle in few bits is not quite linear.
//
// With A the operator, r = f - A u and B the cycle, r B r estimates the square of the energy norm
// of the error, the sum over edges of w (error of the difference)^2 in rad^2. It misses errors
// along corridors, which B hardly sees, and the norm of a map may be large beside such an error. A
// descent ends if r B r is a small part of the solution's energy and unwrap_bound.h bounds the
// error of every difference by half a radian.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_DESCENT_H
#define BB_SOLVERS_UNWRAP_UNWRAP_DESCENT_H

#include "solvers/unwrap/unwrap_bound.h"
#include "solvers/unwrap/unwrap_grids.h"

/// Most steps of a descent; it ends before, too, where 100 in turn hardly lower the bound of the
/// error.
#define BB_UNWRAP_DESCENT_STEPS 2000

/// An inner product of two grids: by rows, then of all rows.
typedef struct bb_unwrap_inner {
    bb_unwrap_step rows, total;
} bb_unwrap_inner;

typedef struct bb_unwrap_descent {
    bb_unwrap_grids *grids;                 ///< borrowed; NULL: not created
    bb_unwrap_field u, p, q;                ///< [rows][columns]: solution, direction, A p
    bb_unwrap_field products;               ///< [rows]
    bb_unwrap_field one, zq, pq, pr;        ///< [1]
    bb_unwrap_step start, image, finish;    ///< grids' u to u, q = A u, u to grids' u
    bb_unwrap_step take_off;                ///< f -= q
    bb_unwrap_step turn, product;           ///< next p, q = A p
    bb_unwrap_step advance, reduce;         ///< u += p, f -= q, times pr / pq
    bb_unwrap_inner with_z, with_u, with_p; ///< of q
    bb_unwrap_inner slope, residual;        ///< of f with p and z
    bb_device_graph *step;                  ///< NULL before its first use
    bb_unwrap_bound bound;                  ///< of the error, by the residual in f
    bool has_old_trees;                     ///< in `bound`, of weights before
    void *words[2];                         ///< [rows][columns] of a field, on the host
} bb_unwrap_descent;

/// Fields and steps over `grids`, whose mask has `parts`, both borrowed. Errors: BB_MEMORY, those
/// of bb_unwrap_step_create. Owner: the caller, who releases it whatever the status.
BB_CHECKED bb_status bb_unwrap_descent_create(bb_unwrap_grids *grids, const bb_unwrap_parts *parts,
                                              const bb_unwrap_config *config,
                                              bb_unwrap_descent *out);
void bb_unwrap_descent_release(bb_unwrap_descent *descent);

/// Solves into `u`, from the solution of grids whose weights are loaded, until the error has 1e-5
/// of the solution's energy norm, or 100 steps passed, and is bounded by 0.5 rad: then it has
/// `reached` it. `divergence` makes the right-hand side, without rounding. Overwrites solution and
/// right-hand side of the grids. Adds to `steps`. Waits for the device. Errors: those of
/// bb_kernel_launch_queue, BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_descent_solve(bb_unwrap_descent *descent,
                                             const bb_unwrap_step *divergence, bb_index *steps,
                                             bool *reached);

/// The same into the solution of the grids, from which the next cycle starts. `converged`: reached,
/// and the residual computed anew has at most 1e-3 of that norm. Errors: likewise.
BB_CHECKED bb_status bb_unwrap_descent_run(bb_unwrap_descent *descent,
                                           const bb_unwrap_step *divergence, bb_index *steps,
                                           bool *converged);

#endif

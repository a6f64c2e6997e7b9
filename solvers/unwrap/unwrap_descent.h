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
// descent ends if r B r is a small part of the solution's energy and bb_unwrap_bound_error bounds
// the error of every difference by half a radian.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_DESCENT_H
#define BB_SOLVERS_UNWRAP_UNWRAP_DESCENT_H

#include "solvers/unwrap/unwrap_grids.h"
#include "solvers/unwrap/unwrap_parts.h"

// Bound of the error of weighted least squares from its residual, along a spanning tree.
//
// With L the weighted Laplacian of the points, e the error and L e = r, Thomson's principle bounds
// the energy e L e = sum over edges of w (e_p - e_q)^2 by the sum of j^2 / w for any flow j with
// divergence r (Doyle and Snell 1984, Random Walks and Electric Networks). On a spanning
// tree the flow is unique: the sum of r over the points beyond an edge. By the Cauchy-Schwarz
// inequality along paths of the tree, with R the sum of 1 / w,
//
//     (e_p - e_q)^2 <= R(p, q) sum j^2 / w,
//
// for any mask and any weights, also where r B r of conjugate gradients does not show an error.
//
// The tree prefers large weights (Kruskal's algorithm, by the exponent of the weight), and bounds
// errors with other weights, too. Its points are listed depth first, so that a flow is a difference
// of two sums along the list. On open maps the bound is tens to hundreds of times the energy.

enum { BB_UNWRAP_RANGES = 256 }; ///< of places that threads share, at most

typedef struct bb_unwrap_bound {
    const bb_unwrap_parts *parts; ///< borrowed
    bool is_double;               ///< words of weights and residuals are fp64, else fp32
    int32_t *order;               ///< [point_count] points, tree by tree, depth first
    int32_t
        *ends; ///< [rows][columns], as scratch; first: place after the last point of its subtree
    int32_t *parents;   ///< [point_count] place of the parent; a root's own
    float *resistances; ///< [point_count] 1 / w of the edge to the parent; 0 of roots
    double *sums;       ///< [point_count + 1] scratch
    bb_index grain;     ///< places of a range
    double energies[BB_UNWRAP_RANGES]; ///< of ranges; scratch
    double widest; ///< largest R between points of a tree, but for a few points; 0: no tree yet
} bb_unwrap_bound;

/// Memory for trees of a mask. Errors: BB_MEMORY. Owner: the caller, who releases it whatever the
/// status.
BB_CHECKED bb_status bb_unwrap_bound_create(const bb_unwrap_parts *parts, bool is_double,
                                            bb_unwrap_bound *out);
void bb_unwrap_bound_release(bb_unwrap_bound *bound);

/// Trees for the weights of the edges to the right and below, words [rows][columns], 0 where there
/// is no edge: that parts the points. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_bound_build(bb_unwrap_bound *bound, const void *wx, const void *wy);

/// The same trees with other weights: their bounds hold, too. Errors: none of its own.
BB_CHECKED bb_status bb_unwrap_bound_measure(bb_unwrap_bound *bound, const void *wx,
                                             const void *wy);

/// Removes the mean of the residual, words [rows][columns], over each tree, which least squares
/// ignore, and bounds (e_p - e_q)^2, in rad^2, of all points but one in a thousand. Errors: none of
/// its own.
BB_CHECKED bb_status bb_unwrap_bound_error(bb_unwrap_bound *bound, void *residual, double *error);

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

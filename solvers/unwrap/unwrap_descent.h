// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients for the weighted least squares of unwrap_grids.h, preconditioned by its
// symmetric cycle (bb_unwrap_grids_precondition), for masks and weights on which plain V-cycles do
// not contract: parts joined by narrow passages, cuts along which weights vanish. Each direction is
// explicitly made conjugate to the previous one (Notay 2000, SIAM J. Sci. Comput. 22(4), FCG(1)),
// because a cycle in a narrow format is not exactly linear.
//
// With A the operator, r = f - A u and B the cycle, r B r estimates the squared energy norm of the
// error, the sum over edges of w (error of the difference)^2 in rad^2. It misses errors along
// corridors, which B hardly reduces, and the norm of the map may be large compared with such an
// error. The iteration therefore stops only when r B r is a small part of the solution's energy and
// bb_unwrap_bound_error bounds the error of every difference by half a radian.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_DESCENT_H
#define BB_SOLVERS_UNWRAP_UNWRAP_DESCENT_H

#include "solvers/unwrap/unwrap_grids.h"
#include "solvers/unwrap/unwrap_parts.h"

// Bound of the error of weighted least squares from its residual, along a spanning tree.
//
// With L the weighted Laplacian of the points, e the error and L e = r, Thomson's principle bounds
// the energy e L e = sum over edges of w (e_p - e_q)^2 by the sum of j^2 / w for any flow j with
// divergence r (Doyle and Snell 1984, Random Walks and Electric Networks). On a spanning tree the
// flow is unique: the sum of r over the points beyond an edge. By the Cauchy-Schwarz inequality
// along paths of the tree, with R the sum of 1 / w,
//
//     (e_p - e_q)^2 <= R(p, q) sum j^2 / w,
//
// for any mask and any weights, also where r B r of conjugate gradients does not show an error.
//
// The tree prefers large weights (Kruskal's algorithm, by the exponent of the weight), and bounds
// errors with other weights, too. Its points are listed depth first, so that a flow is the
// difference of two prefix sums. On open maps the bound is tens to hundreds of times the energy.

enum { BB_UNWRAP_RANGES = 256 }; ///< largest number of ranges shared by threads

typedef struct bb_unwrap_bound {
    const bb_unwrap_parts *parts; ///< borrowed
    bool is_double;               ///< true: words of weights and residuals are fp64, else fp32
    int32_t *order;               ///< [point_count] points, tree by tree, in depth-first order
    /// [rows][columns], also scratch; first: place after the last point of its subtree
    int32_t *ends;
    int32_t *parents;   ///< [point_count] place of the parent; of itself for a root
    float *resistances; ///< [point_count] 1 / w of the edge to the parent; 0 for roots
    double *sums;       ///< [point_count + 1] scratch
    bb_index grain;     ///< places per range
    double energies[BB_UNWRAP_RANGES]; ///< energies per range; scratch
    double widest; ///< largest R between points of a tree, apart from a few points; 0: no tree yet
} bb_unwrap_bound;

/// Allocates trees for a mask. Errors: BB_MEMORY. Owner: the caller, who releases it whatever the
/// status.
BB_CHECKED bb_status bb_unwrap_bound_create(const bb_unwrap_parts *parts, bool is_double,
                                            bb_unwrap_bound *out);
void bb_unwrap_bound_release(bb_unwrap_bound *bound);

/// Builds trees for the weights of the edges to the right and below, words [rows][columns]. Weight
/// 0 means no edge and separates the points. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_bound_build(bb_unwrap_bound *bound, const void *wx, const void *wy);

/// Computes resistances of the same trees for other weights; the bound remains valid. Errors: none
/// of its own.
BB_CHECKED bb_status bb_unwrap_bound_measure(bb_unwrap_bound *bound, const void *wx,
                                             const void *wy);

/// Removes the mean of the residual, words [rows][columns], over each tree, which least squares
/// ignore. Bounds (e_p - e_q)^2 in rad^2 for all points but one in a thousand. Errors: none of its
/// own.
BB_CHECKED bb_status bb_unwrap_bound_error(bb_unwrap_bound *bound, void *residual, double *error);

/// Largest number of steps; the iteration also stops if 100 successive steps hardly lower the error
/// bound.
#define BB_UNWRAP_DESCENT_STEPS 2000

/// An inner product of two grids: sums over rows, then over all rows.
typedef struct bb_unwrap_inner {
    bb_unwrap_step rows, total;
} bb_unwrap_inner;

typedef struct bb_unwrap_descent {
    bb_unwrap_grids *grids;              ///< borrowed; NULL: not created
    bb_unwrap_field u, p, q;             ///< [rows][columns]: solution, direction, A p
    bb_unwrap_field products;            ///< [rows]
    bb_unwrap_field one, zq, pq, pr;     ///< [1]
    bb_unwrap_step start, image, finish; ///< copy u of the grids to u, q = A u, copy u to the grids
    bb_unwrap_step take_off;             ///< f -= q
    bb_unwrap_step turn, product;        ///< next p, q = A p
    bb_unwrap_step advance, reduce;      ///< u += p, f -= q, times pr / pq
    bb_unwrap_inner with_z, with_u, with_p; ///< inner products of q with z, u and p
    bb_unwrap_inner slope, residual;        ///< inner products of f with p and z
    bb_device_graph *step;                  ///< NULL before its first use
    bb_unwrap_bound bound;                  ///< bound of the error, from the residual in f
    bool has_old_trees;                     ///< `bound` has trees of earlier weights
    void *words[2];                         ///< [rows][columns] of a field, in host memory
} bb_unwrap_descent;

/// Creates fields and steps over `grids`, whose mask has `parts`, both borrowed. Errors: BB_MEMORY,
/// those of bb_unwrap_step_create. Owner: the caller, who releases it whatever the status.
BB_CHECKED bb_status bb_unwrap_descent_create(bb_unwrap_grids *grids, const bb_unwrap_parts *parts,
                                              const bb_unwrap_config *config,
                                              bb_unwrap_descent *out);
void bb_unwrap_descent_release(bb_unwrap_descent *descent);

/// Solves into `u`, starting from the solution of grids whose weights are loaded. Stops when the
/// error is below 1e-5 of the solution's energy norm, or after 100 steps, and is bounded by 0.5
/// rad; `reached` is then true. `divergence` computes the right-hand side, without rounding.
/// Overwrites solution and right-hand side of the grids. Adds to `steps`. Waits for the device.
/// Errors: from bb_kernel_launch_queue, BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_descent_solve(bb_unwrap_descent *descent,
                                             const bb_unwrap_step *divergence, bb_index *steps,
                                             bool *reached);

/// Solves into the solution of the grids, from which the next cycle starts. `converged`: the bound
/// was reached, and the recomputed residual is at most 1e-3 of that norm. Errors: as for the
/// function above.
BB_CHECKED bb_status bb_unwrap_descent_run(bb_unwrap_descent *descent,
                                           const bb_unwrap_step *divergence, bb_index *steps,
                                           bool *converged);

#endif

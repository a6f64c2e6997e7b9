// SPDX-License-Identifier: Apache-2.0
//
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
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_BOUND_H
#define BB_SOLVERS_UNWRAP_UNWRAP_BOUND_H

#include "solvers/unwrap/unwrap_parts.h"

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

#endif

// SPDX-License-Identifier: Apache-2.0
//
// How far an unwrapped phase can be trusted, from the edges (pairs of neighbours) of the last run.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_QUALITY_H
#define BB_SOLVERS_UNWRAP_UNWRAP_QUALITY_H

#include "solvers/unwrap/unwrap.h"

/// A wrapped difference beyond it is steep: noise, or a little more slope, folds it to the other
/// sign. 0.8 pi, in rad.
#define BB_UNWRAP_STEEP 2.5132741228718345

enum { BB_UNWRAP_REGION = 16 };

/// What neither residues nor rejection decide.
typedef struct bb_unwrap_doubt {
    /// Edges that were kept although their wrapped difference is steep, over all edges. A slope
    /// beyond half a cycle a point folds without a residue, and its neighbours agree with it; NaN
    /// where there is no edge.
    double steep_share;
    /// Points of regions joined by kept edges, of BB_UNWRAP_REGION points or more, that are not the
    /// largest of their part, over all points: the cycle between the two hangs on edges that were
    /// rejected. Smaller ones are noise, which the points around them set.
    double hanging_share;
} bb_unwrap_doubt;

/// The quality of each point after a run: the mean over its edges within the mask of the weight
/// that the last least squares gave them, over the full weight of 1. That least squares is the last
/// reweighting's, in which an edge has b d / (d + |r|) (unwrap.h, step 3): 1 where an edge was kept
/// and the solution follows it, at most 0.5 where it was rejected, near 0 where the solution left
/// it. Without reweighting a kept edge has 1 and a rejected one 0.001. `quality` [rows][columns] is
/// in 0..1, NaN outside the mask, 0 at a point without an edge. Errors: BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_quality_map(bb_unwrap *unwrap, double *quality);

/// What of the last run is in doubt. Without rejection every edge is kept. Errors: BB_DEVICE,
/// BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_quality_reliability(bb_unwrap *unwrap, bb_unwrap_doubt *out);

/// What either takes beside its arguments.
bb_need bb_unwrap_quality_need(bb_index columns, bb_index rows);

#endif

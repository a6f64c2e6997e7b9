// SPDX-License-Identifier: Apache-2.0
//
// Reliability of an unwrapped phase, from the edges (pairs of neighbours) of the last run.
#ifndef BB_SOLVERS_UNWRAP_UNWRAP_QUALITY_H
#define BB_SOLVERS_UNWRAP_UNWRAP_QUALITY_H

#include "solvers/unwrap/unwrap.h"

/// Wrapped differences above this value [rad] are steep: noise, or slightly more slope, changes
/// their sign. 0.8 pi.
#define BB_UNWRAP_STEEP 2.5132741228718345

enum { BB_UNWRAP_REGION = 16 };

/// Doubts that neither residues nor rejection detect.
typedef struct bb_unwrap_doubt {
    /// Share of accepted edges with a steep wrapped difference, among all edges. A slope above half
    /// a cycle per point wraps without a residue, and its neighbours agree with it. NaN if there is
    /// no edge.
    double steep_share;
    /// Share of points in regions of BB_UNWRAP_REGION or more points, joined by accepted edges,
    /// other than the largest of their part. Only rejected edges determine the cycle between such a
    /// region and the largest one. Smaller regions are noise and are set from the points around
    /// them.
    double hanging_share;
} bb_unwrap_doubt;

/// Quality of each point after a run: mean weight of its edges within the mask in the last
/// least-squares solve, relative to the full weight of 1. With reweighting (unwrap.h, step 3) the
/// weight is b d / (d + |r|): 1 if an edge was accepted and the solution follows it, at most 0.5 if
/// it was rejected, nearly 0 if the solution deviates from it. Without reweighting an accepted edge
/// has weight 1 and a rejected one 0.001. `quality` [rows][columns] is in 0..1, NaN outside the
/// mask, 0 at a point without an edge. Errors: BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_quality_map(bb_unwrap *unwrap, double *quality);

/// Determines the doubts of the last run. Without rejection every edge counts as accepted. Errors:
/// BB_DEVICE, BB_MEMORY.
BB_CHECKED bb_status bb_unwrap_quality_reliability(bb_unwrap *unwrap, bb_unwrap_doubt *out);

/// Cost of either function, without its arguments.
bb_need bb_unwrap_quality_need(bb_index columns, bb_index rows);

#endif

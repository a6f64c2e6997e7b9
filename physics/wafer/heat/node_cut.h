// SPDX-License-Identifier: Apache-2.0
//
// The part of a node's own area that lies under a rectangle: the quarters of its live cells, cut.
#ifndef BB_PHYSICS_WAFER_HEAT_NODE_CUT_H
#define BB_PHYSICS_WAFER_HEAT_NODE_CUT_H

#include "physics/wafer/disc_mesh.h"

/// A rectangle, m.
typedef struct bb_box {
    double x0, x1, y0, y1;
} bb_box;

/// Covered strip below or above a node: `width` across, y from `low` to `high` above the node, m.
typedef struct bb_node_cut {
    double width; ///< 0 where nothing is covered
    double low;
    double high;
    double middle; ///< x of the strip's middle on the wafer
} bb_node_cut;

/// Live quarters on one side (0 below, 1 above) of a node, cut by the box.
bb_node_cut bb_node_cut_of(const bb_disc_mesh *mesh, const bb_box *box, bb_index node, int side);

/// First and last column (or row) of `count` grid nodes whose own area may meet [low, high].
void bb_node_cut_range(double low, double high, double origin, double spacing, bb_index count,
                       bb_index range[2]);

/// Most nodes whose own area a box of this size meets.
bb_index bb_node_cut_most(const bb_disc_mesh *mesh, double width, double height);

#endif

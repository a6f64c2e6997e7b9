// SPDX-License-Identifier: Apache-2.0
//
// Geometric nested dissection of a mesh's nodes: rectangles of the grid are halved along their
// longer side by one line of nodes, which is ordered after both halves. Fill grows as n log n.
#ifndef BB_PHYSICS_WAFER_RESPONSE_DISSECTION_H
#define BB_PHYSICS_WAFER_RESPONSE_DISSECTION_H

#include "physics/wafer/disc_mesh.h"

/// order [node_count]: nodes in the order of elimination. Rectangles of at most `leaf` >= 2 nodes a
/// side are taken as they come. For meshes that are not periodic.
void bb_dissection_order(const bb_disc_mesh *mesh, bb_index leaf, int32_t *order);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The ring of the table around the wafer, heated by partial fields: a layer of its own material on
// the square cells that extend the wafer's grid to its radius,
//     C_r dT_r/dt = d_r k_r lap T_r - h_w T_r + q_r,     C_r = (rho c)_r d_r,
// insulated at its outer edge, in temperature rises above the water. Dose outside the wafer and on
// the ring heats the ring; dose outside both is still clipped.
//
// Wafer and ring meet at the staircase of the mesh. A node there belongs to both, and its two
// temperatures exchange through h_gap d l, with d the wafer's thickness and l the node's share of
// the edge. The staircase is longer than the circle (4 / pi on a fine mesh): l is scaled by one
// factor so that the whole edge is 2 pi R.
//
// Limits: the gap has no width; the ring and the clamp are coupled through the water only.
#ifndef BB_PHYSICS_WAFER_HEAT_EDGE_RING_H
#define BB_PHYSICS_WAFER_HEAT_EDGE_RING_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/wafer_config.h"

/// Wafer and ring at one node of the edge.
typedef struct bb_ring_contact {
    int32_t wafer_node;
    int32_t ring_node;
    double conductance; ///< W/K
} bb_ring_contact;

/// Read-only to users.
typedef struct bb_edge_ring {
    bb_disc_mesh *mesh;    ///< mesh of the ring
    double areal_capacity; ///< C_r, J/(m2 K)
    double conductance;    ///< d_r k_r, W/K
    double water;          ///< h_w, W/(m2 K)
    bb_index contact_count;
    bb_ring_contact *contacts; ///< [contact_count], ascending ring nodes; none without exchange
} bb_edge_ring;

/// Returns whether the configuration has a ring; false for NULL.
bool bb_edge_ring_wanted(const bb_ring_config *config);

/// Creates the ring around `wafer`, a disc of bb_disc_mesh_create. Errors: BB_INVALID (no cell in
/// the ring), BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_edge_ring_create(const bb_disc_mesh *wafer,
                                         const bb_wafer_material_config *material,
                                         const bb_ring_config *config, bb_edge_ring **out);
void bb_edge_ring_destroy(bb_edge_ring **ring);

#endif

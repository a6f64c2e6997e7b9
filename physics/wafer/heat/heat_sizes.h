// SPDX-License-Identifier: Apache-2.0
//
// Number of unknowns of the thermal model without a mesh: nodes of wafer, ring and clamp are
// counted row by row with the criterion for cells, so that plans of any size are exact.
#ifndef BB_PHYSICS_WAFER_HEAT_HEAT_SIZES_H
#define BB_PHYSICS_WAFER_HEAT_HEAT_SIZES_H

#include "physics/wafer/wafer_config.h"

typedef struct bb_heat_sizes {
    double nodes; ///< nodes of the wafer, bb_disc_mesh_create
    double ring;  ///< nodes of the ring around it, bb_disc_mesh_around; 0: none
    double clamp; ///< nodes of the clamp, bb_clamp_grid_create
} bb_heat_sizes;

/// Counts the nodes: exactly for meshes that can be created, in a time proportional to the rows of
/// the mesh, without memory. `ring` may be NULL.
bb_heat_sizes bb_heat_sizes_of(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                               const bb_clamp_config *clamp, const bb_ring_config *ring);

#endif

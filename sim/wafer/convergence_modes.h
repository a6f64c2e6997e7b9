// SPDX-License-Identifier: Apache-2.0
//
// Convergence of the heat against decays that are known in closed form (wafer_convergence.h).
#ifndef BB_SIM_WAFER_CONVERGENCE_MODES_H
#define BB_SIM_WAFER_CONVERGENCE_MODES_H

#include "physics/wafer/wafer_config.h"
#include "sim/wafer/convergence_table.h"

/// Coarsest of four spacings that halve: four times the mesh's, or what clamp and ring (NULL: none)
/// still allow, mm.
double bb_convergence_modes_coarsest(const bb_mesh_config *mesh, const bb_clamp_config *clamp,
                                     const bb_ring_config *ring);

/// Adds the studies `cosine` and `mode`; their errors are relative. Errors: BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_convergence_modes(const bb_wafer_material_config *wafer,
                                          const bb_clamp_config *clamp, const bb_mesh_config *mesh,
                                          bb_convergence_table *table);

#endif

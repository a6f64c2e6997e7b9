// SPDX-License-Identifier: Apache-2.0
//
// Individual burls: stiffness of the springs under each cell of a mesh, relative to their mean.
//
// Burls form a square lattice of pitch p with one at the centre of the wafer. Burl (i, j) has the
// stiffness k_b = b_ij k_s p^2 tangentially and b_ij k_n p^2 normally, spread evenly over the
// square of side f (its footprint) around it, because a point spring under a Q1 membrane has a
// mesh-dependent compliance. A cell uses the mean over its area:
//     factor = sum_ij b_ij p^2 / (f^2 h^2) |footprint_ij n cell|
// b_ij is uniform in 1 - scatter .. 1 + scatter, and 0 for a missing burl; it depends on seed, i
// and j only.
//
// Limits: a footprint smaller than a cell acts as if it filled the cells that it touches.
#ifndef BB_PHYSICS_WAFER_HEAT_BURL_MAP_H
#define BB_PHYSICS_WAFER_HEAT_BURL_MAP_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/wafer_config.h"

/// Returns whether the configuration has burls; otherwise springs are uniform.
bool bb_burl_map_wanted(const bb_burl_config *config);

/// Returns the stiffness of burl (i, j) relative to the mean, ignoring config->missing: 0 if it is
/// missing at random.
double bb_burl_map_stiffness(const bb_burl_config *config, bb_index i, bb_index j);

/// Computes the factors into `factor` [mesh->cell_count]. Errors: BB_INVALID (no footprint, or one
/// larger than the pitch), BB_MEMORY.
BB_CHECKED bb_status bb_burl_map_fill(const bb_burl_config *config, const bb_disc_mesh *mesh,
                                      double *factor);

#endif

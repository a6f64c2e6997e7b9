// SPDX-License-Identifier: Apache-2.0
//
// Burls one by one: how stiff the springs under each cell of a mesh are, over their mean.
//
// Burls stand on a square lattice of pitch p with one in the middle of the wafer. Burl (i, j) has
// the stiffness k_b = b_ij k_s p^2 tangentially and b_ij k_n p^2 normally, spread evenly over the
// square of side f (its footprint) around it, because a point spring under a Q1 membrane has a
// compliance that depends on the mesh. A cell takes the mean over its area:
//     factor = sum_ij b_ij p^2 / (f^2 h^2) |footprint_ij n cell|
// b_ij is uniform in 1 - scatter .. 1 + scatter, and 0 where the burl is missing; it depends on
// seed, i and j alone.
//
// Limits: a footprint under the side of a cell acts as if it filled the cells that it touches.
#ifndef BB_PHYSICS_WAFER_HEAT_BURL_MAP_H
#define BB_PHYSICS_WAFER_HEAT_BURL_MAP_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/wafer_config.h"

/// True when the configuration has burls; else springs are uniform.
bool bb_burl_map_wanted(const bb_burl_config *config);

/// Stiffness of burl (i, j) over the mean, without config->missing: 0 where it is missing by
/// chance.
double bb_burl_map_stiffness(const bb_burl_config *config, bb_index i, bb_index j);

/// Factors into `factor` [mesh->cell_count]. Errors: BB_INVALID (no footprint, or one over the
/// pitch), BB_MEMORY.
BB_CHECKED bb_status bb_burl_map_fill(const bb_burl_config *config, const bb_disc_mesh *mesh,
                                      double *factor);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Coarse grid of the clamp under a wafer mesh: the cells that overlap a wafer cell, their nodes,
// and the bilinear prolongation from coarse nodes to wafer nodes.
#ifndef BB_PHYSICS_WAFER_HEAT_CLAMP_GRID_H
#define BB_PHYSICS_WAFER_HEAT_CLAMP_GRID_H

#include "core/csr.h"
#include "physics/wafer/disc_mesh.h"

/// Read-only to users.
typedef struct bb_clamp_grid {
    double spacing;  ///< m
    double origin_x; ///< lower left corner of the whole grid, m
    double origin_y;
    bb_index columns; ///< cells of the whole grid
    bb_index rows;
    int32_t *cell_at; ///< [rows][columns] 1 + cell, 0 if there is none
    bb_index cell_count;
    bb_index node_count;
    int32_t *cell_nodes; ///< [cell_count][4], counter-clockwise from the lower left
    double *node_area;   ///< [node_count] a quarter of each whole cell at the node, m2
    bb_csr prolongation; ///< P, [mesh nodes][node_count]: 1, 2 or 4 entries per row, summing to 1
} bb_clamp_grid;

/// Creates the grid. Errors: BB_INVALID (spacing smaller than the mesh's, periodic mesh),
/// BB_MEMORY.
BB_CHECKED bb_status bb_clamp_grid_create(const bb_disc_mesh *mesh, double spacing,
                                          bb_clamp_grid **out);

/// Memory and time of creating it under a mesh with that many nodes, and of the result alone;
/// `ratio` of its spacing to the mesh's.
bb_need bb_clamp_grid_need(double nodes, double ratio);
bb_need bb_clamp_grid_resident(double nodes, double ratio);

/// Counts the pairs of a mesh node and a coarse node used in its interpolation.
double bb_clamp_grid_pairs(double nodes, double ratio);

/// Computes the nodes and bilinear weights of a point over the wafer, m; `false` outside the cells.
bool bb_clamp_grid_weights(const bb_clamp_grid *grid, double x, double y, bb_index node[4],
                           double weight[4]);
void bb_clamp_grid_destroy(bb_clamp_grid **grid);

#endif

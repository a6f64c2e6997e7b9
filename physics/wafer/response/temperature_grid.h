// SPDX-License-Identifier: Apache-2.0
//
// Temperature grid S of the response matrix: columns x rows equal cells over the square that bounds
// the wafer mesh, and the restriction S = W T from wafer nodes to cell means.
//
// Restriction: each node owns the quarters of its live mesh cells; W_ji = (area of node i's
// quarters in cell j) / A_j with the live area A_j = their sum. So S_j is the mean temperature of
// the live part of the cell, rows sum to 1, and sum_j A_j S_j = sum_i m_i T_i: heat is conserved.
// Cells without live area are masked: their rows are empty and S is 0 there.
#ifndef BB_PHYSICS_WAFER_RESPONSE_TEMPERATURE_GRID_H
#define BB_PHYSICS_WAFER_RESPONSE_TEMPERATURE_GRID_H

#include "core/csr.h"
#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/wafer_config.h"

/// Read-only to users. Cell j = row * columns + column, x fastest; its lower left corner is at
/// origin + (column * cell_width, row * cell_height).
typedef struct bb_temperature_grid {
    bb_index columns;
    bb_index rows;
    bb_index cell_count; ///< columns * rows
    bb_index live_count; ///< cells with live area
    double origin_x;     ///< m
    double origin_y;
    double cell_width;
    double cell_height;
    double *area;         ///< [cell_count] live area A_j, m2; 0 if masked
    bb_index *live_begin; ///< [rows] first live column of a row
    bb_index *live_end;   ///< [rows] one past its last live column; begin == end: none
    bb_csr restriction;   ///< W, [cell_count][mesh nodes]
} bb_temperature_grid;

/// Creates the grid. Errors: BB_INVALID (periodic mesh, fewer than 2 x 2 cells), BB_MEMORY.
BB_CHECKED bb_status bb_temperature_grid_create(const bb_disc_mesh *mesh,
                                                const bb_grid_config *config,
                                                bb_temperature_grid **out);

/// Computes bilinear weights of the centres of the live cells around (x, y), m; the weights of
/// other cells are 0. Returns their sum: 0 without a live cell.
double bb_temperature_grid_weights(const bb_temperature_grid *grid, double x, double y,
                                   bb_index cell[4], double weight[4]);

/// Nodal rows are gathered in batches of this size.
enum { BB_GRID_BATCH = 32 };

/// A batch of response rows by cell from rows by node: sum[p] = A_j sum_i W_ji nodal[i][p] / m_i
/// for live cell j = `cell`; node_area m_i and nodal [nodes][BB_GRID_BATCH] are of the grid's mesh.
void bb_temperature_grid_gather(const bb_temperature_grid *grid, bb_index cell,
                                const double *node_area, const double *nodal,
                                double sum[BB_GRID_BATCH]);

/// Memory and time over a mesh with that many nodes and a spacing, during creation and afterwards.
bb_need bb_temperature_grid_need(const bb_grid_config *config, double nodes, double spacing,
                                 double radius);
bb_need bb_temperature_grid_resident(const bb_grid_config *config, double nodes, double spacing,
                                     double radius);

void bb_temperature_grid_destroy(bb_temperature_grid **grid);

#endif

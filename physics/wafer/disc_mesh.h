// SPDX-License-Identifier: Apache-2.0
//
// Mesh of square Q1 cells for wafer physics: the full cells of a square grid whose centre is within
// the radius (a staircase disc), or a whole rectangle, or a periodic one for tests.
//
// Limits: the edge is a staircase, so the area is accurate to 0.02 % and edge displacements to
// about 0.14 % at 0.5 mm; the error stays first order in the spacing. Full cells preserve the bound
// of the explicit time step, which cut cells would reduce.
//
// Nodes and cells are numbered along the grid, x fastest. Grid node (column, row) is at origin +
// spacing * (column, row); the disc is centred on (0, 0), which is a grid node.
#ifndef BB_PHYSICS_WAFER_DISC_MESH_H
#define BB_PHYSICS_WAFER_DISC_MESH_H

#include "core/need.h"
#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Read-only to users. The grid has columns x rows cells and (columns + 1) x (rows + 1) nodes, or
/// columns x rows nodes when periodic.
typedef struct bb_disc_mesh {
    double spacing;  ///< side of a cell, m
    double origin_x; ///< position of grid node (0, 0), m
    double origin_y;
    bb_index columns; ///< cells of the grid
    bb_index rows;
    bb_index node_columns; ///< nodes of the grid
    bb_index node_rows;
    bool periodic;
    bb_index cell_count;
    bb_index node_count;
    int32_t *cell_nodes;  ///< [cell_count][4], counter-clockwise from the lower left
    int32_t *cell_at;     ///< [rows][columns] cell, -1 if there is none
    int32_t *node_at;     ///< [node_rows][node_columns] node, -1 if there is none
    int32_t *node_column; ///< [node_count]
    int32_t *node_row;    ///< [node_count]
    double *node_area;    ///< [node_count] spacing^2 / 4 for each cell of the node, m2
} bb_disc_mesh;

/// Creates the mesh of cells whose centre is within `radius` of (0, 0). Both lengths are in m.
/// Errors: BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_disc_mesh_create(double radius, double spacing, bb_disc_mesh **out);

/// Creates the mesh of all cells of a rectangle with its lower left corner at (0, 0).
BB_CHECKED bb_status bb_disc_mesh_rectangle(bb_index columns, bb_index rows, double spacing,
                                            bb_disc_mesh **out);

/// Creates a mesh as bb_disc_mesh_rectangle with opposite edges joined; at least 3 x 3 cells.
BB_CHECKED bb_status bb_disc_mesh_periodic(bb_index columns, bb_index rows, double spacing,
                                           bb_disc_mesh **out);

/// Cells around a disc of bb_disc_mesh_create: those of its extended grid whose centre is within
/// `radius` and that are not in the disc. Grid node (column, row) of the disc is (column + shift,
/// row + shift) here, shift = (columns here - its columns) / 2.
BB_CHECKED bb_status bb_disc_mesh_around(const bb_disc_mesh *disc, double radius,
                                         bb_disc_mesh **out);

double bb_disc_mesh_x(const bb_disc_mesh *mesh, bb_index node);
double bb_disc_mesh_y(const bb_disc_mesh *mesh, bb_index node);

/// Finds the cell whose closed square contains (x, y), any one of them on a border; -1 if there is
/// none.
bb_index bb_disc_mesh_cell(const bb_disc_mesh *mesh, double x, double y);

/// Finds the cell as bb_disc_mesh_cell, but first moves a point off a disc towards (0, 0) to its
/// edge.
bb_index bb_disc_mesh_nearest(const bb_disc_mesh *mesh, double *x, double *y);

/// Returns the cell at grid (column, row), any integers: -1 if there is none; a periodic mesh wraps
/// around.
bb_index bb_disc_mesh_cell_at(const bb_disc_mesh *mesh, bb_index column, bb_index row);

/// Returns whether grid cell (column, row) exists; accepts any integers.
bool bb_disc_mesh_has_cell(const bb_disc_mesh *mesh, bb_index column, bb_index row);

/// Returns the area of all cells, m2.
double bb_disc_mesh_area(const bb_disc_mesh *mesh);

/// Memory and time of a mesh with that many nodes.
bb_need bb_disc_mesh_need(double nodes);

void bb_disc_mesh_destroy(bb_disc_mesh **mesh);

/// A rectangle, m.
typedef struct bb_box {
    double x0, x1, y0, y1;
} bb_box;

/// Part of a node's own area, the quarters of its live cells, under a rectangle: the covered strip
/// below or above the node, `width` across, y from `low` to `high` above the node, m.
typedef struct bb_node_cut {
    double width; ///< 0 if nothing is covered
    double low;
    double high;
    double middle; ///< x of the strip's centre on the wafer
} bb_node_cut;

/// Cuts the live quarters on one side (0 below, 1 above) of a node by the box.
bb_node_cut bb_node_cut_of(const bb_disc_mesh *mesh, const bb_box *box, bb_index node, int side);

/// Finds the first and last column (or row) of `count` grid nodes whose own area may intersect
/// [low, high].
void bb_node_cut_range(double low, double high, double origin, double spacing, bb_index count,
                       bb_index range[2]);

/// Returns the maximum number of nodes whose own area intersects a box of this size.
bb_index bb_node_cut_most(const bb_disc_mesh *mesh, double width, double height);

#endif

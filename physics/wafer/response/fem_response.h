// SPDX-License-Identifier: Apache-2.0
//
// Rows of the response matrix by adjoint finite-element solves, for axes x and y: the edge of the
// wafer and its staircase are in them, unlike in the kernel rows of response.h.
//
// Temperatures of S reach the nodes by the transpose of the restriction, T_i = sum_j a_ij S_j / m_i
// with the area a_ij of node i's quarters in cell j, which conserves heat. A row is then
//     C_pj = A_j (W (g_p / m))_j,  g_p = G' K^-1 J' e_p
// Masked columns are zero. A slit point off the wafer has the row of the edge beside it, towards
// the middle of the wafer: u is continued constantly outwards, so that scored points near the edge,
// which lie between slit points on and off it, are interpolated in something continuous.
#ifndef BB_PHYSICS_WAFER_RESPONSE_FEM_RESPONSE_H
#define BB_PHYSICS_WAFER_RESPONSE_FEM_RESPONSE_H

#include "core/matrix_source.h"
#include "physics/wafer/response/membrane.h"
#include "physics/wafer/response/temperature_grid.h"
#include "physics/wafer/slit_grid.h"

/// Rows of one axis for all slit points of one field. `source` points into this struct: keep it in
/// place while the source is used. Each aligned batch of BB_MEMBRANE_BATCH rows is one solve,
/// whatever part of it is asked for: pull whole rows, in multiples of the batch.
typedef struct bb_fem_response {
    bb_matrix_source source; ///< [slit field_points][grid cell_count], m/K
    const bb_disc_mesh *mesh;
    const bb_membrane *membrane;
    const bb_temperature_grid *grid;
    bb_slit_grid slit;
    bb_field field;
    int axis; ///< BB_AXIS_X or BB_AXIS_Y
} bb_fem_response;

/// Everything given must outlive it; `grid` and `membrane` are of the mesh. Errors: BB_UNSUPPORTED
/// for axis z, which needs a bending plate.
BB_CHECKED bb_status bb_fem_response_make(const bb_disc_mesh *mesh, const bb_membrane *membrane,
                                          const bb_temperature_grid *grid, const bb_slit_grid *slit,
                                          const bb_field *field, int axis, bb_fem_response *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Rows of the response matrix by adjoint solves of the coupled plate: displacement of the top
// surface along x, y or z at the slit points of one field for a kelvin in a cell of S.
//
// Temperatures of S reach the nodes by the transpose of the restriction, as in fem_response.h, so
// that a row is C_pj = A_j (W (g_p / m))_j with g_p = G' K^-1 J' e_p + F' e_p. What the nodes get
// is the staircase of S, which a plate smooths, but not the part of z that is local, E T(p) with E
// = bb_plate_local_height: there T(p) comes from the centres of the live cells around the point,
// bilinear, in place of the nodes. Masked columns are zero. A slit point off the wafer has the row
// of the edge beside it.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_RESPONSE_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_RESPONSE_H

#include "core/matrix_source.h"
#include "physics/wafer/response/coupled_plate.h"
#include "physics/wafer/response/temperature_grid.h"
#include "physics/wafer/slit_grid.h"

/// With two modes through the thickness (through_mode.h) the columns are [cells of S | cells of the
/// mean tau], the second block of the thermal moment M_T = E alpha d^2 tau / (6 (1 - nu)).
///
/// Rows of one axis for all slit points of one field. `source` points into this struct: keep it in
/// place while the source is used. Each aligned batch of BB_PLATE_BATCH rows is one solve, whatever
/// part of it is asked for: pull whole rows, in multiples of the batch.
typedef struct bb_plate_response {
    bb_matrix_source source; ///< [slit field_points][modes * grid cell_count], m/K
    const bb_coupled_plate *plate;
    const bb_temperature_grid *grid;
    bb_slit_grid slit;
    bb_field field;
    int axis;       ///< bb_axis
    bb_index modes; ///< 1, or 2 with tau
} bb_plate_response;

/// Everything given must outlive it; `grid` is of the plate's mesh.
void bb_plate_response_make(const bb_coupled_plate *plate, const bb_temperature_grid *grid,
                            const bb_slit_grid *slit, const bb_field *field, int axis,
                            bb_index modes, bb_plate_response *out);

/// What `rows` rows of `modes` blocks take beside the plate: of each thread right-hand sides of a
/// batch and its nodal rows.
bb_need bb_plate_response_need(double nodes, double modes, double rows, double threads);

#endif

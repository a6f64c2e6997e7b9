// SPDX-License-Identifier: Apache-2.0
//
// Stiffness matrix of the coupled plate and its order of elimination.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_ASSEMBLY_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_ASSEMBLY_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/response/plate_element.h"
#include "physics/wafer/response/plate_factor.h"

/// Upper triangle; unknown 6 node + c. `springs` as in bb_coupled_plate_create. Release with
/// bb_upper_triangle_release. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_assemble(const bb_disc_mesh *mesh, const bb_plate_element *element,
                                       const double *springs, bb_upper_triangle *out);
void bb_upper_triangle_release(bb_upper_triangle *matrix);

/// order [BB_PLATE_UNKNOWNS * node_count]: nested dissection by node; as numbered when the mesh is
/// periodic. Errors: BB_MEMORY.
/// Values of the matrix, with room for neighbours that nodes at the edge lack.
double bb_plate_matrix_values(double nodes);

BB_CHECKED bb_status bb_plate_order(const bb_disc_mesh *mesh, int64_t *order);

#endif

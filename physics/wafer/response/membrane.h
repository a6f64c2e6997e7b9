// SPDX-License-Identifier: Apache-2.0
//
// The wafer as a plane-stress membrane on tangential springs, by Q1 finite elements on its mesh:
//     minimise 1/2 int eps(u) : N : eps(u) - int N_T T div u + 1/2 int k_s |u|^2
// with a free edge. Unlike the kernel of response.h it includes the edge of the wafer. Stiffness
// and load are integrated exactly (2 x 2 Gauss), T is bilinear in a cell, springs are consistent.
//
// The matrix is factored once (CHOLMOD, supernodal, geometric nested dissection). Rows of the
// response are adjoint solves: row p = G' K^-1 J' e_p, one for each point and axis, by the panel
// solve of plate_factor.h. On the softest springs, where the factor represents rigid motions of the
// wafer to a few digits only, these are removed.
//
// Limits: w = 0; uniform springs; the clamp is rigid; a staircase edge (item 2 of
// docs/lab/physics-wafer.md 2.3 to 1.4e-3 of u(R) at 0.5 mm). At 0.5 mm the factor has about 0.6
// GB.
#ifndef BB_PHYSICS_WAFER_RESPONSE_MEMBRANE_H
#define BB_PHYSICS_WAFER_RESPONSE_MEMBRANE_H

#include "core/matrix_source.h"
#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/response/plate.h"
#include "physics/wafer/response/plate_factor.h"
#include "physics/wafer/response/temperature_grid.h"
#include "physics/wafer/slit_grid.h"
#include "physics/wafer/wafer_config.h"

/// Square Q1 element: stiffness with springs, and the load of a temperature. Corners
/// counter-clockwise from the lower left; unknown 2 k + c is axis c at corner k.
typedef struct bb_membrane_element {
    double stiffness[8][8]; ///< int eps : N : eps + k_s int phi phi, N/m
    double load[8][4];      ///< int N_T d_c phi_k phi_l: force at 2 k + c per kelvin at l, N/K
} bb_membrane_element;

/// Computes the element of side `side`, m, by 2 x 2 Gauss points (exact for these products).
void bb_membrane_element_make(const bb_plate *plate, double side, bb_membrane_element *out);

typedef struct bb_membrane bb_membrane;

/// Right-hand sides are solved in batches of this size, the last one padded with zeros, so that the
/// bits do not depend on the requested rows.
enum { BB_MEMBRANE_BATCH = 32 };

/// Assembles and factors. The mesh must outlive it. Errors: BB_INVALID (periodic mesh, a matrix
/// that is not positive definite), BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_membrane_create(const bb_disc_mesh *mesh,
                                        const bb_wafer_material_config *wafer,
                                        const bb_clamp_config *clamp, bb_membrane **out);

/// Computes displacements u [node_count][2] (x, y), m, for node temperatures [node_count], K. Safe
/// from several threads.
BB_CHECKED bb_status bb_membrane_solve(const bb_membrane *membrane, const double *temperature,
                                       double *u);

/// Returns the displacement at (x, y) along an axis (BB_AXIS_X or _Y), bilinear; off the mesh that
/// of its edge on the way to (0, 0): u is extended constantly outwards.
double bb_membrane_at(const bb_membrane *membrane, const double *u, double x, double y, int axis);

/// Rows for `count` <= BB_MEMBRANE_BATCH points (x, y): rows [node_count][BB_MEMBRANE_BATCH], m of
/// displacement along `axis` per kelvin at a node, row p in column p; columns from `count` on are
/// zero. A point off the mesh has the row of the edge, as in bb_membrane_at. Safe from several
/// threads; the membrane has a workspace of BB_MEMBRANE_BATCH * 2 * node_count doubles for each.
/// Errors: BB_INVALID, BB_UNSUPPORTED (axis z), BB_MEMORY.
BB_CHECKED bb_status bb_membrane_rows(const bb_membrane *membrane, int axis, bb_index count,
                                      const double *x, const double *y, double *rows);

/// Acquires a workspace of that shape from the membrane, and releases it; NULL is ignored. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_membrane_acquire_rows(const bb_membrane *membrane, double **rows);
void bb_membrane_release_rows(const bb_membrane *membrane, double **rows);

/// Memory and time of factoring a membrane with that many nodes, of the membrane alone, and of
/// `points` rows: per thread a batch of right-hand sides and of rows.
bb_need bb_membrane_need(double nodes);
bb_need bb_membrane_resident(double nodes);
bb_need bb_membrane_rows_need(double nodes, double rows, double threads);

/// The same membrane with adjoint solves in single precision (bb_narrow_factor_solve) and its own
/// copy of the factor's values; loads and sums over cells stay in fp64. It borrows everything else,
/// and only its rows are used. Errors: from bb_narrow_factor_create.
BB_CHECKED bb_status bb_membrane_narrow(const bb_membrane *membrane, bb_operand_rounding round,
                                        bb_membrane **out);
void bb_membrane_narrow_destroy(bb_membrane **narrow);

/// Returns the number of doubles in the factor.
bb_index bb_membrane_factor_values(const bb_membrane *membrane);

/// For rows on a GPU: the factor, the element, and whether rigid motions are removed from rows.
const bb_plate_factor *bb_membrane_factor(const bb_membrane *membrane);
const bb_membrane_element *bb_membrane_element_of(const bb_membrane *membrane);
bool bb_membrane_is_soft(const bb_membrane *membrane);

/// Returns bb_membrane_is_soft for a membrane that has not been created.
bool bb_membrane_would_be_soft(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Finds the nodes around a point, of the edge for a point off the mesh, and their bilinear
/// weights.
void bb_membrane_weights(const bb_disc_mesh *mesh, double x, double y, const int32_t **node,
                         double weight[4]);

void bb_membrane_destroy(bb_membrane **membrane);

// Rows of the response matrix by adjoint solves, for axes x and y.
//
// Temperatures of S are mapped to the nodes by the transpose of the restriction, T_i = sum_j a_ij
// S_j / m_i with the area a_ij of node i's quarters in cell j, which conserves heat. A row is then
//     C_pj = A_j (W (g_p / m))_j,  g_p = G' K^-1 J' e_p
// Masked columns are zero. A slit point off the wafer has the row of the nearest edge towards the
// centre of the wafer: u is extended constantly outwards, so that scored points near the edge,
// between slit points on and off it, interpolate a continuous function.

/// Rows of one axis for all slit points of one field. `source` points into this struct: do not move
/// it while the source is used. Each aligned batch of BB_MEMBRANE_BATCH rows is one solve, even if
/// only part of it is requested: read whole rows, in multiples of the batch.
typedef struct bb_fem_response {
    bb_matrix_source source; ///< [slit field_points][grid cell_count], m/K
    const bb_disc_mesh *mesh;
    const bb_membrane *membrane;
    const bb_temperature_grid *grid;
    bb_slit_grid slit;
    bb_field field;
    int axis; ///< BB_AXIS_X or BB_AXIS_Y
} bb_fem_response;

/// All arguments must outlive it; `grid` and `membrane` are of the mesh. Errors: BB_UNSUPPORTED for
/// axis z, which needs a bending plate.
BB_CHECKED bb_status bb_fem_response_make(const bb_disc_mesh *mesh, const bb_membrane *membrane,
                                          const bb_temperature_grid *grid, const bb_slit_grid *slit,
                                          const bb_field *field, int axis, bb_fem_response *out);

#endif

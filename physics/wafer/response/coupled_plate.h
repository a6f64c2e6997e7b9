// SPDX-License-Identifier: Apache-2.0
//
// Wafer as a plane-stress membrane coupled to a bending plate by the springs at its bottom (2.5-D),
// by finite elements on its mesh: kinematics u(z) = u0 - z grad w, z up,
//     minimise 1/2 int eps(u0) : N : eps(u0) - int N_T div u0 + 1/2 int kappa : D : kappa
//         + int M_T lap w + 1/2 int k_s |u0 + (d/2) grad w|^2 + 1/2 int k_n w^2
// with a free edge; springs uniform or by cell. Elements of plate_assembly.h, T bilinear in a cell.
//
// Overlay refers to the top surface:
//     u_top = u0 - (d/2) grad w,  z = w + g,  g / d = alpha T (1 + 2 c) - c div u0
// with u0 bilinear, w and grad w of the plate's shape functions, and div u0 the bilinear
// interpolation of its means at the nodes (the div of a Q1 cell jumps between cells, which would
// cost up to a percent of z; the means are second-order accurate).
//
// Limits: Kirchhoff plate (d = 0.775 mm against a bending length of 1.6 mm); rigid clamp; the
// bending length (D/k_n)^(1/4) must be resolved: k_n <= 1e12 N/m3 at 0.5 mm; a staircase edge. At
// 0.5 mm: 1.7 million unknowns and a factor of about 4.6 GB.
#ifndef BB_PHYSICS_WAFER_RESPONSE_COUPLED_PLATE_H
#define BB_PHYSICS_WAFER_RESPONSE_COUPLED_PLATE_H

#include "core/digest.h"
#include "core/matrix_source.h"
#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/response/plate_assembly.h"
#include "physics/wafer/response/plate_factor.h"
#include "physics/wafer/response/temperature_grid.h"
#include "physics/wafer/response/workspace_pool.h"
#include "physics/wafer/slit_grid.h"

/// Maximum number of weights: 16 for w, and 4 nodes x 4 cells x 4 corners x 2 for div u0, with
/// possible repetitions.
enum { BB_PLATE_SAMPLE = 144 };

/// Component of the top surface's displacement at a point as a linear form of the unknowns and of
/// the node temperatures: J' e_p, and the local part F of z.
typedef struct bb_plate_sample {
    double x, y; ///< of the point, on the mesh
    int count;
    int64_t unknown[BB_PLATE_SAMPLE]; ///< 6 node + c
    double weight[BB_PLATE_SAMPLE];
    int32_t node[4];    ///< for the temperature
    double bilinear[4]; ///< weights of the temperatures around the point
    double growth;      ///< of the thickness, m/K; 0 for x and y
} bb_plate_sample;

/// `axis` is a bb_axis; a point off a disc is moved towards (0, 0) to its edge.
void bb_plate_sample_make(const bb_disc_mesh *mesh, const bb_plate *plate, double x, double y,
                          int axis, bb_plate_sample *out);

/// Read-only to users.
typedef struct bb_coupled_plate {
    const bb_disc_mesh *mesh; ///< borrowed
    bb_plate plate;
    bb_plate_element element;
    bb_plate_factor *factor;
    bb_narrow_factor *narrow;       ///< for rows (bb_narrow_factor_solve); NULL: fp64
    bb_workspace_pool *right_sides; ///< [unknowns][BB_PLATE_BATCH], one per thread
    bb_workspace_pool *nodal_rows;  ///< [node_count][BB_PLATE_BATCH], for callers of _rows
} bb_coupled_plate;

/// Assembles and factors. `springs` [mesh->cell_count] multiplies k_s and k_n of each cell; NULL:
/// 1. If `cache_folder` is not NULL a cached factor of the same plate is read from there, or the
/// factor is stored there; a failure to store is a warning. The mesh must outlive it. Errors:
/// BB_INVALID (not positive definite), BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_coupled_plate_create(const bb_disc_mesh *mesh, const bb_plate *plate,
                                             const double *springs, const char *cache_folder,
                                             bb_coupled_plate **out);

/// Memory and time of factoring a plate with that many nodes, and of the plate alone.
bb_need bb_coupled_plate_need(double nodes);
bb_need bb_coupled_plate_resident(double nodes);

/// Computes the key of the factor: a digest of the mesh, the element matrices, the elimination
/// order and the springs. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_coupled_plate_key(const bb_disc_mesh *mesh, const bb_plate_element *element,
                                          const double *springs, char out[BB_DIGEST_BYTES]);

/// Computes the forces, N, of node temperatures [node_count], K, and of tau [node_count] in T(z) =
/// T + (2 z/d) tau (NULL: none), into right [node_count][BB_PLATE_UNKNOWNS].
void bb_coupled_plate_load(const bb_coupled_plate *plate, const double *temperature,
                           const double *tau, double *right);

/// Solves for the unknowns x [node_count][BB_PLATE_UNKNOWNS], m, from forces `right` of the same
/// shape. Safe from several threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_coupled_plate_solve(const bb_coupled_plate *plate, const double *right,
                                            double *x);

/// Displacement of the top surface along `axis` (bb_axis) at (x, y), m, from unknowns
/// [node_count][BB_PLATE_UNKNOWNS] and temperatures [node_count]. A point off a disc has the
/// displacement of the edge on the way to (0, 0).
double bb_coupled_plate_at(const bb_coupled_plate *plate, const double *unknowns,
                           const double *temperature, double x, double y, int axis);

/// Rows are solved in batches of this size, the last one padded with zeros, so that the bits do not
/// depend on the requested rows.
enum { BB_PLATE_BATCH = 32 };

/// Rows for `count` <= BB_PLATE_BATCH points (x, y) by adjoint solves: rows
/// [node_count][BB_PLATE_BATCH], m of displacement along `axis` per kelvin at a node, row p in
/// column p; columns from `count` on are zero. Safe from several threads; the plate has a workspace
/// of BB_PLATE_BATCH * BB_PLATE_UNKNOWNS * node_count doubles for each. `moments`, of the same
/// shape, receives the rows for tau (NULL: omitted), from the same solves. Errors: BB_MEMORY,
/// BB_INVALID.
BB_CHECKED bb_status bb_coupled_plate_rows(const bb_coupled_plate *plate, int axis, bb_index count,
                                           const double *x, const double *y, double *rows,
                                           double *moments);

/// Creates the same plate with adjoint solves in single precision, as bb_membrane_narrow. Errors:
/// those of bb_narrow_factor_create.
BB_CHECKED bb_status bb_coupled_plate_narrow(const bb_coupled_plate *plate,
                                             bb_operand_rounding round, bb_coupled_plate **out);
void bb_coupled_plate_narrow_destroy(bb_coupled_plate **narrow);

void bb_coupled_plate_destroy(bb_coupled_plate **plate);

// Rows of the response matrix: displacement of the top surface along x, y or z at the slit points
// of one field per kelvin in a cell of S, by adjoint solves.
//
// Temperatures of S are mapped to the nodes by the transpose of the restriction, as in membrane.h,
// so that a row is C_pj = A_j (W (g_p / m))_j with g_p = G' K^-1 J' e_p + F' e_p. The nodes use the
// piecewise constant field of S, which a plate smooths, except for the local part of z, E T(p) with
// E = bb_plate_local_height: there T(p) is interpolated bilinearly from the centres of the live
// cells around the point, instead of the nodes. Masked columns are zero. A slit point off the wafer
// has the row of the nearest edge.

/// With two modes through the thickness (heat/thermal.c) the columns are [cells of S | cells of the
/// mean tau], the second block for the thermal moment M_T = E alpha d^2 tau / (6 (1 - nu)).
///
/// Rows of one axis for all slit points of one field. `source` points into this struct: do not move
/// it while the source is used. Each aligned batch of BB_PLATE_BATCH rows is one solve, even if
/// only part of it is requested: read whole rows, in multiples of the batch.
typedef struct bb_plate_response {
    bb_matrix_source source; ///< [slit field_points][modes * grid cell_count], m/K
    const bb_coupled_plate *plate;
    const bb_temperature_grid *grid;
    bb_slit_grid slit;
    bb_field field;
    int axis;       ///< bb_axis
    bb_index modes; ///< 1, or 2 with tau
} bb_plate_response;

/// All arguments must outlive it; `grid` is of the plate's mesh.
void bb_plate_response_make(const bb_coupled_plate *plate, const bb_temperature_grid *grid,
                            const bb_slit_grid *slit, const bb_field *field, int axis,
                            bb_index modes, bb_plate_response *out);

/// Memory and time of `rows` rows of `modes` blocks in addition to the plate: per thread the
/// right-hand sides of a batch and its nodal rows.
bb_need bb_plate_response_need(double nodes, double modes, double rows, double threads);

#endif

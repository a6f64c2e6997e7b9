// SPDX-License-Identifier: Apache-2.0
//
// The wafer as a plane-stress membrane coupled with a bending plate by the springs at its bottom
// (2.5-D), by finite elements on its mesh: kinematics u(z) = u0 - z grad w, z up,
//     minimise 1/2 int eps(u0) : N : eps(u0) - int N_T div u0 + 1/2 int kappa : D : kappa
//         + int M_T lap w + 1/2 int k_s |u0 + (d/2) grad w|^2 + 1/2 int k_n w^2
// with a free edge; springs uniform or by cell. Elements of plate_element.h, T bilinear in a cell.
//
// What is measured is the top surface:
//     u_top = u0 - (d/2) grad w,  z = w + g,  g / d = alpha T (1 + 2 c) - c div u0
// with u0 bilinear, w and grad w of the plate's shape functions, and div u0 the bilinear
// interpolation of its means at the nodes (the div of a Q1 cell jumps between cells, which would
// cost up to a percent of z; the means are right to second order).
//
// Limits: Kirchhoff plate (d = 0.775 mm against a bending length of 1.6 mm); rigid clamp; the
// bending length (D/k_n)^(1/4) has to be resolved: k_n <= 1e12 N/m3 at 0.5 mm; a staircase edge. At
// 0.5 mm: 1.7 million unknowns and a factor of about 4.6 GB.
#ifndef BB_PHYSICS_WAFER_RESPONSE_COUPLED_PLATE_H
#define BB_PHYSICS_WAFER_RESPONSE_COUPLED_PLATE_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/response/plate_element.h"
#include "physics/wafer/response/plate_factor.h"
#include "physics/wafer/response/workspace_pool.h"

/// Read-only to users.
typedef struct bb_coupled_plate {
    const bb_disc_mesh *mesh; ///< borrowed
    bb_plate plate;
    bb_plate_element element;
    bb_plate_factor *factor;
    bb_workspace_pool *right_sides; ///< [unknowns][BB_PLATE_BATCH], one a thread that makes rows
    bb_workspace_pool *nodal_rows;  ///< [node_count][BB_PLATE_BATCH], for callers of _rows
} bb_coupled_plate;

/// Assembles and factors. `springs` [mesh->cell_count] multiplies k_s and k_n of each cell; NULL:
/// 1. Where `cache_folder` is not NULL a factor of the same plate is taken from there, or kept
/// there; one that cannot be kept is a warning. The mesh must outlive it. Errors: BB_INVALID (not
/// positive definite), BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_coupled_plate_create(const bb_disc_mesh *mesh, const bb_plate *plate,
                                             const double *springs, const char *cache_folder,
                                             bb_coupled_plate **out);

/// What a plate of so many nodes takes while it is factored, and what stays.
bb_need bb_coupled_plate_need(double nodes);
bb_need bb_coupled_plate_held(double nodes);

/// Key of the factor: a digest of the mesh, the element matrices, the order of elimination and the
/// springs.
BB_CHECKED bb_status bb_coupled_plate_key(const bb_disc_mesh *mesh, const bb_plate_element *element,
                                          const double *springs, bb_factor_key *out);

/// Forces, N, of node temperatures [node_count], K, and of tau [node_count] in T(z) = T + (2 z/d)
/// tau (NULL: none), into right [node_count][BB_PLATE_UNKNOWNS].
void bb_coupled_plate_load(const bb_coupled_plate *plate, const double *temperature,
                           const double *tau, double *right);

/// Unknowns x [node_count][BB_PLATE_UNKNOWNS], m, for forces right of the same shape. Safe from
/// several threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_coupled_plate_solve(const bb_coupled_plate *plate, const double *right,
                                            double *x);

/// Displacement of the top surface along `axis` (bb_axis) at (x, y), m, from unknowns
/// [node_count][BB_PLATE_UNKNOWNS] and temperatures [node_count]. A point off a disc has that of
/// the edge on the way to (0, 0).
double bb_coupled_plate_at(const bb_coupled_plate *plate, const double *unknowns,
                           const double *temperature, double x, double y, int axis);

/// Rows are solved this many at a time, the last ones padded with zeros, so that bits do not depend
/// on how rows are asked for.
enum { BB_PLATE_BATCH = 32 };

/// Rows for `count` <= BB_PLATE_BATCH points (x, y) by adjoint solves: rows
/// [node_count][BB_PLATE_BATCH], m of displacement along `axis` per kelvin at a node, row p in
/// column p; columns from `count` on are zero. Safe from several threads; the plate keeps a
/// workspace of BB_PLATE_BATCH * BB_PLATE_UNKNOWNS * node_count doubles for each. `moments`, of the
/// same shape, takes the rows for tau (NULL: not wanted), from the same solves. Errors: BB_MEMORY,
/// BB_INVALID.
BB_CHECKED bb_status bb_coupled_plate_rows(const bb_coupled_plate *plate, int axis, bb_index count,
                                           const double *x, const double *y, double *rows,
                                           double *moments);

void bb_coupled_plate_destroy(bb_coupled_plate **plate);

#endif

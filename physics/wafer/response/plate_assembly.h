// SPDX-License-Identifier: Apache-2.0
//
// Stiffness matrix of the coupled plate and its elimination order.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_ASSEMBLY_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_ASSEMBLY_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/response/plate.h"
#include "physics/wafer/response/plate_factor.h"

// Square element of the plate on springs: Q1 membrane and 16-unknown Bogner-Fox-Schmit bending,
// coupled by the springs at the bottom:
//     1/2 int eps(u0) : N : eps(u0) + 1/2 int kappa : D : kappa
//         + 1/2 int k_s |u0 + (d/2) grad w|^2 + 1/2 int k_n w^2
//     - int N_T div u0 + int M_T lap w
// Bicubic Hermite shapes are C1, so that bending conforms (Bogner, Fox and Schmit, 1965). All
// products are integrated exactly by 4 x 4 Gauss points.
//
// Unknowns of corner k (counter-clockwise from the lower left): 6 k + 0..5 = u, v, w, h w_x, h w_y,
// h^2 w_xy, all in m.

enum { BB_PLATE_UNKNOWNS = 6, BB_PLATE_ELEMENT = 24 };

/// Corner k is at (bb_plate_corner[k][0], bb_plate_corner[k][1]) of the unit square.
extern const int bb_plate_corner[4][2];

/// Shape functions at one point of a cell. Entry 4 k + m of the bending ones belongs to unknown 6 k
/// + 2 + m.
typedef struct bb_plate_shapes {
    double q[4]; ///< bilinear
    double q_x[4], q_y[4];
    double w[16]; ///< bicubic Hermite
    double w_x[16], w_y[16];
    double w_xx[16], w_yy[16], w_xy[16];
} bb_plate_shapes;

typedef struct bb_plate_element {
    double elastic[BB_PLATE_ELEMENT][BB_PLATE_ELEMENT]; ///< membrane and bending, N/m
    double springs[BB_PLATE_ELEMENT][BB_PLATE_ELEMENT]; ///< from k_s and k_n, N/m
    double load[BB_PLATE_ELEMENT][4]; ///< force per kelvin of the mean temperature at corner l, N/K
    double moment[BB_PLATE_ELEMENT]
                 [4]; ///< force per kelvin of tau in T(z) = T + (2 z / d) tau, N/K
} bb_plate_element;

/// Computes the shapes at (a, b) of [0, 1]^2 in a cell of side `side`, m.
void bb_plate_shapes_at(double a, double b, double side, bb_plate_shapes *out);

void bb_plate_element_make(const bb_plate *plate, double side, bb_plate_element *out);

/// Geometric nested dissection of a mesh's nodes: rectangles of the grid are halved along their
/// longer side by one line of nodes, which is ordered after both halves. Fill grows as n log n.
/// order [node_count]: nodes in elimination order. Rectangles of at most `leaf` >= 2 nodes a side
/// are not divided further. For meshes that are not periodic.
void bb_plate_dissect(const bb_disc_mesh *mesh, bb_index leaf, int32_t *order);

/// Assembles the upper triangle; unknown 6 node + c. `springs` as in bb_coupled_plate_create.
/// Release with bb_upper_triangle_release. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_assemble(const bb_disc_mesh *mesh, const bb_plate_element *element,
                                       const double *springs, bb_upper_triangle *out);
void bb_upper_triangle_release(bb_upper_triangle *matrix);

/// Returns an upper bound of the matrix values, counting missing neighbours of nodes at the edge.
double bb_plate_matrix_values(double nodes);

/// order [BB_PLATE_UNKNOWNS * node_count]: nested dissection by node; as numbered when the mesh is
/// periodic. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_order(const bb_disc_mesh *mesh, int64_t *order);

#endif

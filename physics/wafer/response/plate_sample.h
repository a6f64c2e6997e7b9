// SPDX-License-Identifier: Apache-2.0
//
// One component of the top surface's displacement at one point as a linear form of the coupled
// plate's unknowns and of the node temperatures: J' e_p, and the local part F of z.
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_SAMPLE_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_SAMPLE_H

#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/response/plate.h"

/// 16 of w, and 4 nodes x 4 cells x 4 corners x 2 of div u0, an unknown possibly repeated.
enum { BB_PLATE_SAMPLE = 144 };

typedef struct bb_plate_sample {
    double x, y; ///< of the point, on the mesh
    int count;
    int64_t unknown[BB_PLATE_SAMPLE]; ///< 6 node + c
    double weight[BB_PLATE_SAMPLE];
    int32_t node[4];    ///< of the temperature
    double bilinear[4]; ///< weights of the temperatures around the point
    double growth;      ///< of the thickness, m/K; 0 for x and y
} bb_plate_sample;

/// `axis` is a bb_axis; a point off a disc is moved towards (0, 0) on to its edge.
void bb_plate_sample_make(const bb_disc_mesh *mesh, const bb_plate *plate, double x, double y,
                          int axis, bb_plate_sample *out);

#endif

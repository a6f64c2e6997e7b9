// SPDX-License-Identifier: Apache-2.0
//
// The rigid motions of a wafer on uniform springs, two shifts and a turn, r = e_x, e_y and (-y, x)
// about the centre of area. Nothing strains in them, so that K r = k_s M r with M = int phi phi:
// they are decoupled from all else, and a temperature, whose load does no work on them, does not
// excite them. On soft springs the factor answers its own rounding errors in them, by 1/(k_s area);
// taking them out of loads and answers by
//     f - M r (r' f)/(r' M r),   u - r (r' M u)/(r' M r)
// removes that and nothing else.
//
// Limits: uniform springs and in-plane unknowns alone.
#ifndef BB_PHYSICS_WAFER_RESPONSE_RIGID_MODES_H
#define BB_PHYSICS_WAFER_RESPONSE_RIGID_MODES_H

#include "physics/wafer/disc_mesh.h"

/// Read-only to users.
typedef struct bb_rigid_modes {
    bb_index node_count;
    double area;      ///< r' M r of a shift, m2
    double polar;     ///< r' M r of the turn, m4
    double *node;     ///< [node_count][2] x, y from the centre of area, m
    double *weight;   ///< [node_count] int phi, m2
    double *weight_x; ///< [node_count] int phi x, m3
    double *weight_y;
} bb_rigid_modes;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_rigid_modes_create(const bb_disc_mesh *mesh, bb_rigid_modes *out);
void bb_rigid_modes_release(bb_rigid_modes *modes);

/// Takes the resultants out of `width` <= 32 loads, f[place[2 node + axis] * width + column], N.
void bb_rigid_modes_unload(const bb_rigid_modes *modes, const int64_t *place, int width, double *f);

/// Takes the motions out of `width` <= 32 displacements of the same layout, m.
void bb_rigid_modes_take(const bb_rigid_modes *modes, const int64_t *place, int width, double *u);

#endif

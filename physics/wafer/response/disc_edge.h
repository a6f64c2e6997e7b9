// SPDX-License-Identifier: Apache-2.0
//
// How much of a wafer's displacement is its edge's doing: the size of what rows of an infinite
// plate (response.h) leave out.
//
// An evenly heated disc on springs moves by u = A I1(r / l_s), A from N_r(R) = 0 (docs 2.3 item 2),
// an evenly heated circle of an infinite plate by u = (1 + nu) alpha T R K1(R / l_s) I1(r / l_s).
// The difference is what the edge adds, and falls by e in l_s from the rim inwards. It is given as
// a part of the disc's displacement at the rim, which is of the size of any heated field's own.
//
// Height follows the membrane's strain where that is even over the thickness and the bending
// length, z = alpha d (1 + 2 c) T - (c d - k_s d/(2 k_n)) div u, c = nu/(1 - nu) (docs 1.4 for
// small q).
//
// Limits: an estimate, since heat is not even. Over the fields of a whole wafer the rows differ by
// 0.43 of rms u where this gives 0.48 at the outermost point; of height it is the most that can be
// lacking, since what heats a field strains its surroundings little (0.01 where this gives 0.09).
#ifndef BB_PHYSICS_WAFER_RESPONSE_DISC_EDGE_H
#define BB_PHYSICS_WAFER_RESPONSE_DISC_EDGE_H

#include "physics/wafer/wafer_config.h"

typedef struct bb_disc_edge {
    double radius; ///< R, m
    double length; ///< l_s, m
    double disc;   ///< displacement of the evenly heated disc at its rim, m/K
    double plate;  ///< of the infinite plate there, m/K
    double strain; ///< height that the disc's strain at its rim takes away, m/K
    double height; ///< the disc's height at its rim, m/K
} bb_disc_edge;

/// For the isotropic wafer on uniform springs.
bb_disc_edge bb_disc_edge_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Part of the displacement in the plane, of that at the rim, which an infinite plate lacks at
/// radius r <= R, m.
double bb_disc_edge_part(const bb_disc_edge *edge, double r);

/// The same of height.
double bb_disc_edge_height_part(const bb_disc_edge *edge, double r);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Stiffnesses of the wafer as a plate on springs, in SI: isotropic, or cubic silicon of a (001)
// wafer with x along <100> or <110>.
//
// Plane stress of a cubic crystal, x along <100>: Q11 = C11 - C12^2/C11, Q12 = C12 - C12^2/C11,
// Q66 = C44; along <110>: (Q11 + Q12)/2 + Q66, (Q11 + Q12)/2 - Q66, (Q11 - Q12)/2. Expansion is
// isotropic, so that N_T = alpha d (Q11 + Q12) T and the thickness grows by
//     g / d = alpha T (1 + 2 c) - c div u0,  c = C12/C11  (nu / (1 - nu) when isotropic)
#ifndef BB_PHYSICS_WAFER_RESPONSE_PLATE_H
#define BB_PHYSICS_WAFER_RESPONSE_PLATE_H

#include "physics/wafer/wafer_config.h"

typedef struct bb_plate {
    double thickness;   ///< d, m
    double expansion;   ///< alpha, 1/K
    double poisson;     ///< nu; Q12 / Q11 when cubic
    double shear;       ///< Q66 / Q11; (1 - nu) / 2 when isotropic
    double contraction; ///< c: thickness lost per strain in the plane
    double membrane;    ///< B = Q11 d = E d / (1 - nu^2), N/m
    double bending;     ///< D = Q11 d^3 / 12 = E d^3 / (12 (1 - nu^2)), N m
    double thermal;     ///< N_T per kelvin = (Q11 + Q12) alpha d = E alpha d / (1 - nu), N/(m K)
    double tangential;  ///< k_s, N/m3
    double normal;      ///< k_n, N/m3
} bb_plate;

bb_plate bb_plate_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Height per kelvin of waves so short that only the temperature at the point matters, m/K: growth
/// less the shrinking by the strain N_T / B that the temperature itself makes; alpha d (1 + nu)
/// when isotropic.
double bb_plate_local_height(const bb_plate *plate);

// Part of a wafer's displacement that its edge causes and rows of an infinite plate (response.h)
// leave out.
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

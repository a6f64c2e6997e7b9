// SPDX-License-Identifier: Apache-2.0
//
// Stiffnesses of the wafer as a plate on springs, in SI units: isotropic, or cubic silicon of a
// (001) wafer with x along <100> or <110>.
//
// Plane stress of a cubic crystal, x along <100>: Q11 = C11 - C12^2/C11, Q12 = C12 - C12^2/C11, Q66
// = C44; along <110>: (Q11 + Q12)/2 + Q66, (Q11 + Q12)/2 - Q66, (Q11 - Q12)/2. Expansion is
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
    double contraction; ///< c: thickness change per in-plane strain
    double membrane;    ///< B = Q11 d = E d / (1 - nu^2), N/m
    double bending;     ///< D = Q11 d^3 / 12 = E d^3 / (12 (1 - nu^2)), N m
    double thermal;     ///< N_T per kelvin = (Q11 + Q12) alpha d = E alpha d / (1 - nu), N/(m K)
    double tangential;  ///< k_s, N/m3
    double normal;      ///< k_n, N/m3
} bb_plate;

bb_plate bb_plate_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Height per kelvin for waves so short that only the local temperature matters, m/K: growth minus
/// the contraction by the strain N_T / B caused by the temperature itself; alpha d (1 + nu) if
/// isotropic.
double bb_plate_local_height(const bb_plate *plate);

// Edge part of a wafer's displacement, missing in rows of an infinite plate (response.h).
//
// A uniformly heated disc on springs moves by u = A I1(r / l_s), A from N_r(R) = 0 (docs 2.3 item
// 2), a uniformly heated circle of an infinite plate by u = (1 + nu) alpha T R K1(R / l_s) I1(r /
// l_s). The difference is the edge's contribution, and decreases by e in l_s from the rim inwards.
// It is given relative to the disc's displacement at the rim, which is of the size of any heated
// field's own.
//
// Height follows the membrane's strain if that is uniform over the thickness and the bending
// length, z = alpha d (1 + 2 c) T - (c d - k_s d/(2 k_n)) div u, c = nu/(1 - nu) (docs 1.4 for
// small q).
//
// Limits: an estimate, since heating is not uniform. Over the fields of a whole wafer the rows
// differ by 0.43 of rms u where this gives 0.48 at the outermost point; for height it is an upper
// limit, since heating a field strains its surroundings little (0.01 where this gives 0.09).

typedef struct bb_disc_edge {
    double radius; ///< R, m
    double length; ///< l_s, m
    double disc;   ///< displacement of the uniformly heated disc at its rim, m/K
    double plate;  ///< displacement of the infinite plate there, m/K
    double strain; ///< height reduction by the disc's strain at its rim, m/K
    double height; ///< the disc's height at its rim, m/K
} bb_disc_edge;

/// Computes the edge part for the isotropic wafer on uniform springs.
bb_disc_edge bb_disc_edge_make(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Returns the in-plane displacement missing in an infinite plate at radius r <= R, m, relative to
/// that at the rim.
double bb_disc_edge_part(const bb_disc_edge *edge, double r);

/// Returns bb_disc_edge_part for height.
double bb_disc_edge_height_part(const bb_disc_edge *edge, double r);

#endif

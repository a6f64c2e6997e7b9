// SPDX-License-Identifier: Apache-2.0
//
// A deformable mirror in Fried geometry with a truth sensor: actuators on the lenslet corners,
// their influence functions, and the projection of slopes onto voltages.
//
// The model is that of ecrc/moao. Of the (n + 1)^2 corners those are actuators whose radius rho, in
// pupil radii, holds obstruction - 1/n < rho < 1 + 1.4/n. Influence f = 1 um exp(-rho^2 / (2
// x0^2)), rho the distance from the actuator in pupil radii, x0 = sqrt(-2 / ln c) / n, coupling c =
// 0.2. The interaction matrix is f's point difference over a subaperture (arcsec per volt); the
// projector is its pseudo-inverse without singular values below the largest over `condition`.
//
// moao's condition is sqrt(30). But the singular values of tilts fall as 1 / n, so that from n = 15
// on it drops the tilts, and with them their share of the residual. Two modes, near piston and
// waffle, are seen a hundred times more weakly than the best or not at all: 2 n drops these only.
// The usual condition is sqrt(30) below 15 lenslets and 2 n from there on.
#ifndef BB_PHYSICS_AO_DEFORMABLE_MIRROR_H
#define BB_PHYSICS_AO_DEFORMABLE_MIRROR_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_deformable_mirror {
    double diameter_m;
    bb_index lenslets;
    double condition; ///< largest over smallest singular value kept, at most
    bb_index actuator_count;
    bb_index measurement_count; ///< of the truth sensor, x slopes then y slopes
    bb_index dropped_modes;
    bb_index *column;  ///< [actuator_count] corner, 0..lenslets along x
    bb_index *row;     ///< [actuator_count] corner, 0..lenslets along y
    double *projector; ///< Dx [actuator_count][measurement_count], volts per arcsec
} bb_deformable_mirror;

/// Builds mirror and projector; `condition` > 1, or NaN for the usual one. Costs the singular value
/// decomposition of a matrix [measurements][actuators]: about 1 s for n = 40, minutes for n = 86.
/// Errors: BB_MEMORY, BB_INVALID (no actuator or subaperture), BB_INTERNAL (LAPACK did not
/// converge).
BB_CHECKED bb_status bb_deformable_mirror_create(double diameter_m, double obstruction,
                                                 bb_index lenslets, double condition,
                                                 bb_deformable_mirror *out);
void bb_deformable_mirror_release(bb_deformable_mirror *mirror);

/// Influence at a distance (m) from the actuator, in m of wavefront per volt.
double bb_deformable_mirror_influence(const bb_deformable_mirror *mirror, double distance_m);

/// Writes the interaction matrix [measurement_count][actuator_count], arcsec per volt. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_deformable_mirror_interaction(const bb_deformable_mirror *mirror,
                                                      double obstruction, double *matrix);

#ifdef __cplusplus
}
#endif

#endif

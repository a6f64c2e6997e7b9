// SPDX-License-Identifier: Apache-2.0
//
// A deformable mirror in Fried geometry with a truth sensor: actuators at the lenslet corners,
// their influence functions, and the projection of slopes to voltages.
//
// The model is that of ecrc/moao. Of the (n + 1)^2 corners, actuators are those whose radius rho,
// in pupil radii, satisfies obstruction - 1/n < rho < 1 + 1.4/n. Influence f = 1 um exp(-rho^2 / (2
// x0^2)), rho the distance from the actuator in pupil radii, x0 = sqrt(-2 / ln c) / n, coupling c =
// 0.2. The interaction matrix is f's point difference over a subaperture (arcsec per volt); the
// projector is its pseudo-inverse without singular values below the largest over `condition`. With
// a mask the actuators are the same; those that no valid subaperture measures are truncated. A mask
// or a flux rule may keep lenslets farther out: their corners are actuators too.
//
// moao's condition is sqrt(30). But the largest singular value is 0.38 n times that of the tilts:
// from 15 lenslets on the tilts are dropped, and with them their part of the residual (an
// uncorrected image at 10 um then has a Strehl ratio 30 % too high). More weakly measured modes are
// piston, slowly modulated waffle (0.9 n and 0.5 n times below the largest) and isolated edge
// actuators (34 times); keeping them only adds their errors. The default condition is max(sqrt(30),
// n / 2).
#ifndef BB_PHYSICS_AO_MIRRORS_DEFORMABLE_MIRROR_H
#define BB_PHYSICS_AO_MIRRORS_DEFORMABLE_MIRROR_H

#include "core/need.h"
#include "physics/ao/pupil.h"

/// Influence of an actuator at its neighbour, relative to its own position.
#define BB_DEFORMABLE_MIRROR_COUPLING 0.2

typedef struct bb_deformable_mirror {
    double diameter_m;
    bb_index lenslets;
    double condition; ///< upper limit of largest over smallest singular value
    bb_index actuator_count;
    bb_index measurement_count; ///< measurements of the truth sensor, x slopes then y slopes
    bb_index dropped_modes;
    bb_index *column;  ///< [actuator_count] corner, 0..lenslets along x
    bb_index *row;     ///< [actuator_count] corner, 0..lenslets along y
    double *projector; ///< Dx [actuator_count][measurement_count], volts per arcsec
} bb_deformable_mirror;

/// Creates mirror and projector; `condition` > 1, or NaN for the default. For its cost see
/// mirror_projector.h. Errors: BB_MEMORY, BB_INVALID (no actuator or subaperture, or none that
/// interact), BB_UNSUPPORTED (more than 46,340 actuators, 240 lenslets without obstruction: LAPACK
/// uses 32-bit indices; rejected before anything is allocated), BB_INTERNAL (LAPACK did not
/// converge).
BB_CHECKED bb_status bb_deformable_mirror_create(double diameter_m, const bb_pupil *pupil,
                                                 bb_index lenslets, double condition,
                                                 bb_deformable_mirror *out);

/// Memory and time of inverting the mirror, and of the projector alone.
bb_need bb_deformable_mirror_need(const bb_pupil *pupil, bb_index lenslets);
bb_need bb_deformable_mirror_resident(const bb_pupil *pupil, bb_index lenslets);

/// Counts the actuators of a mirror, without creating it.
bb_index bb_deformable_mirror_actuators(const bb_pupil *pupil, bb_index lenslets);

/// Writes the corners of the actuators, 0..lenslets along x and along y,
/// [bb_deformable_mirror_actuators(...)] each.
void bb_deformable_mirror_corners(const bb_pupil *pupil, bb_index lenslets, bb_index *column,
                                  bb_index *row);
void bb_deformable_mirror_release(bb_deformable_mirror *mirror);

/// Returns the influence at a distance (m) from the actuator, in m of wavefront per volt.
double bb_deformable_mirror_influence(const bb_deformable_mirror *mirror, double distance_m);

/// Writes the interaction matrix [measurement_count][actuator_count], arcsec per volt. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_deformable_mirror_interaction(const bb_deformable_mirror *mirror,
                                                      const bb_pupil *pupil, double *matrix);

#endif

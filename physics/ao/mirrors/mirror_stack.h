// SPDX-License-Identifier: Apache-2.0
//
// Several deformable mirrors, each conjugated to a height: where their actuators stand and the
// slopes that they make towards any direction.
//
// A beam from direction p (radians) meets a mirror at height h shifted by h p, as it does a layer
// of the turbulence: point x of the pupil sees the mirror at x + h p. Influence of an actuator at
// a: f(r) = 1 um exp(-r^2 ln(1/c) / pitch^2), r the distance from a on the conjugate, c the
// coupling. D_p, slopes of a truth sensor in direction p for a volt on each actuator, is the point
// difference of f over a subaperture, as of one mirror (deformable_mirror.h); for averaged
// gradients too.
//
// Actuators stand on a square grid with one of them on the axis, out to the radius D / 2 + h theta
// + 0.7 pitch, theta the distance from the axis of the farthest direction with a weight: what the
// corrected field needs. A mirror at 0 m without a pitch is that of deformable_mirror.h, on the
// corners of the lenslets. Fusco et al. 2001 have the same geometry, with modes in the place of
// actuators.
//
// A mirror with influence functions of its own (influence_cube.h) has those in the place of f, as
// they lie on the conjugate, and its actuators stand where they are strongest. Its grid has to hold
// what directions with a weight see of it. Farther out it is taken to do nothing, which is refused
// where a beam gets there and functions have not fallen to 1 % of their peak at the rim.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_STACK_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_STACK_H

#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/sensor_array.h"

/// Actuators of a stack at most: LAPACK counts the items of their square in 32 bits.
#define BB_MIRROR_STACK_MOST 46340

typedef struct bb_conjugate_mirror {
    double height_m;               ///< along the line of sight
    double pitch_m;                ///< NaN: influence functions of its own
    double coupling;               ///< likewise
    double stroke_m;               ///< of wavefront, the most that a volt makes
    const bb_influence_cube *cube; ///< influence functions of its own, borrowed; NULL: Gaussian
    bb_index count;                ///< actuators
    bb_index first;                ///< actuator: the stack has them at [first, first + count)
    double *x_m;                   ///< [count] from the axis, on the conjugate
    double *y_m;                   ///< [count]
} bb_conjugate_mirror;

/// Owner of its mirrors; constant after creation.
typedef struct bb_mirror_stack {
    bb_index mirror_count;
    bb_index actuator_count;
    bb_conjugate_mirror *mirrors; ///< [mirror_count], in the config's order
} bb_mirror_stack;

/// Lays out the mirrors of a configuration that has passed bb_ao_check, whose influence functions
/// it borrows. Errors: BB_MEMORY, BB_INTERNAL (they have not been loaded). Release with
/// bb_mirror_stack_release.
BB_CHECKED bb_status bb_mirror_stack_create(const bb_ao_config *config, bb_mirror_stack *out);
void bb_mirror_stack_release(bb_mirror_stack *stack);

/// The stack of the one mirror at 0 m. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_stack_of_pupil(const bb_deformable_mirror *mirror,
                                              bb_mirror_stack *out);

/// Actuators of a configuration's mirrors, without laying them out; more than BB_MIRROR_STACK_MOST
/// are no more than counted roughly. Those of influence functions that are not loaded yet count 0.
double bb_mirror_stack_actuators(const bb_ao_config *config);
bb_need bb_mirror_stack_need(const bb_ao_config *config);

/// Gaussian influence of an actuator at the distance (dx, dy) from it on the conjugate, m of
/// wavefront per volt.
double bb_mirror_stack_influence(const bb_conjugate_mirror *mirror, double dx_m, double dy_m);

/// Whether any actuator makes a slope: not so where the only one stands in the middle of the only
/// subaperture.
bool bb_mirror_stack_moves(const bb_mirror_stack *stack, const bb_sensor *truth);

/// Whether the grids of all influence functions reach what a sensor sees; `corrected`: they have
/// to, else what lies farther out may count as 0. `who` names the sensor ("targets[2]"). Errors:
/// BB_INVALID with how far it is.
BB_CHECKED bb_status bb_mirror_stack_cover(const bb_mirror_stack *stack, const bb_sensor *sensor,
                                           bool corrected, const char *who);

/// Writes D [2 count of the sensor][actuators], arcsec per volt, x slopes then y slopes along the
/// axes of the sensor's grid: of a truth sensor, or of a guide star's, which sees a mirror at a
/// height shrunk by the cone, displaced, turned and shifted as it sees a layer. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_stack_interaction(const bb_mirror_stack *stack,
                                                 const bb_sensor *sensor, double *matrix);

#endif

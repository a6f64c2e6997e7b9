// SPDX-License-Identifier: Apache-2.0
//
// Several deformable mirrors, each conjugated to a height: positions of their actuators and their
// slopes in any direction.
//
// A beam from direction p (radians) meets a mirror at height h shifted by h p, as for a turbulent
// layer: point x of the pupil maps to x + h p on the mirror. Influence of an actuator at a: f(r) =
// 1 um exp(-r^2 ln(1/c) / pitch^2), r the distance from a on the conjugate, c the coupling. D_p,
// slopes of a truth sensor in direction p for a volt on each actuator, is the point difference of f
// over a subaperture, as for one mirror (deformable_mirror.h); also for averaged gradients.
//
// Actuators are on a square grid with one on the axis, out to the radius D / 2 + h theta + 0.7
// pitch, theta the distance from the axis of the farthest weighted direction: the extent of the
// corrected field. A mirror at 0 m without a pitch is that of deformable_mirror.h, with actuators
// at the corners of the lenslets. Fusco et al. 2001 use the same geometry, with modes instead of
// actuators.
//
// A mirror with its own influence functions (influence_cube.h) uses those instead of f, as sampled
// on the conjugate, and its actuators are at their centroids. Its grid must cover the footprints of
// weighted directions. Farther out its influence is taken as zero, which is an error if a beam
// extends there and the functions have not decreased to 1 % of their peak at the rim.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_STACK_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_STACK_H

#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/sensor_array.h"

/// Maximum number of actuators of a stack: LAPACK counts the items of their square in 32 bits.
#define BB_MIRROR_STACK_MOST 46340

typedef struct bb_conjugate_mirror {
    double height_m;               ///< along the line of sight
    double pitch_m;                ///< NaN: its own influence functions
    double coupling;               ///< NaN: its own influence functions
    double stroke_m;               ///< of wavefront, peak per volt
    const bb_influence_cube *cube; ///< its own influence functions, borrowed; NULL: Gaussian
    bb_index count;                ///< actuators
    bb_index first; ///< index of its first actuator: the stack has them at [first, first + count)
    double *x_m;    ///< [count] from the axis, on the conjugate
    double *y_m;    ///< [count]
} bb_conjugate_mirror;

/// Owner of its mirrors; constant after creation.
typedef struct bb_mirror_stack {
    bb_index mirror_count;
    bb_index actuator_count;
    bb_conjugate_mirror *mirrors; ///< [mirror_count], in the config's order
} bb_mirror_stack;

/// Lays out the mirrors of a configuration checked by bb_ao_check, borrowing its influence
/// functions. Errors: BB_MEMORY, BB_INTERNAL (they are not loaded). Release with
/// bb_mirror_stack_release.
BB_CHECKED bb_status bb_mirror_stack_create(const bb_ao_config *config, bb_mirror_stack *out);
void bb_mirror_stack_release(bb_mirror_stack *stack);

/// Creates the stack of the single mirror at 0 m. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_stack_of_pupil(const bb_deformable_mirror *mirror,
                                              bb_mirror_stack *out);

/// Number of actuators of a configuration's mirrors, without laying them out; only estimated above
/// BB_MIRROR_STACK_MOST. Influence functions that are not loaded yet count 0.
double bb_mirror_stack_actuators(const bb_ao_config *config);
bb_need bb_mirror_stack_need(const bb_ao_config *config);

/// Returns the Gaussian influence of an actuator at the distance (dx, dy) on the conjugate, m of
/// wavefront per volt.
double bb_mirror_stack_influence(const bb_conjugate_mirror *mirror, double dx_m, double dy_m);

/// Whether any actuator affects a slope: not if the only one is at the centre of the only
/// subaperture.
bool bb_mirror_stack_moves(const bb_mirror_stack *stack, const bb_sensor *truth);

/// Checks that the grids of all influence functions cover a sensor's footprint; `corrected`:
/// required, else the rest may count as 0. `who` names the sensor ("targets[2]"). Errors:
/// BB_INVALID with the required distance.
BB_CHECKED bb_status bb_mirror_stack_check_coverage(const bb_mirror_stack *stack,
                                                    const bb_sensor *sensor, bool corrected,
                                                    const char *who);

/// Computes D [2 count of the sensor][actuators], arcsec per volt, x slopes then y slopes along the
/// axes of the sensor's grid: for a truth sensor, or for a guide star's, whose footprint on a
/// mirror is shrunk by the cone effect, displaced, rotated and shifted as on a layer. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_mirror_stack_interaction(const bb_mirror_stack *stack,
                                                 const bb_sensor *sensor, double *matrix);

#endif

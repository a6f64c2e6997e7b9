// SPDX-License-Identifier: Apache-2.0
//
// Commands of several mirrors from slopes: the tomographic estimate, projected on the mirrors over
// a field of directions.
//
// Truth slopes t_p in direction p, D_p the slopes of the mirrors in that direction
// (mirror_stack.h), weights w_p of sum 1. Sensors measure the turbulence (pseudo-open loop). The
// commands minimise
//   sum_p w_p E|t_p - D_p v|^2 over v = M s:   M = F sum_p w_p D_p^T R_p,  R_p = Ctm_p Cmm^-1,
//   F = (sum_p w_p D_p^T D_p)^+ without the eigenvalues below the largest over condition^2:
// tomography, then projection over the field (Fusco, Conan, Rousset, Mugnier and Michau 2001). In
// any direction q, weighted or not, the mirrors add D_q M s: the residual is that of the
// reconstructor D_q M. With the matrices sqrt(w_p) D_p stacked, F sum_p w_p D_p^T is their
// truncated pseudo-inverse times sqrt(w_p), computed by mirror_projector.h.
//
// One mirror at 0 m is the limit: D_p = D for all p, and its score is that of the reconstructor of
// the one weighted direction (ltao), or with equal weights of the mean of all (glao), if the
// condition is that of deformable_mirror.h.
#ifndef BB_PHYSICS_AO_MIRRORS_MIRROR_COMMANDS_H
#define BB_PHYSICS_AO_MIRRORS_MIRROR_COMMANDS_H

#include "core/matrix_source.h"
#include "physics/ao/mirrors/mirror_projector.h"
#include "physics/ao/mirrors/mirror_stack.h"

/// Modes this close to the condition, in singular values, are reported: bb_plate_scale.
#define BB_MIRROR_COMMANDS_MARGIN 1.2

/// Owner of all; constant after creation.
typedef struct bb_mirror_commands {
    bb_mirror_stack stack;
    double condition; ///< upper limit of largest over smallest singular value
    bb_index target_count;
    double *weight;       ///< [target_count], sum 1
    bb_index *slopes;     ///< [target_count] m of the truth sensor
    double **interaction; ///< D_q [target_count], [m][actuators] each, arcsec per volt
    bb_index slope_count; ///< slopes of all directions with a positive weight
    double *projector;    ///< F w_p D_p^T, by p [actuators][slope_count], volts per arcsec
    bb_index dropped_modes;
    bb_weak_modes weak; ///< dropped, and up to the margin above the condition
} bb_mirror_commands;

/// Creates the commands of a configuration with mirrors; `truths` [target_count] are its truth
/// sensors. Errors: BB_MEMORY, BB_INVALID (no actuator moves a slope,
/// bb_mirror_stack_check_coverage's), BB_INTERNAL (LAPACK did not converge).
BB_CHECKED bb_status bb_mirror_commands_create(const bb_ao_config *config,
                                               const bb_sensor *const *truths,
                                               bb_mirror_commands **out);
/// Checks for errors of bb_mirror_commands_create without its cost. Errors: BB_MEMORY, BB_INVALID.
BB_CHECKED bb_status bb_mirror_commands_check(const bb_ao_config *config,
                                              const bb_sensor *const *truths);
void bb_mirror_commands_destroy(bb_mirror_commands **owner);

/// Memory and time of creating the commands, and of the commands alone. `slopes` and `corrected`
/// count those of all targets, and of the weighted ones.
bb_need bb_mirror_commands_need(const bb_ao_config *config, double slopes, double corrected);
bb_need bb_mirror_commands_resident(const bb_ao_config *config, double slopes, double corrected);

/// Computes B = F sum_p w_p D_p^T Ctm_p into `out` [actuators][n], so that M = B Cmm^-1; `ctm`
/// [target_count], each m x n. Errors: BB_MEMORY, the sources'.
BB_CHECKED bb_status bb_mirror_commands_gather(const bb_mirror_commands *commands,
                                               const bb_matrix_source *const *ctm, double *out);

/// Memory and time without `out`: blocks of Ctm, and their filling.
bb_need bb_mirror_commands_gather_need(double most_slopes, bb_index n, double actuators,
                                       double corrected, double threads);

/// Computes R' = D_q M into `r` [m of the target][n] for M [actuators][n]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_mirror_commands_apply_influence(const bb_mirror_commands *commands,
                                                        bb_index target, bb_index n,
                                                        const double *m, double *r);

// Modes of mirrors at several heights that slopes barely measure: piston of one of them, and
// opposed tilts and curvatures.
//
// A tilt of one mirror and its opposite on another cancel on the axis and give a piston in any
// other direction. Opposed curvatures leave a tilt that grows with the angle, a change of the plate
// scale; laser stars, whose tilt is unknown, do not measure it, which is why several mirrors need
// three natural stars. Piston is measured at the edges of the footprints only. The singular values
// of these modes are a tenth to a thousandth of the largest: the condition decides which of them
// are corrected, and a condition at such a mode gives a different correction from a slightly
// different one.
//
// A mode is identified by its strokes, volts times the peak wavefront per volt on the mirror: the
// fraction of their square in polynomials up to degree 2 of the position on each mirror (Ellerbroek
// and Rigaut 2001 describe the quadratic ones).

typedef enum bb_plate_shape {
    BB_PLATE_PISTONS,
    BB_PLATE_TILTS,
    BB_PLATE_CURVATURES,
    BB_PLATE_SHAPES
} bb_plate_shape;

extern const char *const bb_plate_shape_names[BB_PLATE_SHAPES];

typedef struct bb_plate_mode {
    double ratio;                  ///< singular value over the largest
    double share[BB_PLATE_SHAPES]; ///< fractions of the square of its strokes
    double alone;                  ///< largest fraction of their sum in one mirror
    bb_plate_shape shape;          ///< shape with the largest share
    bool opposed;                  ///< no mirror has nine tenths of the shares
    bool dropped;
} bb_plate_mode;

/// Lists the plate-scale modes among the weak ones whose singular value is within the margin of the
/// condition, above or below; none with a single mirror. The caller releases `out` [weak.count at
/// most]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plate_modes_find(const bb_mirror_commands *commands, bb_plate_mode **out,
                                         bb_index *count);

#endif

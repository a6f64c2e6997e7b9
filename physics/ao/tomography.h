// SPDX-License-Identifier: Apache-2.0
//
// The tomographic problem of one configuration: all covariances as matrix sources, and how a
// residual covariance is scored. One struct from the physics to the solvers and back.
//
// A reconstructor R estimates the slopes of a truth sensor in a target's direction from those of
// the guide stars: R = Ctm Cmm^-1. Laser stars do not know their tilt, which adds a variance to all
// their x slopes and to all their y slopes: Cmm = Ccore + V diag(variance) V^T. With blocks, Ccore
// has that constant in it; otherwise it is left to the solver as the low-rank part. With infinite
// variances R annihilates the tilts, R V = 0, and a residual R Cmm R^T is that of Ccore.
#ifndef BB_PHYSICS_AO_TOMOGRAPHY_H
#define BB_PHYSICS_AO_TOMOGRAPHY_H

#include "core/row_product.h"
#include "physics/ao/covariance/measurement_noise.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/mirrors/mirror_commands.h"
#include "physics/ao/score/error_terms.h"
#include "physics/ao/score/pair_strehl.h"
#include "physics/ao/score/point_spread.h"

/// What stands for the tilts of laser stars. The order is that of the names of solver.lgs_tilt.
typedef enum bb_lgs_tilt {
    BB_LGS_TILT_UPDATE,         ///< their variances, as a low-rank part beside the core
    BB_LGS_TILT_CONSTANT_BLOCK, ///< their variances, in the core
    BB_LGS_TILT_UNKNOWN         ///< infinite variances, as a low-rank part; Cmm is the core
} bb_lgs_tilt;

/// Large products in fp64 of arrays on the host, and sums, made elsewhere: by a device.
typedef struct bb_projection {
    /// out [rows][rows] = A C A^T for the `weights` A [rows][columns] and a symmetric C
    /// [columns][columns].
    bb_status (*congruence)(void *context, bb_index rows, bb_index columns, const double *weights,
                            const double *symmetric, double *out);
    /// `rows` rows of a product; `resident` is its b where the projection's device has it, else
    /// NULL.
    bb_status (*multiply)(void *context, bb_index rows, const bb_row_product *product,
                          const void *resident);
    bb_pair_summing sum_pairs; ///< of a field (score/pair_strehl.h)
    void *context;
} bb_projection;

/// One direction in which the correction is scored. Everything belongs to the tomography.
typedef struct bb_tomography_target {
    bb_sensor_array truth;
    bb_structure_table corrected; ///< with the fitting error: D of what the mirror can correct
    bb_atmosphere seen;           ///< by the truth sensor: the layers, of that D if there is one
    bb_slope_covariance *ctm_covariance;
    bb_slope_covariance *ctt_covariance;
    const bb_matrix_source *ctm; ///< m x n, arcsec^2
    const bb_matrix_source *ctt; ///< m x m, arcsec^2, noiseless
    bb_point_spread *spread;     ///< shared by targets of equal lenslets
    double *terms;               ///< [N][N] of error_terms.h, shared likewise; NULL: none
    bool owns_spread;            ///< and the terms, and `corrected`
} bb_tomography_target;

typedef struct bb_tomography {
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_measurement_noise noise;
    bb_tilt_vectors tilts; ///< the part of Cmm outside `cmm_core`; 0 columns with tilt blocks
    bb_slope_covariance *whole_covariance;
    bb_slope_covariance *core_covariance;
    const bb_matrix_source *cmm;      ///< n x n with noise and tilts: what a residual is made of
    const bb_matrix_source *cmm_core; ///< n x n: what is factored
    double shake_arcsec;              ///< of the telescope, that Cmm does not know
    bb_index target_count;
    bb_tomography_target *targets;   ///< [target_count]
    bb_mirror_commands *commands;    ///< of mirrors that correct together; NULL: one a target
    const bb_projection *projection; ///< of large products, borrowed; NULL: this host's cores
} bb_tomography;

/// Builds everything from a checked configuration (bb_ao_check), which must outlive it.
/// Errors: BB_MEMORY, BB_INVALID, BB_INTERNAL (a library failed). Owner: the caller.
BB_CHECKED bb_status bb_tomography_create(const bb_ao_config *config, bb_lgs_tilt tilt,
                                          bb_tomography **out);
void bb_tomography_destroy(bb_tomography **tomography);

/// What making it takes, and what stays of it (`held`, without seconds). Errors: BB_MEMORY, those
/// of the sensors and mirrors, which are laid out for it.
BB_CHECKED bb_status bb_tomography_need(const bb_ao_config *config, bb_lgs_tilt tilt,
                                        double threads, bb_need *making, bb_need *held);

/// What a residual covariance is of.
typedef enum bb_residual_kind {
    BB_RESIDUAL_SLOPES,   ///< of a truth sensor, [m][m], arcsec^2
    BB_RESIDUAL_COMMANDS, ///< of the target's mirror, [actuators][actuators], V^2
} bb_residual_kind;

/// Adds to a residual covariance `cee` of target `target` what an estimate leaves of a tilt of
/// `rms_arcsec` along each axis that all stars see alike (score/error_terms.h); `estimated` [m][2],
/// or [actuators][2] of commands, is what it makes of those of an arcsecond
/// (bb_error_terms_estimate_shake). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tomography_shake(const bb_tomography *tomography, bb_index target,
                                         bb_residual_kind kind, double rms_arcsec,
                                         const double *estimated, double *cee);

/// Cvv = Dx Cee Dx^T of a residual of a target's slopes, by the tomography's projection where it
/// has one: `voltages` [actuators][actuators], V^2. Errors: BB_MEMORY, the projection's.
BB_CHECKED bb_status bb_tomography_project(const bb_tomography *tomography, bb_index target,
                                           const double *cee, double *voltages);

/// The reconstructor behind a residual, for its score with all correlations (whole_residual.h).
typedef struct bb_whole_estimate {
    const struct bb_whole_residual *whole; ///< of the target
    const double *r; ///< [m][n] of slopes or [actuators][n] of commands; of mirrors that correct
                     ///< together M [actuators][n]
    const double *product; ///< M Cmm M^T [actuators][actuators] of such mirrors; NULL: of others
    bb_residual_kind kind; ///< what r is of
    const void *resident;  ///< r of slopes where the projection's device has it; NULL: `r` is read
} bb_whole_estimate;

/// Price of a residual in one direction. Arrays are the caller's; NULL: not wanted. All are NaN
/// where the residual is not finite. `correctable` and `correctable_rms` are of the residual of
/// slopes alone, all others of the whole one: exactly with `estimate`, else with the error terms as
/// independent of it.
typedef struct bb_tomography_score {
    bb_score kind;                     ///< what the caller wants
    bb_residual_kind residual;         ///< slopes or commands
    const bb_whole_estimate *estimate; ///< by pairs only; NULL: independent error terms
    double *strehl;                    ///< [wavelengths]
    double *correctable;               ///< [wavelengths] Strehl ratio
    double residual_rms;    ///< m: over the pupil without piston; stationary, the root of corr(0)
    double correctable_rms; ///< m
    bb_index psf_count;     ///< wavelengths, the first ones, of which `psf` is wanted
    double *psf;            ///< [psf_count][N][N] (bb_point_spread_layout says N)
    double *width_rad;      ///< [wavelengths] full width at half maximum
    bb_index box_count;
    const double *boxes_rad; ///< [box_count] widths of square boxes
    double *ensquared;       ///< [wavelengths][box_count] share of the energy in them
} bb_tomography_score;

/// Computes `rows` rows of a product by the tomography's projection where it has one, else by all
/// threads; `resident` as for that. Errors: BB_MEMORY, the projection's.
BB_CHECKED bb_status bb_tomography_multiply(const bb_tomography *tomography, bb_index rows,
                                            const bb_row_product *product, const void *resident);

/// Scores a residual covariance `cee` of target `target`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tomography_rate(const bb_tomography *tomography, bb_index target,
                                        const double *cee, bb_index wavelength_count,
                                        const double *wavelengths_m, bb_tomography_score *score,
                                        bb_outcome *outcome);

/// What rating one residual takes beside `cee` and what the score points to.
bb_need bb_tomography_rate_need(const bb_pupil *pupil, bb_index lenslets, bb_score kind,
                                bb_index wavelength_count, double threads);

#endif

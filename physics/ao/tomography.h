// SPDX-License-Identifier: Apache-2.0
//
// The tomographic problem of one configuration: all covariances as matrix sources, and the score of
// a residual covariance. The interface between physics and solvers.
//
// A reconstructor R estimates the slopes of a truth sensor in a target's direction from those of
// the guide stars: R = Ctm Cmm^-1. The unknown tilt of a laser star adds a variance to all its x
// slopes and to all its y slopes: Cmm = Ccore + V diag(variance) V^T. With blocks, Ccore includes
// that constant; otherwise it is left to the solver as the low-rank part. With infinite variances R
// annihilates the tilts, R V = 0, and a residual R Cmm R^T is that of Ccore.
#ifndef BB_PHYSICS_AO_TOMOGRAPHY_H
#define BB_PHYSICS_AO_TOMOGRAPHY_H

#include "core/row_product.h"
#include "physics/ao/covariance/measurement_noise.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/mirrors/mirror_commands.h"
#include "physics/ao/score/error_terms.h"
#include "physics/ao/score/pair_strehl.h"
#include "physics/ao/score/point_spread.h"

/// Representation of the tilts of laser stars. The order is that of the names of solver.lgs_tilt.
typedef enum bb_lgs_tilt {
    BB_LGS_TILT_UPDATE,         ///< their variances, as a low-rank part in addition to the core
    BB_LGS_TILT_CONSTANT_BLOCK, ///< their variances, in the core
    BB_LGS_TILT_UNKNOWN         ///< infinite variances, as a low-rank part; Cmm is the core
} bb_lgs_tilt;

/// Large fp64 products of host arrays, and sums, computed on another device.
typedef struct bb_projection {
    /// Computes out [rows][rows] = A C A^T for the `weights` A [rows][columns] and a symmetric C
    /// [columns][columns].
    bb_status (*congruence)(void *context, bb_index rows, bb_index columns, const double *weights,
                            const double *symmetric, double *out);
    /// Computes `rows` rows of a product; `resident` is its b if it is in the device's memory, else
    /// NULL.
    bb_status (*multiply)(void *context, bb_index rows, const bb_row_product *product,
                          const void *resident);
    bb_pair_summing sum_pairs; ///< for a field (score/pair_strehl.h)
    void *context;
} bb_projection;

/// One scored direction. Everything belongs to the tomography.
typedef struct bb_tomography_target {
    bb_sensor_array truth;
    bb_structure_table corrected; ///< with the fitting error: D of the correctable turbulence
    bb_atmosphere seen;           ///< for the truth sensor: the layers, with that D if there is one
    bb_slope_covariance *ctm_covariance;
    bb_slope_covariance *ctt_covariance;
    const bb_matrix_source *ctm; ///< m x n, arcsec^2
    const bb_matrix_source *ctt; ///< m x m, arcsec^2, noiseless
    bb_point_spread *spread;     ///< shared by targets with equal lenslets
    double *terms;               ///< [N][N] of error_terms.h, shared by those targets; NULL: none
    bool owns_spread;            ///< and the terms, and `corrected`
} bb_tomography_target;

typedef struct bb_tomography {
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_measurement_noise noise;
    bb_tilt_vectors tilts; ///< the part of Cmm outside `cmm_core`; 0 columns with tilt blocks
    bb_slope_covariance *whole_covariance;
    bb_slope_covariance *core_covariance;
    const bb_matrix_source *cmm;      ///< n x n with noise and tilts: used for residuals
    const bb_matrix_source *cmm_core; ///< n x n: the matrix to factor
    double shake_arcsec;              ///< vibration of the telescope, not included in Cmm
    bb_index target_count;
    bb_tomography_target *targets;   ///< [target_count]
    bb_mirror_commands *commands;    ///< commands of mirrors that correct together; NULL: none
    const bb_projection *projection; ///< projection for large products, borrowed; NULL: on the host
} bb_tomography;

/// Creates all members from a checked configuration (bb_ao_check), which must outlive it. Errors:
/// BB_MEMORY, BB_INVALID, BB_INTERNAL (a library failed). Owner: the caller.
BB_CHECKED bb_status bb_tomography_create(const bb_ao_config *config, bb_lgs_tilt tilt,
                                          bb_tomography **out);
void bb_tomography_destroy(bb_tomography **tomography);

/// Memory and time of creating it, and of the result alone (`held`, without seconds). Errors:
/// BB_MEMORY, errors of the sensors and mirrors, which are laid out for it.
BB_CHECKED bb_status bb_tomography_need(const bb_ao_config *config, bb_lgs_tilt tilt,
                                        double threads, bb_need *making, bb_need *held);

/// Quantity described by a residual covariance.
typedef enum bb_residual_kind {
    BB_RESIDUAL_SLOPES,   ///< slopes of a truth sensor, [m][m], arcsec^2
    BB_RESIDUAL_COMMANDS, ///< commands of the target's mirror, [actuators][actuators], V^2
} bb_residual_kind;

/// Adds to a residual covariance `cee` of target `target` the residual of a common tilt of
/// `rms_arcsec` along each axis of all stars (score/error_terms.h); `estimated` [m][2], or
/// [actuators][2] for commands, is the estimate's response to a tilt of one arcsecond
/// (bb_error_terms_estimate_shake). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tomography_shake(const bb_tomography *tomography, bb_index target,
                                         bb_residual_kind kind, double rms_arcsec,
                                         const double *estimated, double *cee);

/// Computes Cvv = Dx Cee Dx^T of a residual of a target's slopes, by the tomography's projection if
/// it has one: `voltages` [actuators][actuators], V^2. Errors: BB_MEMORY, the projection's.
BB_CHECKED bb_status bb_tomography_project(const bb_tomography *tomography, bb_index target,
                                           const double *cee, double *voltages);

/// The reconstructor of a residual, for its score with all correlations (whole_residual.h).
typedef struct bb_whole_estimate {
    const struct bb_whole_residual *whole; ///< of the target
    const double *r; ///< [m][n] of slopes or [actuators][n] of commands; for mirrors that correct
                     ///< together M [actuators][n]
    const double *product; ///< M Cmm M^T [actuators][actuators] for such mirrors; NULL for others
    bb_residual_kind kind; ///< quantity of r
    const void *resident;  ///< r of slopes in the projection's device memory; NULL: `r` is read
} bb_whole_estimate;

/// Score of a residual in one direction. Arrays are the caller's; NULL: omitted. All are NaN if the
/// residual is not finite. `correctable` and `correctable_rms` refer to the residual of slopes
/// only, all others to the whole one: exactly with `estimate`, else with independent error terms.
typedef struct bb_tomography_score {
    bb_score kind;                     ///< the requested score
    bb_residual_kind residual;         ///< slopes or commands
    const bb_whole_estimate *estimate; ///< by pairs only; NULL: independent error terms
    double *strehl;                    ///< [wavelengths]
    double *correctable;               ///< [wavelengths] Strehl ratio
    double residual_rms;    ///< m: over the pupil without piston; stationary: sqrt(corr(0))
    double correctable_rms; ///< m
    double tilt_rms;        ///< m: tip and tilt of an `estimate`, without independent error terms;
                            ///< NaN on devices and without an estimate
    bb_index psf_count;     ///< number of wavelengths, from the first, with a `psf`
    double *psf;            ///< [psf_count][N][N] (N from bb_point_spread_layout)
    double *width_rad;      ///< [wavelengths] full width at half maximum
    bb_index box_count;
    const double *boxes_rad; ///< [box_count] widths of square boxes
    double *ensquared;       ///< [wavelengths][box_count] fraction of the energy in them
} bb_tomography_score;

/// Computes `rows` rows of a product by the tomography's projection if it has one, else on all
/// threads; `resident` as there. Errors: BB_MEMORY, the projection's.
BB_CHECKED bb_status bb_tomography_multiply(const bb_tomography *tomography, bb_index rows,
                                            const bb_row_product *product, const void *resident);

/// Scores a residual covariance `cee` of target `target`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_tomography_rate(const bb_tomography *tomography, bb_index target,
                                        const double *cee, bb_index wavelength_count,
                                        const double *wavelengths_m, bb_tomography_score *score,
                                        bb_outcome *outcome);

/// Memory and time of scoring one residual without `cee` and the arrays of the score.
bb_need bb_tomography_rate_need(const bb_pupil *pupil, bb_index lenslets, bb_score kind,
                                bb_index wavelength_count, double threads);

#endif

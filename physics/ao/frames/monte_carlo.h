// SPDX-License-Identifier: Apache-2.0
//
// Monte-Carlo score of reconstructors by independent frames, next to the analytic one.
//
// Each frame (frame_sampler.h) has two residual wavefronts over the pupil of a target:
//   correctable  F Dx (s_truth - R s): residual of Cee, with a perfect noiseless truth sensor and
//                no fitting error;
//   whole        screens - F Dx R s: includes fitting error and aliasing;
// with F the influence functions and Dx the projector of the target's mirror. For mirrors that
// correct together (mirror_commands.h) the first uses s_truth - D_q M s, projected on a mirror of
// the target's own, and the second the mirrors' surfaces towards the target (mirror_surface.h) for
// commands M s. A long exposure is the mean of the images of the frames; its Strehl ratio the mean
// of |sum P exp(i phi)|^2 / (sum P)^2, without assumptions on the statistics of phi. Frames are
// independent: the standard error of a mean is the standard deviation of its frames over
// sqrt(frames). Sums run over frames in order, in batches that do not depend on the number of
// threads.
#ifndef BB_PHYSICS_AO_FRAMES_MONTE_CARLO_H
#define BB_PHYSICS_AO_FRAMES_MONTE_CARLO_H

#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/frames/frame_score.h"

/// One reconstructor towards one target, and its scores; arrays provided by the caller.
typedef struct bb_monte_carlo_estimate {
    bb_index target;
    const double *r;            ///< [m][n] of slopes, or [actuators][n] of commands
    bb_residual_kind kind;      ///< the estimated quantity
    const double *m;            ///< M [actuators][n] of mirrors that correct together, or NULL
    bb_frame_mean *correctable; ///< [wavelengths] Strehl ratio
    bb_frame_mean *total;       ///< [wavelengths] Strehl ratio
    bb_frame_mean residual_m2;  ///< variance of the correctable wavefront over the pupil
    double *psf; ///< [psf_pixels][psf_pixels] of the whole wavefront at the first wavelength, on
                 ///< the central pixels of bb_point_spread_image's grid, 1 at the
                 ///< diffraction-limited peak; NULL: none
} bb_monte_carlo_estimate;

typedef struct bb_monte_carlo_task {
    uint64_t seed;
    bb_index frames;
    bb_index wavelength_count;
    const double *wavelengths_m;
    bb_index estimate_count;
    bb_monte_carlo_estimate *estimates;
    bb_index psf_pixels;
    bb_index separation_count;
    const bb_index *separations; ///< [separation_count] lenslets of the first target's sensor
    bb_frame_mean *structure; ///< [separation_count] structure function of the phase over the first
                              ///< target's pupil, along x and y, over von Karman's
    bb_frame_mean *fitting;   ///< [targets] variance of the phase that the mirror leaves when it
                              ///< follows the truth sensor, over (d / r0)^(5/3), rad^2: the
                              /// fitting_coefficient of error_terms.h with this mirror's aliasing
} bb_monte_carlo_task;

/// Draws all frames. Errors: BB_MEMORY, BB_INVALID (no frame).
BB_CHECKED bb_status bb_monte_carlo_run(const bb_frame_sampler *sampler,
                                        const bb_monte_carlo_task *task);

/// Memory and time in addition to the sampler: `estimates` in total, each at all wavelengths,
/// `pictures` of them with an image.
bb_need bb_monte_carlo_need(const bb_frame_sampler_extent *frames, double estimates,
                            double wavelengths, double pictures, bb_index psf_pixels,
                            double threads);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Scores of frames, independent or of a time series: the mirror's wavefront for given slopes, the
// Strehl ratio and variance of a wavefront, and means with their errors.
#ifndef BB_PHYSICS_AO_FRAMES_FRAME_SCORE_H
#define BB_PHYSICS_AO_FRAMES_FRAME_SCORE_H

#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/mirrors/mirror_surface.h"

/// A mean over independent numbers and its standard error (NaN for fewer than two).
typedef struct bb_frame_mean {
    double mean;
    double error;
} bb_frame_mean;

/// Computes the mean of `count` numbers with a stride; the error is their standard deviation over
/// the square root of their number. Numbers are summed in order.
bb_frame_mean bb_frame_mean_of(const double *numbers, bb_index stride, bb_index count);

/// Signed distance of a mean of `count` numbers from `expected`, in standard deviations of the
/// normal distribution: the quantile of the same probability as that of Student's t with count - 1
/// degrees of freedom; t itself if that underflows. NaN for fewer than two.
double bb_frame_mean_sigmas(const bb_frame_mean *mean, double expected, bb_index count);

/// Computes |sum P exp(i phi)|^2 / (sum P)^2 of a wavefront (m) on `points` points.
double bb_frame_score_strehl(const double *transmission, const double *wavefront, bb_index points,
                             double wavelength_m);

/// Variance over the pupil without the mean (piston); m^2 for a wavefront in m.
double bb_frame_score_variance(const double *transmission, const double *wavefront,
                               bb_index points);

/// Creates the shapes of the mirrors of all targets on their pupils' points, `out` [targets].
/// Errors: BB_MEMORY. Release with bb_frame_score_shapes_release, safe on NULL.
BB_CHECKED bb_status bb_frame_score_shapes(const bb_tomography *tomography, bb_mirror_shape **out);
void bb_frame_score_shapes_release(const bb_tomography *tomography, bb_mirror_shape **shapes);

/// Creates the surfaces of mirrors that correct together, in the directions of all targets on their
/// pupils' points, `out` [targets]; NULL if each target has its own mirror. Errors: BB_MEMORY.
/// Release with bb_frame_score_surfaces_release, safe on NULL.
BB_CHECKED bb_status bb_frame_score_surfaces(const bb_tomography *tomography,
                                             bb_mirror_surface **out);
void bb_frame_score_surfaces_release(const bb_tomography *tomography, bb_mirror_surface **surfaces);

/// Computes mirror commands Dx s for slopes [m] into `volts` [actuators].
void bb_frame_score_command(const bb_mirror_shape *shape, const double *slopes, double *volts);

/// A frame and workspace for scoring it towards any target, sized for the largest. Zero-initialise;
/// release with bb_frame_scratch_release.
typedef struct bb_frame_scratch {
    bb_frame frame;
    double *slopes;   ///< [most m]
    double *volts;    ///< [most actuators]
    double *wanted;   ///< [most actuators], from the truth
    double *commands; ///< [actuators of all mirrors] that correct together; NULL if none
    double *shape;    ///< [most points]^2
    double *surface;  ///< [most points]^2
} bb_frame_scratch;

/// Allocates the workspace. Errors: BB_MEMORY; the caller releases a partial result.
BB_CHECKED bb_status bb_frame_scratch_create(const bb_frame_sampler *sampler,
                                             bb_frame_scratch *out);
void bb_frame_scratch_release(bb_frame_scratch *scratch);

/// Optics for scoring frames; borrowed.
typedef struct bb_frame_optics {
    const bb_tomography *tomography;
    const bb_mirror_shape *shapes;     ///< [targets]
    const bb_mirror_surface *surfaces; ///< [targets] of mirrors that correct together, or NULL
    bb_index wavelength_count;
    const double *wavelengths_m; ///< [wavelength_count]
} bb_frame_optics;

/// Adds `share` times the scores of a target's residual for the frame in `scratch` to `numbers` [1
/// + 2 wavelengths]: the variance of the correctable wavefront, m^2, and its Strehl ratios, for the
/// target's own mirror with voltages scratch->volts; then the Strehl ratios of the whole wavefront,
/// which is left in scratch->surface, for that mirror or for those that correct together, with
/// scratch->commands. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_score_add(const bb_frame_optics *optics, bb_index target,
                                        double share, bb_frame_scratch *scratch, double *numbers);

/// Computes F Dx s, the wavefront of a target's mirror for slopes [m], into `wavefront`
/// [points][points], m. `volts` [actuators] is scratch. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_score_shape(const bb_mirror_shape *shape, const double *slopes,
                                          double *volts, double *wavefront);

#endif

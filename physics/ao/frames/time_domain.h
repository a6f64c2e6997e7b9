// SPDX-License-Identifier: Apache-2.0
//
// The score of reconstructors in time: a controller's commands on a sky that the wind carries.
//
// Exposure k has its middle at t_k = k / rate; its slopes become command c_k (frame_controller.h).
// The pupil is looked at when that command arrives, at t_k + delay, so that the age of what is on
// the mirror is the delay exactly, fractions of a frame included. (A mirror that keeps its command
// for a frame has a mean age half a frame longer: a delay that is to stand for it holds that.) Of
// each such instant two wavefronts are left, as of independent frames (monte_carlo.h):
//   correctable  F Dx (s_truth(t_k + delay) - c_k)
//   whole        screens(t_k + delay) - F Dx c_k
// c_k in truth slopes, or F c_k of commands of the target's own mirror, Dx left out; of mirrors
// that correct together, their surfaces (mirror_surface.h) in the whole one. A long exposure is the
// mean of the images. Instants of one realisation see nearly the same sky: at 500 Hz and 10 m/s an
// 8 m pupil is renewed in 400 frames. So the mean over a realisation's instants is one number, and
// the standard error that of independent realisations.
//
// All randomness is that of (seed, realisation, frame); sums run over realisations in order.
#ifndef BB_PHYSICS_AO_FRAMES_TIME_DOMAIN_H
#define BB_PHYSICS_AO_FRAMES_TIME_DOMAIN_H

#include "physics/ao/frames/frame_controller.h"
#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/frames/frame_score.h"

/// One controller towards one target, and what came of it; arrays by the caller.
typedef struct bb_time_domain_estimate {
    bb_index target;
    bb_residual_kind kind;      ///< commands: of the target's own mirror, as they stand
    bb_index rows;              ///< of a command
    const double *q;            ///< [rows][n], as it is stored
    bb_control_product product; ///< how it is multiplied
    const double *interaction;  ///< slopes: [m][rows] from a command to them; NULL: it is these
    const double *seen;         ///< [n][rows] what guide stars see of a command; NULL: open loop
    bb_frame_mean *correctable; ///< [wavelengths] Strehl ratio
    bb_frame_mean *total;       ///< [wavelengths] Strehl ratio
    bb_frame_mean residual_m2;  ///< variance of the correctable wavefront over the pupil
    bb_index reference;  ///< estimate of the same target that `loss` is against; itself: none
    bb_frame_mean *loss; ///< [wavelengths] correctable Strehl ratio of that less this one's, on the
                         ///< same skies: its error is that of differences
} bb_time_domain_estimate;

typedef struct bb_time_domain_task {
    uint64_t seed;
    bb_index realisations; ///< at least 2, for an error
    bb_index frames;       ///< of a realisation that are scored
    bb_index settle;       ///< frames before them
    double frame_s;
    double delay_s;
    double exposure_s;
    double gain;
    const double (*wind)[2]; ///< [layers][2], m/s
    bb_index wavelength_count;
    const double *wavelengths_m;
    bb_index estimate_count;
    bb_time_domain_estimate *estimates;
} bb_time_domain_task;

/// Runs all realisations. Errors: BB_MEMORY, BB_INVALID (no frame, a loop that
/// bb_frame_controller_create refuses).
BB_CHECKED bb_status bb_time_domain_run(const bb_frame_sampler *sampler,
                                        const bb_time_domain_task *task);

/// Sizes of a task, for a plan.
typedef struct bb_time_domain_extent {
    bb_frame_sampler_extent frames; ///< of one frame
    double realisations, scored, settle;
    double estimates; ///< of all pipelines and targets
    double rows;      ///< of a command, at most
    double slopes;    ///< n
    double delay;     ///< in frames
    double wavelengths;
} bb_time_domain_extent;

/// What it takes beside the sampler and what the task points to.
bb_need bb_time_domain_need(const bb_time_domain_extent *extent, double threads);

#endif

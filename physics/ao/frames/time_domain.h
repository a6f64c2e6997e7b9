// SPDX-License-Identifier: Apache-2.0
//
// The score of reconstructors in time: a controller's commands on a sky that the wind carries.
//
// Exposure k has its middle at t_k = k / rate; its slopes become command c_k (bb_frame_controller).
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

#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/frames/frame_score.h"

// Real-time controller: commands of one frame of slopes after another by a stored matrix, an
// integrator on pseudo-open-loop slopes, and a delay.
//
// Sensors see s_k = t_k - P a_k (+ noise): the turbulence less what the mirrors make of the command
// a_k that is on them; in open loop P = 0. The controller knows P and adds it back:
//   u_k = Q (s_k + P a_k),   c_k = (1 - g) c_(k-1) + g u_k,   c_0 = u_0,
// with Q the matrix as it is stored and g the gain. Command c_k is on the mirrors from `delay`
// frames after the middle of exposure k, until the next arrives. Over the exposure of frame k, of
// length e in frames, a_k is the mean of what is on them: with L = ceil(delay + e / 2),
//   a_k = (1 - share) c_(k-L) + share c_(k-L+1),   share = max(0, (e / 2 + L - 1 - delay) / e),
// and nothing is before the first. With g = 1, c_k = Q (t_k + noise): the loop has no memory.
// Gilles 2005 has such a controller.

/// How Q s is computed where that is not in fp64; borrowed.
typedef struct bb_control_product {
    /// Q s of slopes [slopes] into `out` [rows], with `work` doubles of scratch; NULL: in fp64.
    void (*multiply)(const void *context, const double *slopes, double *work, double *out);
    const void *context; ///< read by several threads at once
    bb_index work;
} bb_control_product;

/// Constant while a loop runs; matrices are borrowed.
typedef struct bb_control_law {
    bb_index rows;   ///< of what a command is: voltages, or slopes that a mirror follows
    bb_index slopes; ///< n
    const double *q; ///< [rows][slopes]
    bb_control_product product;
    const double *seen; ///< P [slopes][rows]; NULL: open loop
    double gain;        ///< (0, 1]
    double delay;       ///< in frames, at least exposure / 2; more than that in closed loop
    double exposure;    ///< in frames, 0..1
} bb_control_law;

/// The commands of the last frames. Plain owner.
typedef struct bb_frame_controller {
    const bb_control_law *law;
    bb_index lag;     ///< L
    double share;     ///< of the newer command
    bb_index count;   ///< frames so far
    double *commands; ///< [lag + 1][rows], frame k at k mod (lag + 1)
    double *applied;  ///< a_k [rows]
    double *echo;     ///< P a_k [slopes]
    double *input;    ///< [slopes]
    double *made;     ///< u_k [rows] of a product that is not in fp64, then its scratch
} bb_frame_controller;

/// Errors: BB_MEMORY, BB_INVALID (a law that would need a command before it is made). Release with
/// bb_frame_controller_release.
BB_CHECKED bb_status bb_frame_controller_create(const bb_control_law *law,
                                                bb_frame_controller *out);
void bb_frame_controller_release(bb_frame_controller *loop);
bb_need bb_frame_controller_need(double rows, double slopes, double delay);

/// Forgets all frames.
void bb_frame_controller_restart(bb_frame_controller *loop);

/// Takes the slopes [slopes] that sensors would see without mirrors. Returns the command c_k
/// [rows], valid until the next step.
const double *bb_frame_controller_step(bb_frame_controller *loop, const double *turbulence);

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

// Sampler of frames of one sky that the wind carries (frozen flow, Taylor 1938): every layer's
// screens keep their shape and move by v t.
//
// Screens are sums of plane waves (phase_screen.h), so a move is a phase factor to each wave, exact
// at any time; sensors and pupils keep their axes. Slopes may be averaged over an exposure, a
// factor to each wave too. The waves of a screen repeat after its period, and with it what a layer
// shows after period / v: long waves from other ones of their own (subharmonics), the finer ones
// the same again. That makes frames of one realisation alike, not wrong; errors come from several
// realisations, whose screens are independent.
//
// A frame is made of (seed, realisation, time) and the number of its noise alone.

/// One realisation at a time; one for each thread.
typedef struct bb_flow_sampler bb_flow_sampler;

/// Borrows the sampler and `wind` [layers][2], m/s along x and y. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_flow_sampler_create(const bb_frame_sampler *sampler,
                                            const double (*wind)[2], bb_flow_sampler **out);
void bb_flow_sampler_destroy(bb_flow_sampler **flow);

/// Draws the screens of a realisation, those of frame `number` of the sampler.
void bb_flow_sampler_start(bb_flow_sampler *flow, uint64_t seed, uint64_t number);

/// What the sensors of `parts` (BB_FRAME_GUIDES ...) see at a time, guide stars on the mean over
/// `exposure_s` around it and with the noise of frame `noise_number`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_flow_sampler_sample(bb_flow_sampler *flow, int parts, double time_s,
                                            double exposure_s, uint64_t seed, uint64_t noise_number,
                                            bb_frame *frame);

/// What a realisation holds beside the sampler, and what drawing it takes, on one thread.
bb_need bb_flow_sampler_need(const bb_frame_sampler_extent *frames);

/// What one look takes on one thread: at guide stars and targets, of `frames` as a whole. A mean of
/// both parts counts as one.
bb_need bb_flow_sampler_sample_need(const bb_frame_sampler_extent *frames);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Time-domain score of reconstructors: a controller's commands under frozen-flow turbulence.
//
// Exposure k is centred at t_k = k / rate; its slopes become command c_k (bb_frame_controller). The
// pupil is evaluated when that command arrives, at t_k + delay, so that the age of the correction
// is exactly the delay, including fractions of a frame. (A mirror that holds its command for a
// frame has a mean age half a frame longer; include this in the delay.) Two residual wavefronts are
// scored at each instant, as for independent frames (monte_carlo.h):
//   correctable  F Dx (s_truth(t_k + delay) - c_k)
//   whole        screens(t_k + delay) - F Dx c_k
// with c_k in truth slopes, or F c_k for commands of the target's own mirror, without Dx; for
// mirrors that correct together, the whole one uses their surfaces (mirror_surface.h). A long
// exposure is the mean of the images. Instants of one realisation are strongly correlated: at 500
// Hz and 10 m/s an 8 m pupil is renewed in 400 frames. So the mean over a realisation's instants is
// one sample, and the standard error is that of independent realisations.
//
// All randomness depends on (seed, realisation, frame); sums run over realisations in order.
#ifndef BB_PHYSICS_AO_FRAMES_TIME_DOMAIN_H
#define BB_PHYSICS_AO_FRAMES_TIME_DOMAIN_H

#include "physics/ao/frames/frame_sampler.h"
#include "physics/ao/frames/frame_score.h"

// Real-time controller: commands from one frame of slopes after another with a stored matrix, an
// integrator on pseudo-open-loop slopes, and a delay.
//
// Sensors measure s_k = t_k - P a_k (+ noise): the turbulence minus the slopes of the command a_k
// on the mirrors; in open loop P = 0. The controller adds P a_k back:
//   u_k = Q (s_k + P a_k),   c_k = (1 - g) c_(k-1) + g u_k,   c_0 = u_0,
// with Q the stored matrix and g the gain. Command c_k is on the mirrors from `delay` frames after
// the centre of exposure k until the next arrives. Over the exposure of frame k, of length e in
// frames, a_k is the mean command on the mirrors: with L = ceil(delay + e / 2),
//   a_k = (1 - share) c_(k-L) + share c_(k-L+1),   share = max(0, (e / 2 + L - 1 - delay) / e),
// and zero before the first. With g = 1, c_k = Q (t_k + noise): the loop has no memory. Such a
// controller is described in Gilles 2005.

/// Computation of Q s other than in fp64; borrowed.
typedef struct bb_control_product {
    /// Q s for slopes [slopes] into `out` [rows], with `work` doubles of scratch; NULL: in fp64.
    void (*multiply)(const void *context, const double *slopes, double *work, double *out);
    const void *context; ///< read by several threads at once
    bb_index work;
} bb_control_product;

/// Constant while a loop runs; matrices are borrowed.
typedef struct bb_control_law {
    bb_index rows;   ///< length of a command: voltages, or slopes that a mirror follows
    bb_index slopes; ///< n
    const double *q; ///< [rows][slopes]
    bb_control_product product;
    const double *seen; ///< P [slopes][rows]; NULL: open loop
    double gain;        ///< gain, (0, 1]
    double delay;       ///< delay in frames, at least exposure / 2; more than that in closed loop
    double exposure;    ///< exposure in frames, 0..1
} bb_control_law;

/// The most recent commands. Plain owner.
typedef struct bb_frame_controller {
    const bb_control_law *law;
    bb_index lag;     ///< L
    double share;     ///< weight of the newer command
    bb_index count;   ///< frames so far
    double *commands; ///< [lag + 1][rows], frame k at k mod (lag + 1)
    double *applied;  ///< a_k [rows]
    double *echo;     ///< P a_k [slopes]
    double *input;    ///< [slopes]
    double *made;     ///< u_k [rows] of a product other than in fp64, then its scratch
} bb_frame_controller;

/// Creates a controller. Errors: BB_MEMORY, BB_INVALID (a law that would need a command before it
/// is computed). Release with bb_frame_controller_release.
BB_CHECKED bb_status bb_frame_controller_create(const bb_control_law *law,
                                                bb_frame_controller *out);
void bb_frame_controller_release(bb_frame_controller *loop);
bb_need bb_frame_controller_need(double rows, double slopes, double delay);

/// Discards all frames.
void bb_frame_controller_restart(bb_frame_controller *loop);

/// Processes the slopes [slopes] that sensors would measure without mirrors. Returns the command
/// c_k [rows], valid until the next step.
const double *bb_frame_controller_step(bb_frame_controller *loop, const double *turbulence);

/// One controller towards one target, and its scores; arrays provided by the caller.
typedef struct bb_time_domain_estimate {
    bb_index target;
    bb_residual_kind kind;      ///< commands: of the target's own mirror, used directly
    bb_index rows;              ///< length of a command
    const double *q;            ///< [rows][n], as stored
    bb_control_product product; ///< how it is multiplied
    const double *interaction;  ///< slopes: [m][rows] from a command to them; NULL: identity
    const double *seen;         ///< [n][rows] guide-star slopes of a command; NULL: open loop
    bb_frame_mean *correctable; ///< [wavelengths] Strehl ratio
    bb_frame_mean *total;       ///< [wavelengths] Strehl ratio
    bb_frame_mean residual_m2;  ///< variance of the correctable wavefront over the pupil
    bb_index reference;         ///< estimate of the same target that `loss` refers to; itself: none
    bb_frame_mean *loss; ///< [wavelengths] correctable Strehl ratio of the reference minus this,
    ///< on the same screens: its error is that of the differences
} bb_time_domain_estimate;

typedef struct bb_time_domain_task {
    uint64_t seed;
    bb_index realisations; ///< at least 2, for an error
    bb_index frames;       ///< scored frames per realisation
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

/// Runs all realisations. Errors: BB_MEMORY, BB_INVALID (no frame, a loop rejected by
/// bb_frame_controller_create).
BB_CHECKED bb_status bb_time_domain_run(const bb_frame_sampler *sampler,
                                        const bb_time_domain_task *task);

/// Sizes of a task, for a plan.
typedef struct bb_time_domain_extent {
    bb_frame_sampler_extent frames; ///< sizes of one frame
    double realisations, scored, settle;
    double estimates; ///< number over all pipelines and targets
    double rows;      ///< largest number in a command
    double slopes;    ///< n
    double delay;     ///< in frames
    double wavelengths;
} bb_time_domain_extent;

/// Memory and time in addition to the sampler and the arrays of the task.
bb_need bb_time_domain_need(const bb_time_domain_extent *extent, double threads);

// Sampler of frames under frozen flow (Taylor 1938): every layer's screens keep their shape and
// move by v t.
//
// Screens are sums of plane waves (phase_screen.h), so a shift is a phase factor per wave, exact at
// any time; sensors and pupils keep their axes. Slopes may be averaged over an exposure, also a
// factor per wave. The waves of a screen repeat after its period, so a layer's fine structure
// repeats after period / v, while its long waves (subharmonics) have other periods. That correlates
// frames of one realisation but does not bias them; errors come from several realisations, whose
// screens are independent.
//
// A frame depends on (seed, realisation, time) and the number of its noise only.

/// One realisation at a time; one for each thread.
typedef struct bb_flow_sampler bb_flow_sampler;

/// Borrows the sampler and `wind` [layers][2], m/s along x and y. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_flow_sampler_create(const bb_frame_sampler *sampler,
                                            const double (*wind)[2], bb_flow_sampler **out);
void bb_flow_sampler_destroy(bb_flow_sampler **flow);

/// Draws the screens of a realisation, those of frame `number` of the sampler.
void bb_flow_sampler_start(bb_flow_sampler *flow, uint64_t seed, uint64_t number);

/// Evaluates the sensors of `parts` (BB_FRAME_GUIDES ...) at a time, guide stars averaged over
/// `exposure_s` around it and with the noise of frame `noise_number`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_flow_sampler_sample(bb_flow_sampler *flow, int parts, double time_s,
                                            double exposure_s, uint64_t seed, uint64_t noise_number,
                                            bb_frame *frame);

/// Memory of a realisation in addition to the sampler, and need of drawing it, on one thread.
bb_need bb_flow_sampler_need(const bb_frame_sampler_extent *frames);

/// Memory and time of one evaluation on one thread, for guide stars and targets of `frames`. An
/// average over an exposure counts as one.
bb_need bb_flow_sampler_sample_need(const bb_frame_sampler_extent *frames);

#endif

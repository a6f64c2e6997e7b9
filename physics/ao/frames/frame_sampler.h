// SPDX-License-Identifier: Apache-2.0
//
// Independent frames of one tomographic problem: what its sensors measure of random screens, what
// noiseless truth sensors see of the same screens, and the phase over the pupil towards every
// target.
//
// Frames are drawn, not stepped: open loop (MOAO) has no memory. Every layer has a screen of its
// own (phase_screen.h), seen by a geometric Shack-Hartmann sensor; noise comes from the covariance
// of measurement_noise.h, the unknown tilts of laser stars are drawn with their variance (an
// infinite one is what the reconstructor has projected out, and is left at 0). With the fitting
// error (error_terms.h) truth sensors see the waves that their target's mirror can correct. Frame f
// is made of (seed, f) alone, whatever ran before and on however many threads.
#ifndef BB_PHYSICS_AO_FRAMES_FRAME_SAMPLER_H
#define BB_PHYSICS_AO_FRAMES_FRAME_SAMPLER_H

#include "physics/ao/frames/phase_screen.h"
#include "physics/ao/tomography.h"

#include <stdint.h>

/// Constant after creation: frames may be drawn in several threads at once.
typedef struct bb_frame_sampler bb_frame_sampler;

/// One frame. Release with bb_frame_release.
typedef struct bb_frame {
    bb_index target_count;
    double *guides;   ///< [n] measurements, arcsec
    double **truth;   ///< [targets][m] noiseless slopes, arcsec
    double **phase;   ///< [targets][points][points] on the pupil's points, m of wavefront, y by x
    void *amplitudes; ///< of the screen at hand
    void *corrected;  ///< of those that a mirror can correct
} bb_frame;

/// Sizes of the two screens of a layer.
typedef struct bb_screen_size {
    bb_index points; ///< along an edge
    double pixel_m;
    bb_index fine_points; ///< of the screen with the waves beyond
    double fine_pixel_m;
} bb_screen_size;

/// Screens whose finest pixel is a share of the smallest subaperture. The coarse screen's pixel is
/// four times that, and its period `config->screen_oversize` times the widest layer seen by all
/// stars and targets; the fine screen's period is 1.5 times that layer. Borrows the tomography.
/// Errors: BB_MEMORY, BB_UNSUPPORTED (a sensor that stands askew), bb_screen_size_for's. Not to be
/// called from several threads at once (FFTW).
BB_CHECKED bb_status bb_frame_sampler_create(const bb_tomography *tomography,
                                             const bb_monte_carlo_config *config,
                                             bb_frame_sampler **out);
void bb_frame_sampler_destroy(bb_frame_sampler **sampler);

bb_screen_size bb_frame_sampler_screen(const bb_frame_sampler *sampler);
/// What bb_frame_sampler_create would make for these sensors.
/// Errors: BB_INVALID (more than BB_PHASE_SCREEN_MOST points along an edge).
BB_CHECKED bb_status bb_screen_size_for(const bb_monte_carlo_config *config,
                                        const bb_atmosphere *atmosphere, bb_index array_count,
                                        const bb_sensor_array *const *arrays, bb_screen_size *out);

const bb_tomography *bb_frame_sampler_tomography(const bb_frame_sampler *sampler);

BB_CHECKED bb_status bb_frame_create(const bb_frame_sampler *sampler, bb_frame *out);
void bb_frame_release(bb_frame *frame);

/// Draws frame `number` of `seed`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t number,
                                   bb_frame *frame);

/// Parts of a frame, where it is made step by step: of bb_frame_clear, bb_frame_show for every
/// screen, bb_frame_finish.
enum { BB_FRAME_GUIDES = 1, BB_FRAME_TARGETS = 2, BB_FRAME_WHOLE = 3 };

/// Screens of a frame, as many of each layer, one layer after the other.
bb_index bb_frame_sampler_screens(const bb_frame_sampler *sampler);
bb_index bb_frame_sampler_layers(const bb_frame_sampler *sampler);
const bb_phase_screen *bb_frame_sampler_waves(const bb_frame_sampler *sampler, bb_index index);

/// Draws the amplitudes of a screen of frame `number` of `seed`.
void bb_frame_sampler_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t number,
                           bb_index index, bb_amplitude *amplitudes);

void bb_frame_clear(const bb_frame_sampler *sampler, int parts, bb_frame *frame);

/// Adds what the sensors of `parts` see of a screen. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_show(const bb_frame_sampler *sampler, int parts, bb_index index,
                                   const bb_amplitude *amplitudes, bb_frame *frame);

/// Phases to metres; the noise and the tilts of frame `number` to the slopes of guide stars.
void bb_frame_finish(const bb_frame_sampler *sampler, int parts, uint64_t seed, uint64_t number,
                     bb_frame *frame);

/// Sizes of the frames of a study, for its plan.
typedef struct bb_frame_sampler_extent {
    double frames, layers;
    double lines;          ///< lenslets along an edge, of all sensors
    double slopes;         ///< of all sensors
    double points;         ///< along the pupil's edge, of all targets
    double squared_points; ///< sum of their squares
    bb_index levels;       ///< of subharmonics
    bb_screen_size screen;
} bb_frame_sampler_extent;

/// What the sampler takes while it is made, and what stays: the screens and all axes.
bb_need bb_frame_sampler_need(const bb_frame_sampler_extent *frames);
bb_need bb_frame_sampler_resident(const bb_frame_sampler_extent *frames);

/// What drawing all frames takes, each thread with one of its own.
bb_need bb_frame_need(const bb_frame_sampler_extent *frames, double threads);

#endif

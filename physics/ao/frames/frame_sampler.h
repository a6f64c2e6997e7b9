// SPDX-License-Identifier: Apache-2.0
//
// Independent frames of one tomographic problem: the sensors' measurements of random screens,
// noiseless truth sensors of the same screens, and the phase over the pupil in every target's
// direction.
//
// Frames are drawn, not stepped: open loop (MOAO) has no memory. Every layer has its own screen
// (phase_screen.h), measured by a geometric Shack-Hartmann sensor; noise comes from the covariance
// of measurement_noise.h, and the unknown tilts of laser stars are drawn with their variance (an
// infinite one is projected out by the reconstructor, and is left at 0). With the fitting error
// (error_terms.h) truth sensors measure the waves that their target's mirror can correct. Frame f
// depends on (seed, f) only, not on earlier runs or the number of threads.
#ifndef BB_PHYSICS_AO_FRAMES_FRAME_SAMPLER_H
#define BB_PHYSICS_AO_FRAMES_FRAME_SAMPLER_H

#include "physics/ao/frames/phase_screen.h"
#include "physics/ao/tomography.h"

#include <stdint.h>

/// Constant after creation: several threads may draw frames at once.
typedef struct bb_frame_sampler bb_frame_sampler;

/// One frame. Release with bb_frame_release.
typedef struct bb_frame {
    bb_index target_count;
    double *guides;   ///< [n] measurements, arcsec
    double **truth;   ///< [targets][m] noiseless slopes, arcsec
    double **phase;   ///< [targets][points][points] on the pupil's points, m of wavefront, y by x
    void *amplitudes; ///< amplitudes of the current screen
    void *corrected;  ///< those that a mirror can correct
} bb_frame;

/// Sizes of the two screens of a layer.
typedef struct bb_screen_size {
    bb_index points; ///< points along an edge
    double pixel_m;
    bb_index fine_points; ///< points of the screen with the waves beyond
    double fine_pixel_m;
} bb_screen_size;

/// Screens whose finest pixel is a fraction of the smallest subaperture. The coarse screen's pixel
/// is four times that, and its period `config->screen_oversize` times the widest layer area of all
/// stars and targets; the fine screen's period is 1.5 times that area. Borrows the tomography.
/// Errors: BB_MEMORY, BB_UNSUPPORTED (a rotated sensor), errors of bb_screen_size_for. Do not call
/// from several threads at once (FFTW).
BB_CHECKED bb_status bb_frame_sampler_create(const bb_tomography *tomography,
                                             const bb_monte_carlo_config *config,
                                             bb_frame_sampler **out);
void bb_frame_sampler_destroy(bb_frame_sampler **sampler);

bb_screen_size bb_frame_sampler_screen(const bb_frame_sampler *sampler);
/// Screen sizes that bb_frame_sampler_create would use for these sensors. Errors: BB_INVALID (more
/// than BB_PHASE_SCREEN_MOST points along an edge).
BB_CHECKED bb_status bb_screen_size_for(const bb_monte_carlo_config *config,
                                        const bb_atmosphere *atmosphere, bb_index array_count,
                                        const bb_sensor_array *const *arrays, bb_screen_size *out);

const bb_tomography *bb_frame_sampler_tomography(const bb_frame_sampler *sampler);

BB_CHECKED bb_status bb_frame_create(const bb_frame_sampler *sampler, bb_frame *out);
void bb_frame_release(bb_frame *frame);

/// Draws frame `number` of `seed`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t number,
                                   bb_frame *frame);

/// Parts of a frame, for step-by-step generation with bb_frame_clear, bb_frame_show for every
/// screen, bb_frame_finish.
enum { BB_FRAME_GUIDES = 1, BB_FRAME_TARGETS = 2, BB_FRAME_WHOLE = 3 };

/// Number of screens of a frame, the same for each layer, ordered by layer.
bb_index bb_frame_sampler_screens(const bb_frame_sampler *sampler);
bb_index bb_frame_sampler_layers(const bb_frame_sampler *sampler);
const bb_phase_screen *bb_frame_sampler_waves(const bb_frame_sampler *sampler, bb_index index);

/// Draws the amplitudes of a screen of frame `number` of `seed`.
void bb_frame_sampler_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t number,
                           bb_index index, bb_amplitude *amplitudes);

void bb_frame_clear(const bb_frame_sampler *sampler, int parts, bb_frame *frame);

/// Adds a screen's contribution to the sensors of `parts`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_frame_show(const bb_frame_sampler *sampler, int parts, bb_index index,
                                   const bb_amplitude *amplitudes, bb_frame *frame);

/// Converts phases to metres; adds noise and tilts of frame `number` to the slopes of guide stars.
void bb_frame_finish(const bb_frame_sampler *sampler, int parts, uint64_t seed, uint64_t number,
                     bb_frame *frame);

/// Sizes of the frames of a study, for its plan.
typedef struct bb_frame_sampler_extent {
    double frames, layers;
    double lines;          ///< lenslets along an edge, summed over all sensors
    double slopes;         ///< summed over all sensors
    double points;         ///< along the pupil's edge, summed over all targets
    double squared_points; ///< sum of their squares
    bb_index levels;       ///< levels of subharmonics
    bb_screen_size screen;
} bb_frame_sampler_extent;

/// Memory and time of creating the sampler, and of the sampler alone: the screens and all axes.
bb_need bb_frame_sampler_need(const bb_frame_sampler_extent *frames);
bb_need bb_frame_sampler_resident(const bb_frame_sampler_extent *frames);

/// Memory and time of drawing all frames, one per thread at a time.
bb_need bb_frame_need(const bb_frame_sampler_extent *frames, double threads);

#endif

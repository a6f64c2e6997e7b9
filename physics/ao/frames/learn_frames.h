// SPDX-License-Identifier: Apache-2.0
//
// Sample covariances of the slopes of random frames: the data that a telescope would learn from.
//
// The frames of frame_sampler.h, including noise and laser tilts, are divided into batches of equal
// size; each batch gives an estimate S = 1/F sum s s^T of the covariance (slopes have mean 0). The
// scatter of the results learned from the batches is their standard error, however the entries of S
// are correlated.
#ifndef BB_PHYSICS_AO_FRAMES_LEARN_FRAMES_H
#define BB_PHYSICS_AO_FRAMES_LEARN_FRAMES_H

#include "core/matrix_source.h"
#include "physics/ao/frames/frame_sampler.h"

enum { BB_LEARN_BATCHES = 16 };

/// Plain owner.
typedef struct bb_learn_frames {
    bb_index measurements;    ///< n
    double *values;           ///< [BB_LEARN_BATCHES][n][n]
    bb_view *views;           ///< [BB_LEARN_BATCHES] views of the values
    bb_matrix_source *source; ///< [BB_LEARN_BATCHES]
} bb_learn_frames;

/// Draws `frames` (rounded up to whole batches) from number `first` of `seed` on. Errors:
/// BB_MEMORY. Release with bb_learn_frames_release.
BB_CHECKED bb_status bb_learn_frames_draw(const bb_frame_sampler *sampler, uint64_t seed,
                                          uint64_t first, bb_index frames, bb_learn_frames *out);

/// Memory and time of drawing in addition to the sampler, and of the result alone; `frames->frames`
/// is rounded up.
bb_need bb_learn_frames_need(const bb_frame_sampler_extent *frames, bb_index measurements,
                             double threads);
bb_need bb_learn_frames_resident(bb_index measurements);
void bb_learn_frames_release(bb_learn_frames *frames);

#endif

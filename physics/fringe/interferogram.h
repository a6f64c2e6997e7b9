// SPDX-License-Identifier: Apache-2.0
//
// Frames of a phase-shifting interferometer. Frame n of N at a pixel of full scale 1:
//
//     I_n = mean (1 + contrast cos(phase + step_n (1 + step_error) + v_n)) + noise
//
// v_n is the vibration of a frame. Steps of least squares begin at 0, those of Carre's formula are
// symmetric about 0: (n - 3/2) step. The one frame of a carrier has 2 pi (x column + y row) added
// to its phase instead.
#ifndef BB_PHYSICS_FRINGE_INTERFEROGRAM_H
#define BB_PHYSICS_FRINGE_INTERFEROGRAM_H

#include "physics/fringe/scene.h"

typedef struct bb_frames {
    bb_index steps, columns, rows;
    double *steps_rad; ///< [steps], nominal, as assumed by detection
    double *intensity; ///< [steps][rows][columns], relative to full scale; NaN without data
} bb_frames;

/// Simulates the frames of a scene, not quantised and not clipped, in doubles. Noise and vibration
/// depend on (seed, draw) only. The configuration must be the scene's and its algorithm not none.
/// The same bits at any number of threads. Errors: BB_INVALID, BB_MEMORY. Owner: the caller, who
/// releases with bb_frames_destroy.
BB_CHECKED bb_status bb_frames_create(const bb_fringe_config *config, const bb_scene *scene,
                                      uint64_t seed, bb_index draw, bb_frames **out);

/// Quantises the frames in place as a camera of `bits` bits (1..16): the nearest of the levels k /
/// (2^bits - 1), halves to even; BB_INTEGER_UNSET: clips only. Values outside 0..1 saturate and are
/// counted in `*saturated` (NULL: omitted), over all frames.
void bb_frames_quantise(bb_frames *frames, bb_index bits, bb_index *saturated);

void bb_frames_destroy(bb_frames **frames);

bb_need bb_frames_need(const bb_fringe_config *config);

#endif

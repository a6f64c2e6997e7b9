// SPDX-License-Identifier: Apache-2.0
//
// The truth: the unwrapped phase that an interferometer looks at, on the pixels of its camera.
//
//     phase = 2 pi height / (wavelength waves_per_fringe) + tilt + vortices + noise
//
// Tilt is 0 in the middle of the array. A pair of vortices at the corners z1, z2 of pixels adds
// arg((z - z1) conj(z - z2)), whose cut of one cycle is the straight line between the two. Around a
// pixel's corner that a vortex sits at, wrapped differences add to one cycle: a residue.
#ifndef BB_PHYSICS_FRINGE_SCENE_H
#define BB_PHYSICS_FRINGE_SCENE_H

#include "core/need.h"
#include "physics/fringe/fringe_config.h"

#include <stdint.h>

/// A pair of residues, in pixels from the centre of the first one; both half-integers.
typedef struct bb_vortex_pair {
    double plus_x, plus_y;   ///< around which the phase grows from x towards y
    double minus_x, minus_y; ///< around which it falls
} bb_vortex_pair;

typedef struct bb_scene {
    bb_index columns, rows;
    double *phase;         ///< [rows][columns], rad; NaN where `mask` is 0
    unsigned char *mask;   ///< [rows][columns], 1 where there is data
    bb_vortex_pair *pairs; ///< [pair_count]
    bb_index pair_count;
} bb_scene;

/// Draws the truth from a checked configuration (bb_fringe_config_check). Surface, pupil, holes,
/// dead pixels and vortices depend on the seed alone, the noise of the phase on `draw` too. A pair
/// of vortices tries up to 100 places for one where the pupil, holes and dead pixels left aside,
/// holds the four pixels around each; without success it takes the last. A pupil may be left
/// without pixels. A pair lies along a row or a column, where the straight cut is the only shortest
/// one; of a slanted pair every staircase is as short, and no phase could tell. The same bits at
/// any number of threads. Errors: BB_INVALID for a draw outside 0..2^31 - 1, BB_MEMORY. Owner: the
/// caller, who releases with bb_scene_destroy.
BB_CHECKED bb_status bb_scene_create(const bb_fringe_config *config, uint64_t seed, bb_index draw,
                                     bb_scene **out);

void bb_scene_destroy(bb_scene **scene);

bb_need bb_scene_need(const bb_fringe_config *config);

#endif

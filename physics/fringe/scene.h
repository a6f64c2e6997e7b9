// SPDX-License-Identifier: Apache-2.0
//
// The truth: the unwrapped phase of the measured surface, on the pixels of the interferometer's
// camera.
//
//     phase = 2 pi height / (wavelength waves_per_fringe) + tilt + vortices + noise
//
// Tilt is 0 at the centre of the array. A pair of vortices at the corners z1, z2 of pixels adds
// arg((z - z1) conj(z - z2)), whose cut of one cycle is the straight line between the two. Around a
// pixel corner with a vortex, wrapped differences add up to one cycle: a residue.
#ifndef BB_PHYSICS_FRINGE_SCENE_H
#define BB_PHYSICS_FRINGE_SCENE_H

#include "core/need.h"
#include "physics/fringe/fringe_config.h"

#include <stdint.h>

/// A pair of residues, in pixels from the centre of the first one; both at half-integers.
typedef struct bb_vortex_pair {
    double plus_x, plus_y;   ///< phase grows around it from x towards y
    double minus_x, minus_y; ///< phase decreases around it
} bb_vortex_pair;

typedef struct bb_scene {
    bb_index columns, rows;
    double *phase;         ///< [rows][columns], rad; NaN where `mask` is 0
    unsigned char *mask;   ///< [rows][columns], 1 for pixels with data
    bb_vortex_pair *pairs; ///< [pair_count]
    bb_index pair_count;
} bb_scene;

/// Generates the truth of a checked configuration (bb_fringe_config_check). Surface, pupil, holes,
/// dead pixels and vortices depend on the seed only, the noise of the phase on `draw` too. A pair
/// of vortices tries up to 100 positions for one with the four pixels around each vortex in the
/// pupil, ignoring holes and dead pixels; without success the last one is used. A pupil without
/// pixels is accepted. A pair is along a row or a column, where the straight cut is the unique
/// shortest one; for a slanted pair every staircase is as short, and the cut would be ambiguous.
/// The same bits at any number of threads. Errors: BB_INVALID for a draw outside 0..2^31 - 1,
/// BB_MEMORY. Owner: the caller, who releases with bb_scene_destroy.
BB_CHECKED bb_status bb_scene_create(const bb_fringe_config *config, uint64_t seed, bb_index draw,
                                     bb_scene **out);

void bb_scene_destroy(bb_scene **scene);

bb_need bb_scene_need(const bb_fringe_config *config);

#endif

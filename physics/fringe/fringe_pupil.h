// SPDX-License-Identifier: Apache-2.0
//
// The pupil of an interferometer on the pixels of its camera: which of them see the surface (shape,
// spiders, gaps), and which of those give no data (holes, dead pixels).
#ifndef BB_PHYSICS_FRINGE_FRINGE_PUPIL_H
#define BB_PHYSICS_FRINGE_FRINGE_PUPIL_H

#include "physics/fringe/fringe_config.h"

#include <stdint.h>

/// 1 where the centre of a pixel of `mask` [rows][columns] lies in the shape, in no vane and in no
/// gap, else 0. Nothing random. Errors: those of threads.
BB_CHECKED bb_status bb_fringe_pupil_draw(const bb_fringe_config *config, unsigned char *mask);

/// Sets pixels of holes and dead ones to 0. Holes keep their places, as fractions, at any size of
/// the array. Errors: those of threads.
BB_CHECKED bb_status bb_fringe_pupil_damage(const bb_fringe_config *config, uint64_t seed,
                                            unsigned char *mask);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The pupil of an interferometer on the pixels of its camera: the pixels of the surface (shape,
// spiders, gaps), and those without data (holes, dead pixels).
#ifndef BB_PHYSICS_FRINGE_FRINGE_PUPIL_H
#define BB_PHYSICS_FRINGE_FRINGE_PUPIL_H

#include "physics/fringe/fringe_config.h"

#include <stdint.h>

/// Sets `mask` [rows][columns] to 1 where the centre of a pixel is inside the shape and in no vane
/// or gap, else to 0. Deterministic. Errors: from threads.
BB_CHECKED bb_status bb_fringe_pupil_draw(const bb_fringe_config *config, unsigned char *mask);

/// Sets dead pixels and pixels of holes to 0. Holes keep their positions, as fractions, at any size
/// of the array. Errors: from threads.
BB_CHECKED bb_status bb_fringe_pupil_damage(const bb_fringe_config *config, uint64_t seed,
                                            unsigned char *mask);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Small shapes of a caller's program that follow from the sizes at hand, for its verification.
//
// Objects' extents depend on each other in ways that only the program knows: equal ones, a fine
// grid of twice a coarse one, rows and one. So sizes are scaled in several ways, and those are
// shapes which the program binds: columns and rows apart, each extent as a multiple of the smallest
// and what is left over (16 at most, else in proportion); each extent by its rank; all by one
// factor. Extents up to 16 stay, but by rank. Sizes that are small themselves are a shape too.
#ifndef BB_SOLVERS_KERNELS_TUNING_CALLER_SHAPES_H
#define BB_SOLVERS_KERNELS_TUNING_CALLER_SHAPES_H

#include "solvers/kernels/tuning/caller_elements.h"
#include "solvers/kernels/tuning/trial_data.h"

enum { BB_CALLER_SHAPES = BB_TRIAL_SHAPES + 1 };

typedef struct bb_caller_shape {
    bb_trial_data sizes; ///< without elements
    bb_caller_limits limits;
} bb_caller_shape;

/// Finds shapes [BB_CALLER_SHAPES], at least one, with points, of which no two are the same.
/// `set` is the program bound to its sizes, which has points, `limits` those of its integers;
/// where it is small it is the first shape. Shapes that pass no edge which the set does not pass
/// are preferred. Errors: BB_INVALID (none binds, with what is against the last), BB_MEMORY.
BB_CHECKED bb_status bb_caller_shapes_find(const bb_binding *set, const bb_scalar *parameters,
                                           const bool *is_range, bb_caller_limits limits,
                                           bb_caller_shape *shapes, int *count);

#endif

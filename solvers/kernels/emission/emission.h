// SPDX-License-Identifier: Apache-2.0
//
// A program as source text of a back end. The text holds for all sizes but for which accesses stay
// inside their objects; sizes, parameters and what they decide are arguments.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_H

#include "core/text.h"
#include "solvers/kernels/emission/choice.h"

/// Whose language a source is in.
typedef enum bb_emission_target {
    BB_EMISSION_C,
    BB_EMISSION_OPENCL,
    BB_EMISSION_CUDA,
    BB_EMISSION_TARGET_COUNT,
} bb_emission_target;

/// Raised with every change of what is printed: times that were measured before count no more.
enum { BB_EMISSION_VERSION = 2 };

/// Entries of the source: one over the main space, and one that runs once, after it, where the
/// program has an ICF over the space.
#define BB_EMISSION_BODY   "bb_body"
#define BB_EMISSION_FINISH "bb_finish"

/// Arguments of both entries: the objects' elements in order, then `values` (those of the host that
/// the source uses) in order, then a block for each accumulator of the main space's ICF, of one
/// number a chunk.
typedef struct bb_emission {
    bb_text source;
    int *values; ///< [value_count] numbers of values
    int value_count;
    /// Points of dimension 0 that an item of BB_EMISSION_BODY takes; 0: an item is a chunk of an
    /// ICF over the space.
    bb_index tile;
    bb_index body_items[BB_PROGRAM_DIMENSIONS]; ///< work-items of a work-group of BB_EMISSION_BODY
    bb_index finish_items;                      ///< and of BB_EMISSION_FINISH
} bb_emission;

/// Source in the target's language, in a legal variant whose order of sums the program has
/// (bb_choice_apply). On the cpu (C17, see core/device/build.h) items of the body are tiles of
/// dimension 0 by lines of dimension 1, or, with an ICF over the space, chunks of points. On other
/// devices they are work-groups (bb_form). `is_inside` [step_count] says which accesses need no
/// boundary. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_emission_create(bb_emission_target target, const bb_program *program,
                                        const bool *is_inside, const bb_choice *choice,
                                        bb_emission *out);
void bb_emission_release(bb_emission *emission);

#endif

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
enum { BB_EMISSION_VERSION = 6 };

/// Entries of the source: one over the main space, and one that runs after it where sums come in
/// parts.
#define BB_EMISSION_BODY   "bb_body"
#define BB_EMISSION_FINISH "bb_finish"

/// Arguments of both entries: the objects' elements in order, then `values` (those of the host that
/// the source uses) in order, then, where there is a BB_EMISSION_FINISH, a block of parts for each
/// accumulator of bb_emission_parted and how many parts a sum has.
typedef struct bb_emission {
    bb_text source;
    int *values; ///< [value_count] numbers of values
    int value_count;
    /// A sum comes in parts: of the space's ICF, one a chunk; or of the only iterator, for each
    /// point one a chunk of its range, points fastest.
    bool is_parted;
    /// Points that an item (cpu) or work-group of BB_EMISSION_BODY takes; of the space's ICF [0] is
    /// chunks. Chunks of an iterator are the second dimension of its groups.
    bb_index body_points[BB_PROGRAM_DIMENSIONS];
    bb_index body_items[BB_PROGRAM_DIMENSIONS]; ///< work-items of a work-group of BB_EMISSION_BODY
    bb_index finish_points;                     ///< of a work-group of BB_EMISSION_FINISH
    bb_index finish_items[BB_PROGRAM_DIMENSIONS]; ///< and its work-items
} bb_emission;

/// Source in the target's language, in a legal variant whose order of sums the program has
/// (bb_choice_apply). Of loops, as on the cpu (C17, see core/device/build.h), items of the body are
/// tiles of dimension 0 by lines of dimension 1, or, with an ICF over the space, chunks of points;
/// in OpenCL they are work-groups of one. Elsewhere they are work-groups (bb_form). `is_inside`
/// [step_count] says which accesses need no boundary. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_emission_create(bb_emission_target target, const bb_program *program,
                                        const bool *is_inside, const bb_choice *choice,
                                        bb_emission *out);
void bb_emission_release(bb_emission *emission);

/// The sum that comes in parts where there is one.
const bb_reduction *bb_emission_parted(const bb_program *program);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A program as source text of a backend. The text is valid for all sizes with the same accesses
// inside their objects; sizes, parameters and values derived from them are arguments.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_H

#include "core/text.h"
#include "solvers/kernels/emission/choice.h"

/// Language of a source.
typedef enum bb_emission_target {
    BB_EMISSION_C,
    BB_EMISSION_OPENCL,
    BB_EMISSION_CUDA,
    BB_EMISSION_TARGET_COUNT,
} bb_emission_target;

/// Version of the printed texts, raised with every change, which invalidates earlier measurements.
enum { BB_EMISSION_VERSION = 6 };

/// Entries of the source: one over the main space, and one that runs afterwards if sums are split
/// into parts.
#define BB_EMISSION_BODY   "bb_body"
#define BB_EMISSION_FINISH "bb_finish"

/// Arguments of both entries: the elements of the objects in order, then `values` (host values used
/// by the source) in order, and with a BB_EMISSION_FINISH one block of parts for each accumulator
/// of bb_emission_parted, and the number of parts of a sum.
typedef struct bb_emission {
    bb_text source;
    int *values; ///< [value_count] indices of values
    int value_count;
    /// The sum is split into parts: the reduction over the space has one part per chunk; the only
    /// iterator has one per point and chunk of its range, points varying fastest.
    bool is_parted;
    /// Points per item (cpu) or per work-group of BB_EMISSION_BODY; for a reduction over the space
    /// [0] counts chunks. Chunks of an iterator are the second dimension of its groups.
    bb_index body_points[BB_PROGRAM_DIMENSIONS];
    bb_index body_items[BB_PROGRAM_DIMENSIONS]; ///< work-items per work-group of BB_EMISSION_BODY
    bb_index finish_points;                     ///< points per work-group of BB_EMISSION_FINISH
    /// Work-items per work-group of BB_EMISSION_FINISH.
    bb_index finish_items[BB_PROGRAM_DIMENSIONS];
} bb_emission;

/// Prints source in the target's language, in a legal variant whose order of sums is that of the
/// program (bb_choice_apply). Loops, as on the cpu (C17, see core/device/build.h), have items that
/// are tiles of dimension 0 by lines of dimension 1 or, with a reduction over the space, chunks of
/// points; in OpenCL each item is a work-group of one work-item. Otherwise items are work-groups
/// (bb_form). `is_inside` [step_count] lists the accesses that need no boundary. Errors: BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_emission_create(bb_emission_target target, const bb_program *program,
                                        const bool *is_inside, const bb_choice *choice,
                                        bb_emission *out);
void bb_emission_release(bb_emission *emission);

/// Returns the sum that is split into parts, if there is one.
const bb_reduction *bb_emission_parted(const bb_program *program);

#endif

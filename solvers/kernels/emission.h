// SPDX-License-Identifier: Apache-2.0
//
// A program as source text of a back end. The text holds for all sizes but for which accesses stay
// inside their objects; sizes, parameters and what they decide are arguments.
#ifndef BB_SOLVERS_KERNELS_EMISSION_H
#define BB_SOLVERS_KERNELS_EMISSION_H

#include "core/text.h"
#include "solvers/kernels/program.h"

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
    bb_index tile; ///< points of dimension 0 that an item of BB_EMISSION_BODY takes; 0: chunks
} bb_emission;

/// Source in C17 for the cpu (see core/device/build.h). Items of the body are tiles of dimension 0
/// by lines of dimension 1, or, with an ICF over the space, chunks of points. `is_inside`
/// [step_count] says which accesses need no boundary. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_emission_create_c(const bb_program *program, const bool *is_inside,
                                          bb_emission *out);
void bb_emission_release(bb_emission *emission);

#endif

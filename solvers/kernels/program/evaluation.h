// SPDX-License-Identifier: Apache-2.0
//
// Reference evaluator of the kernel language: runs a bound program step by step, with the types and
// the order of sums that the program declares. Every backend is bit-identical to it.
//
// Order of a reduction over n numbered items (dimension 0 of its space fastest): chunks of `chunk`
// consecutive items (a single chunk if `chunk` is 0). Within a chunk, item j is added to lane j mod
// lanes, in ascending order; lane i then adds lane i + w for w = lanes / 2, ..., 1. The results of
// the chunks are the items of a reduction of the same order, until one is left. Lane 0 of the first
// chunk starts from ICFInit, the others from the neutral element. Items left out by `skip` do not
// contribute. In sums, a product computed only for the sum is accumulated by fma.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_EVALUATION_H
#define BB_SOLVERS_KERNELS_PROGRAM_EVALUATION_H

#include "solvers/kernels/program/binding.h"

/// Runs every point in order on the calling thread and changes the elements of the written objects.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_evaluation_run(const bb_binding *binding);

/// Load element `index` of packed elements as a value, and store one; a value is converted to the
/// type.
bb_scalar bb_evaluation_load(bb_element_type type, const void *elements, bb_index index);
void bb_evaluation_store(bb_element_type type, void *elements, bb_index index, bb_scalar value);

/// Maps `number` into 0 ... extent - 1 by a boundary; -1 if there is no such element (zero, skip,
/// none).
int64_t bb_evaluation_place(bb_boundary boundary, int64_t number, int64_t extent);

#endif

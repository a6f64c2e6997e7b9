// SPDX-License-Identifier: Apache-2.0
//
// The law of the kernel language: runs a bound program step by step, in the types and in the order
// of sums that the program declares. Every back end gives the same bits.
//
// Order of a reduction over n numbered items (dimension 0 of its space fastest): chunks of `chunk`
// consecutive items (one chunk of all where chunk is 0); in a chunk, item j goes to lane
// j mod lanes, in rising order; lane i then takes lane i + w for w = lanes / 2, ..., 1. The chunks'
// results are items of a reduction of the same order, until one is left. Lane 0 of the first chunk
// starts from ICFInit, others from the neutral element. Items left out by `skip` take part in
// nothing. Of sums, a product made for the sum alone goes in by fma.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_EVALUATION_H
#define BB_SOLVERS_KERNELS_PROGRAM_EVALUATION_H

#include "solvers/kernels/program/binding.h"

/// Runs every point in order on the calling thread and changes the written objects' elements.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_evaluation_run(const bb_binding *binding);

/// Element `index` of packed elements as a value, and back; a value is converted to the type.
bb_scalar bb_evaluation_load(bb_element_type type, const void *elements, bb_index index);
void bb_evaluation_store(bb_element_type type, void *elements, bb_index index, bb_scalar value);

/// `number`'s place in 0 ... extent - 1 by a boundary; -1 where there is none (zero, skip, none).
int64_t bb_evaluation_place(bb_boundary boundary, int64_t number, int64_t extent);

#endif

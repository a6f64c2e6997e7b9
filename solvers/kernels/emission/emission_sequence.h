// SPDX-License-Identifier: Apache-2.0
//
// Programs over few points, one after another, as a single text that one work-group runs: one
// function per program, and an entry that walks a table of steps. Each step completes in all
// work-items before the next begins. The text depends on the programs only, not on the number of
// steps.
//
// Indices have 32 bits in such texts (bb_emission_sequence_supports), and no pointer is declared
// restrict, because a step may read what an earlier one wrote.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_SEQUENCE_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_SEQUENCE_H

#include "solvers/kernels/emission/emission.h"
#include "solvers/kernels/program/binding.h"

enum {
    BB_EMISSION_SEQUENCE_ITEMS = 1024, ///< work-items of the group
    /// With more points than this, five per work-item, a separate launch is faster: estimated from
    /// 100 instructions per point, 4 per clock, compared with 2 us or more for a launch within a
    /// graph.
    BB_EMISSION_SEQUENCE_POINTS = 5 * BB_EMISSION_SEQUENCE_ITEMS,
};

/// A program of some steps, borrowed.
typedef struct bb_emission_member {
    const bb_program *program;
    const bool *is_inside; ///< [step_count] accesses that need no boundary in any of its steps
    int *values; ///< [value_count] host values in the rows of its steps; set by the emission
    int value_count;
} bb_emission_member;

/// Source whose BB_EMISSION_BODY runs as one item, or one work-group of `items`. Its arguments are
/// the table, a block of rows of `row_words` 64-bit words, the first row, and the row after the
/// last, INT32.
typedef struct bb_emission_sequence {
    bb_text source;
    bb_emission_member *members; ///< [count]
    int count;
    bb_index items;
    bb_index row_words;
} bb_emission_sequence;

/// True if a bound program may be a step: few points, no reductions, and sizes and selectors whose
/// values fit in 32 bits.
bool bb_emission_sequence_supports(const bb_binding *binding);

/// Prints a text whose steps run `members` [count], at least one, in C or CUDA. Errors: BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_emission_sequence_create(bb_emission_target target,
                                                 const bb_emission_member *members, int count,
                                                 bb_emission_sequence *out);
void bb_emission_sequence_release(bb_emission_sequence *sequence);

/// Fills a row [row_words] of the table for member number `member` over `blocks` [object_count].
void bb_emission_sequence_row(const bb_emission_sequence *sequence, int member,
                              const bb_binding *binding, void *const *blocks, uint64_t *row);

#endif

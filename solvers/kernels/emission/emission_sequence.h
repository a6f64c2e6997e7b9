// SPDX-License-Identifier: Apache-2.0
//
// Programs over few points, one after another, as one text that one work-group runs: a function a
// program, and an entry that goes through a table of steps, each of which has finished, for all
// work-items, before the next begins. The text depends on the programs alone, not on how many steps
// there are.
//
// Numbers of positions are of 32 bits in such texts (bb_emission_sequence_supports), and no pointer
// is declared to be the only one: what a step has written a later one reads.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_SEQUENCE_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_SEQUENCE_H

#include "solvers/kernels/emission/emission.h"
#include "solvers/kernels/program/binding.h"

enum {
    BB_EMISSION_SEQUENCE_ITEMS = 1024, ///< work-items of the group
    /// More points than this, five a work-item, are done sooner by a launch of their own: reckoned,
    /// 100 instructions each, 4 a clock, against the 2 us and more of a launch within a graph.
    BB_EMISSION_SEQUENCE_POINTS = 5 * BB_EMISSION_SEQUENCE_ITEMS,
};

/// A program that steps run, borrowed.
typedef struct bb_emission_member {
    const bb_program *program;
    const bool *is_inside; ///< [step_count] accesses that need no boundary in any of its steps
    int *values;           ///< [value_count] values of the host that its steps' rows hold; made
    int value_count;
} bb_emission_member;

/// Arguments of BB_EMISSION_BODY, of which one item or one work-group of `items` runs: the table, a
/// block of rows of `row_words` words of 64 bits; the first row and the one behind the last, INT32.
typedef struct bb_emission_sequence {
    bb_text source;
    bb_emission_member *members; ///< [count]
    int count;
    bb_index items;
    bb_index row_words;
} bb_emission_sequence;

/// Whether a bound program may be a step: few points, none of which sums anything, and sizes and
/// selectors whose numbers 32 bits hold.
bool bb_emission_sequence_supports(const bb_binding *binding);

/// Prints a text whose steps run `members` [count], at least one, in C or CUDA. Errors: BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_emission_sequence_create(bb_emission_target target,
                                                 const bb_emission_member *members, int count,
                                                 bb_emission_sequence *out);
void bb_emission_sequence_release(bb_emission_sequence *sequence);

/// Fills a row [row_words] of the table: member number `member` over `blocks` [object_count].
void bb_emission_sequence_row(const bb_emission_sequence *sequence, int member,
                              const bb_binding *binding, void *const *blocks, uint64_t *row);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What the back ends print alike: names of values, reads, writes and functions of a body.
#ifndef BB_SOLVERS_KERNELS_EMISSION_EMISSION_STEPS_H
#define BB_SOLVERS_KERNELS_EMISSION_EMISSION_STEPS_H

#include "solvers/kernels/emission/emission.h"

enum { BB_EMISSION_NAME_BYTES = 48 };

/// What neighbouring points of a work-item take together (emission_vectors.h).
typedef struct bb_emission_vectors bb_emission_vectors;

/// What a work-group keeps in its local memory (emission_locals.h).
typedef struct bb_emission_locals bb_emission_locals;

typedef struct bb_emission_writer {
    const bb_program *program;
    const bb_expression_dialect *dialect;
    const bb_choice *choice;
    bool runs_loops;       ///< of one work-item (bb_choice.tile)
    const bool *is_inside; ///< [step_count]
    const bool *is_fast;   ///< [step_count] likewise, where this piece of text stands; may be NULL
    const bb_emission_vectors *vectors; ///< of the points of this piece of text; NULL: none
    const bb_emission_locals *locals;   ///< likewise
    bool *is_used;                      ///< [value_count] values of the host that stand in the text
    bb_text *out;
    int depth; ///< of indentation
} bb_emission_writer;

/// Appends a formatted line, indented.
BB_CHECKED bb_status bb_emission_line(bb_emission_writer *writer, const char *format, ...)
    BB_PRINTF(2, 3);

/// "float"
const char *bb_emission_type(const bb_emission_writer *writer, bb_element_type type);

/// The variable that holds a value: h3 (host), x0 (main space), k2_0 (iterator 2), r5 (read),
/// f7_12 (function), s9 (reduction).
const char *bb_emission_name(bb_emission_writer *writer, int value,
                             char name[BB_EMISSION_NAME_BYTES]);

/// Appends an access's coordinates as declarations a<step>_0 and a<step>_1; `position` (or -1) is a
/// value that is taken as 0 in them, under names with the prefix b.
BB_CHECKED bb_status bb_emission_coordinates(bb_emission_writer *writer, int step, int position);

/// Whether an access may leave its object where this piece of text stands.
bool bb_emission_has_boundary(const bb_emission_writer *writer, int step);

/// Appends a read, write or function. A read that is left out by its boundary goes on with the next
/// point of the loop around it: `continue`.
BB_CHECKED bb_status bb_emission_step(bb_emission_writer *writer, int step);

/// Appends target[k] = ICF(target, inputs) of a body's item, for every accumulator k.
BB_CHECKED bb_status bb_emission_take(bb_emission_writer *writer, const bb_reduction *reduction,
                                      const char *target);

/// For bb_emission_create: fill `emission` with the source and how its entries are launched.
BB_CHECKED bb_status bb_emission_fill_loops(bb_emission_writer *writer, bb_emission_target target,
                                            bb_emission *emission);
BB_CHECKED bb_status bb_emission_fill_gpu(bb_emission_writer *writer, bb_emission_target target,
                                          bb_emission *emission);

/// Lists the values of the host that the text uses.
BB_CHECKED bb_status bb_emission_list_values(const bb_emission_writer *writer, bb_emission *out);

/// Appends a function `name` that joins two parts, each an array of the accumulators, into the
/// first.
BB_CHECKED bb_status bb_emission_join_function(bb_emission_writer *writer,
                                               const bb_reduction *reduction, const char *name);

#endif

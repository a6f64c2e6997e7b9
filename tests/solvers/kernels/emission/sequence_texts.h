// SPDX-License-Identifier: Apache-2.0
//
// Sources of sequences, of shipped kernels and of small kernels, bound to sizes.
#ifndef BB_TESTS_SOLVERS_KERNELS_EMISSION_SEQUENCE_TEXTS_H
#define BB_TESTS_SOLVERS_KERNELS_EMISSION_SEQUENCE_TEXTS_H

#include "solvers/kernels/emission/emission_sequence.h"
#include "tests/solvers/kernels/program_fixture.h"

/// A description in T, SP or DP, bound with vectors or matrices of these extents, every parameter
/// `number`.
typedef struct bound_text {
    program_fixture fixture;
    bb_binding binding;
} bound_text;

static inline void bound_text_make(bound_text *bound, const char *text, const char *type,
                                   bb_index columns, bb_index rows, int64_t number)
{
    fixture_make(&bound->fixture, text, "T", type);
    for (int i = 0; i < bound->fixture.program.object_count; ++i) {
        const bool is_vector = bound->fixture.program.objects[i].structure == BB_STRUCTURE_VECTOR;
        bound->fixture.data[i] = (bb_program_data){columns, is_vector ? 1 : rows, NULL};
    }
    for (int i = 0; i < bound->fixture.program.parameter_count; ++i) {
        bound->fixture.parameters[i] = (bb_scalar){{(double)number, 0.0}, number};
    }
    check_ok(bb_binding_create(&bound->fixture.program, bound->fixture.data,
                               bound->fixture.parameters, &bound->fixture.problems,
                               &bound->binding));
    fixture_check_sound(&bound->fixture);
}

static inline void bound_text_release(bound_text *bound)
{
    bb_binding_release(&bound->binding);
    fixture_release(&bound->fixture);
}

/// A point of a matrix and its neighbour, times a parameter; and a fill.
static const char sequence_shift[] =
    "kernel shift (a: matrix T clamp; b: matrix T; f: T; n: INT32)\n"
    "for x in b.columns, y in b.rows\n"
    "  b[x, y] = f * a[x + n, y]\n";
static const char sequence_fill[] = "kernel fill (a: vector T; f: T)\n"
                                    "for k in a.size\n"
                                    "  a[k] = f\n";

/// Source of both kernels, `shift` first, and the bindings it was made from.
static inline void sequence_text_make(bb_emission_target target, bound_text bound[2],
                                      bb_emission_sequence *out)
{
    bound_text_make(&bound[0], sequence_shift, "DP", 5, 3, 2);
    bound_text_make(&bound[1], sequence_fill, "SP", 7, 1, 3);
    const bb_emission_member members[] = {
        {.program = &bound[0].fixture.program, .is_inside = bound[0].binding.is_inside},
        {.program = &bound[1].fixture.program, .is_inside = bound[1].binding.is_inside}};
    check_ok(bb_emission_sequence_create(target, members, 2, out));
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Integer expressions of a bound program as constants plus multiples of atoms. They show which
// elements selectors reach, and which selectors are equal.
//
// Atoms are values unknown before the kernel runs (positions, elements that are read), and
// expressions that are not sums: quotients and remainders by constants, and opaque expressions.
// Equal atoms have equal numbers.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_AFFINE_H
#define BB_SOLVERS_KERNELS_PROGRAM_AFFINE_H

#include "solvers/kernels/program/program.h"

enum { BB_AFFINE_TERMS = 12 };

typedef struct bb_affine_term {
    int atom;
    int64_t coefficient; ///< nonzero
} bb_affine_term;

/// Terms by ascending atom.
typedef struct bb_affine {
    int64_t constant;
    int count;
    bb_affine_term terms[BB_AFFINE_TERMS];
} bb_affine;

/// Closed interval; empty if minimum > maximum.
typedef struct bb_interval {
    int64_t minimum, maximum;
} bb_interval;

typedef enum bb_atom_kind {
    BB_ATOM_VALUE,     ///< the value `value`
    BB_ATOM_QUOTIENT,  ///< `operand` divided by `divisor`, truncated
    BB_ATOM_REMAINDER, ///< remainder of that division, with the sign of the operand
    BB_ATOM_OPAQUE,    ///< unknown number within the interval, different from all other atoms
} bb_atom_kind;

typedef struct bb_atom {
    bb_atom_kind kind;
    int value;
    bb_affine operand;
    int64_t divisor;
    bb_interval interval; ///< for a position of unknown range: its start
    int range;            ///< form `ranges[range]` of a position of unknown range; otherwise -1
} bb_atom;

/// Atoms and forms of one bound program.
typedef struct bb_affine_system {
    const bb_program *program;
    const bb_scalar *values;           ///< [value_count] values known on the host
    const bb_interval *element_ranges; ///< [object_count] ranges of the elements of integer objects
    bb_affine *functions;              ///< [value_count] forms of FunctionBlock outputs, filled in
                                       ///< order
    bb_atom *atoms;
    int atom_count, atom_capacity;
    bb_affine *ranges; ///< forms of the ranges of positions of unknown range
    int range_count, range_capacity;
    bool is_large;    ///< true if a selector's sum has reached 2^60 since it was last cleared
    int64_t farthest; ///< largest magnitude of a number of type index so far; at most 2^60
} bb_affine_system;

/// `values` are the values known on the host, `element_ranges` the current elements of integer
/// objects; all are borrowed. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_affine_system_create(const bb_program *program, const bb_scalar *values,
                                             const bb_interval *element_ranges,
                                             bb_affine_system *out);

/// Computes the form of an integer value. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_affine_of_value(bb_affine_system *system, int value, bb_affine *out);

/// Computes the form of output `output` of an access's selector.
BB_CHECKED bb_status bb_affine_of_selector(bb_affine_system *system, const bb_step *step,
                                           int output, bb_affine *out);

/// Bounds of a form: exact if atoms are independent, otherwise conservative.
bb_interval bb_affine_interval(const bb_affine_system *system, const bb_affine *form);

bool bb_affine_equal(const bb_affine *form, const bb_affine *other);

void bb_affine_system_release(bb_affine_system *system);

#endif

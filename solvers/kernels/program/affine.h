// SPDX-License-Identifier: Apache-2.0
//
// Integer expressions of a bound program as constants plus multiples of atoms: what selectors
// reach, and which of them are equal, is read off them.
//
// Atoms are values that are not known before the kernel runs (positions, elements that were read)
// and what is no sum of those: quotients and remainders by constants, and opaque expressions. Equal
// atoms have equal numbers.
#ifndef BB_SOLVERS_KERNELS_PROGRAM_AFFINE_H
#define BB_SOLVERS_KERNELS_PROGRAM_AFFINE_H

#include "solvers/kernels/program/program.h"

enum { BB_AFFINE_TERMS = 12 };

typedef struct bb_affine_term {
    int atom;
    int64_t coefficient; ///< not 0
} bb_affine_term;

/// Terms by rising atom.
typedef struct bb_affine {
    int64_t constant;
    int count;
    bb_affine_term terms[BB_AFFINE_TERMS];
} bb_affine;

/// Closed; empty where minimum > maximum.
typedef struct bb_interval {
    int64_t minimum, maximum;
} bb_interval;

typedef enum bb_atom_kind {
    BB_ATOM_VALUE,     ///< `value`
    BB_ATOM_QUOTIENT,  ///< of `operand` by `divisor`, truncated
    BB_ATOM_REMAINDER, ///< likewise, with the sign of the operand
    BB_ATOM_OPAQUE,    ///< something within the interval, equal to nothing else
} bb_atom_kind;

typedef struct bb_atom {
    bb_atom_kind kind;
    int value;
    bb_affine operand;
    int64_t divisor;
    bb_interval interval; ///< of a position whose range is not known: what it starts from
    int range;            ///< of such a position: form `ranges[range]`; else -1
} bb_atom;

/// Atoms and forms of one bound program.
typedef struct bb_affine_system {
    const bb_program *program;
    const bb_scalar *values;           ///< [value_count] of those that stand on the host
    const bb_interval *element_ranges; ///< [object_count] of integer objects' elements
    bb_affine *functions; ///< [value_count] of what FunctionBlocks make, filled in order
    bb_atom *atoms;
    int atom_count, atom_capacity;
    bb_affine *ranges; ///< of positions whose range is not known
    int range_count, range_capacity;
    bool is_large;    ///< a selector's sum has reached 2^60 since this was last cleared
    int64_t farthest; ///< no number of type index so far was further from 0; at most 2^60
} bb_affine_system;

/// `values` are those of the host, `element_ranges` the elements of integer objects as they stand;
/// all are borrowed. Errors: BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_affine_system_create(const bb_program *program, const bb_scalar *values,
                                             const bb_interval *element_ranges,
                                             bb_affine_system *out);

/// The form of an integer value. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_affine_of_value(bb_affine_system *system, int value, bb_affine *out);

/// The form of output `output` of an access's selector.
BB_CHECKED bb_status bb_affine_of_selector(bb_affine_system *system, const bb_step *step,
                                           int output, bb_affine *out);

/// Bounds of a form: exact where atoms are independent, else around what it takes.
bb_interval bb_affine_interval(const bb_affine_system *system, const bb_affine *form);

bool bb_affine_equal(const bb_affine *form, const bb_affine *other);

void bb_affine_system_release(bb_affine_system *system);

#endif

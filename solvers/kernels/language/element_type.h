// SPDX-License-Identifier: Apache-2.0
//
// Element types of the kernel language (seed 002, Table 2): a row of one table each.
//
// Source: Beier, "A self-optimizing framework for developing metrology software on massive parallel
// processor architectures", Table 2.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_ELEMENT_TYPE_H
#define BB_SOLVERS_KERNELS_LANGUAGE_ELEMENT_TYPE_H

#include "core/status.h"

#include <stdbool.h>

typedef enum bb_element_type {
    BB_ELEMENT_B,     ///< 0 or 1 in one unsigned byte
    BB_ELEMENT_INT32, ///< two's complement; + - * wrap
    BB_ELEMENT_SP,    ///< IEEE 754 binary32
    BB_ELEMENT_DP,    ///< IEEE 754 binary64
    BB_ELEMENT_SP2,   ///< complex: real, imaginary
    BB_ELEMENT_DP2,
    BB_ELEMENT_TYPE_COUNT,
    /// Of emitters only: sizes, positions of a space and what integer blocks make of them; 64 bits.
    BB_ELEMENT_INDEX = BB_ELEMENT_TYPE_COUNT,
} bb_element_type;

typedef struct bb_element_row {
    const char *name; ///< "SP"
    size_t bytes;     ///< of an element in memory
    int parts;        ///< 2: complex
    bool is_float;    ///< of its parts
    bb_element_type part;
    unsigned widens_to; ///< sum of 1 << type over those that take it without a FunctionBlock
} bb_element_row;

/// The row of a type, that of BB_ELEMENT_INDEX too.
const bb_element_row *bb_element_type_row(bb_element_type type);

/// Whether a value of `source` may be handed to an acceptor of `target` as it is or wider: INT32 to
/// SP to DP, B to INT32, real to complex of the same or a wider part, in any number of such steps.
/// INT32 and index go to each other, and index to all that INT32 goes to: a block that computes
/// with positions takes its own type.
bool bb_element_type_widens(bb_element_type source, bb_element_type target);

/// Whether a word is the name of a type.
bool bb_element_type_is(const char *name);

/// Type by name; index has none. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_element_type_find(const char *name, bb_element_type *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Selectors as sums, before sizes are known: they show which accesses are neighbours in memory.
// (affine.h has the forms of bound programs, through FunctionBlocks, with intervals.)
#ifndef BB_SOLVERS_KERNELS_PROGRAM_SELECTOR_FORM_H
#define BB_SOLVERS_KERNELS_PROGRAM_SELECTOR_FORM_H

#include "solvers/kernels/program/program.h"

enum { BB_SELECTOR_TERMS = 8 };

/// A multiple of a value, or of a node of the selector that is not a sum.
typedef struct bb_selector_term {
    int value; ///< -1: a node
    int node;
    int64_t coefficient; ///< nonzero
} bb_selector_term;

typedef struct bb_selector_form {
    const bb_step *step; ///< step of the selector, borrowed
    bool is_known;       ///< false: too many terms, or numbers beyond 2^60
    int64_t constant;
    int count;
    bb_selector_term terms[BB_SELECTOR_TERMS];
} bb_selector_form;

/// The form of output `output` of an access's selector.
bb_selector_form bb_selector_form_of(const bb_step *step, int output);

/// Computes the slope of the selector with respect to `value`; returns false if it is not constant.
bool bb_selector_form_slope(const bb_selector_form *form, int value, int64_t *out);

/// True if two accesses of one object differ by constants only. `distances` are the constants of
/// `other` minus those of `step`.
bool bb_selector_form_shift(const bb_step *step, const bb_step *other,
                            int64_t distances[BB_PROGRAM_DIMENSIONS]);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Values and accesses of the notation (notation_reader.h), lowered to elements. Texts are copied
// as they stand, with #in(k) and v0 ... in place of names: what they mean is for expression.h.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_VALUE_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_VALUE_H

#include "solvers/kernels/language/notation.h"

enum { BB_NOTATION_MAX_DEPTH = 64 };

/// Reads an expression and gives its emitter; what it takes is made below `parent`: a read for each
/// access, and a FunctionBlock where it is more than a name. `type` (NULL: as the notation says) is
/// that of the block; `fallback` that of a value without objects and types.
BB_CHECKED bb_status bb_notation_value(bb_notation *notation, bb_element *parent, const char *type,
                                       const char *fallback, const bb_notation_emitter **out);

/// Reads `[column, row | BOUNDARY]` of an object and makes the access; `place` is the object's.
BB_CHECKED bb_status bb_notation_value_access(bb_notation *notation, bb_element *parent,
                                              bb_notation_name *object, bool write, bb_place place,
                                              const char **out);

/// The object that a word names, NULL where it names none; which is then refused.
bb_notation_name *bb_notation_value_object(const bb_notation *notation, bb_notation_token word);
BB_CHECKED bb_status bb_notation_value_refuse(bb_notation *notation, bb_notation_token word);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Words, numbers and signs of the notation (notation_reader.h), one at a time. A copy of a scanner
// goes on from where it was made.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_SCANNER_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_SCANNER_H

#include "core/problem.h"

#include <stdbool.h>

typedef enum bb_notation_token_kind {
    BB_NOTATION_WORD,
    BB_NOTATION_INTEGER,
    BB_NOTATION_FRACTION, ///< a number with a point or an exponent
    BB_NOTATION_SIGN,     ///< an operator, a bracket, a separator; bytes that are none of these too
    BB_NOTATION_LINE,     ///< the end of a line on which no bracket is open
    BB_NOTATION_END,
} bb_notation_token_kind;

typedef struct bb_notation_token {
    bb_notation_token_kind kind;
    const char *start; ///< [length] in the bytes; no NUL ends it
    bb_index length;
    bb_index blanks; ///< before it; a line's end within brackets counts as one
    bb_place place;
} bb_notation_token;

/// Set bytes, length and place (of the first byte) to start.
typedef struct bb_notation_scanner {
    const char *bytes;
    bb_index length, offset;
    bb_index open; ///< brackets that are open
    bb_place place;
} bb_notation_scanner;

/// The next token; BB_NOTATION_END ever after the last.
bb_notation_token bb_notation_scanner_next(bb_notation_scanner *scanner);

bool bb_notation_token_is(bb_notation_token token, const char *text);

#endif

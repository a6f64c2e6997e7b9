// SPDX-License-Identifier: Apache-2.0
//
// State shared by the parts of the notation reader: position, known names, and the description
// under construction. Private to notation_reader.c and its parts.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_H

#include "core/arena.h"
#include "core/problem.h"
#include "solvers/kernels/language/description.h"

#include <stdbool.h>

// Scanner of words, numbers and signs; a copy of a scanner continues independently.

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

/// Meaning of a name.
typedef enum bb_notation_noun {
    BB_NOTATION_KERNEL,
    BB_NOTATION_OBJECT,
    BB_NOTATION_PARAMETER,
    BB_NOTATION_VALUE, ///< an index of a space too
    BB_NOTATION_LET,
} bb_notation_noun;

/// What a connection starts from.
typedef struct bb_notation_emitter {
    const char *port; ///< "s.out"
    const char *type;
} bb_notation_emitter;

/// Where reading goes on: the token at hand, and the scanner behind it.
typedef struct bb_notation_cursor {
    bb_notation_scanner scanner;
    bb_notation_token token;
} bb_notation_cursor;

typedef struct bb_notation_name bb_notation_name;
struct bb_notation_name {
    bb_notation_noun noun;
    const char *text;
    bb_place place;
    const bb_notation_emitter *emitter;  ///< of a value that is made, and of a parameter
    const bb_notation_emitter *sizes[2]; ///< of an object, as they are asked for
    const char *type;                    ///< of an object's elements
    const char *boundary;                ///< of an object's reads
    const char *written;                 ///< of an object: its last write so far, NULL: none
    bool is_matrix;
    bool failed;             ///< its statement had a problem, which was told
    bool expanding;          ///< of a let: it stands in what is read now
    bb_notation_cursor body; ///< of a let
    bb_notation_name *next;  ///< in its bucket
};

enum { BB_NOTATION_BUCKETS = 1024 };

/// Zero-initialise; memory is the arena's.
typedef struct bb_notation_names {
    bb_notation_name *buckets[BB_NOTATION_BUCKETS];
} bb_notation_names;

/// The name that a token is, NULL where there is none.
bb_notation_name *bb_notation_names_find(const bb_notation_names *names, bb_notation_token token);

/// Forgets a name: the index of a sum that has ended.
void bb_notation_names_remove(bb_notation_names *names, const bb_notation_name *name);

typedef struct bb_notation {
    bb_notation_cursor cursor;
    bb_notation_names names;
    bb_description *description;
    bb_problems *problems;
    bb_element *children, *connections; ///< sections
    bb_element *rules;                  ///< that of ordering rules, NULL until there is one
    const char *kernel;                 ///< its name
    bb_index made;                      ///< elements and extents that were numbered
    bb_index expansions;                ///< of let
    int depth;                          ///< of brackets and lets
    bool refused;                       ///< the statement at hand is given up, its problem told
} bb_notation;

/// Takes the next token.
void bb_notation_advance(bb_notation *notation);

/// Whether the token at hand is this text.
bool bb_notation_at(const bb_notation *notation, const char *text);

/// Adds a problem at a place and gives the statement up: BB_INVALID with `refused` set, which
/// BB_TRY hands on to the loop of statements.
BB_CHECKED bb_status bb_notation_refuse(bb_notation *notation, bb_place place, const char *format,
                                        ...) BB_PRINTF(3, 4);

/// Refuses the token at hand: "expected ..., got 'token'".
BB_CHECKED bb_status bb_notation_refuse_token(bb_notation *notation, const char *expected);

/// Whether the statement is at its end; and refuses the token at hand where it is not.
bool bb_notation_at_end(const bb_notation *notation);
BB_CHECKED bb_status bb_notation_expect_end(bb_notation *notation);

/// Takes a word, such as a type. The copy is the description's.
BB_CHECKED bb_status bb_notation_read_word(bb_notation *notation, const char *expected,
                                           const char **out);

/// Takes the token at hand where it is this text, and refuses it otherwise.
BB_CHECKED bb_status bb_notation_expect(bb_notation *notation, const char *text);

/// Refuses the word, with the nearest of `words` [count] and then of the names, where `names` says.
BB_CHECKED bb_status bb_notation_refuse_word(bb_notation *notation, bb_notation_token word,
                                             const char *what, const char *const *words,
                                             bb_index count, bool names);

/// Takes a word that is to be a name and is none yet.
BB_CHECKED bb_status bb_notation_declare(bb_notation *notation, bb_notation_noun noun,
                                         bb_notation_name **out);

/// An emitter "owner.port"; the owner's name and the type are borrowed.
BB_CHECKED bb_status bb_notation_emit(bb_notation *notation, const char *owner, const char *port,
                                      const char *type, const bb_notation_emitter **out);

/// A new element below `parent`, and an attribute of one.
BB_CHECKED bb_status bb_notation_add(bb_notation *notation, bb_element *parent, const char *name,
                                     bb_place place, bb_element **out);
BB_CHECKED bb_status bb_notation_set(bb_notation *notation, bb_element *element,
                                     bb_description_key key, const char *value, bb_place place);

/// Connects an emitter with "owner.port(index)", or with "owner.port" for an index below 0.
BB_CHECKED bb_status bb_notation_wire(bb_notation *notation, const bb_notation_emitter *emitter,
                                      const char *owner, const char *port, bb_index index,
                                      bb_place place);

/// Takes a boundary's word; the token at hand is refused where it is none.
BB_CHECKED bb_status bb_notation_boundary(bb_notation *notation, const char **out);

enum { BB_NOTATION_FUNCTION_COUNT = 11 };

/// Functions that may be called.
extern const char *const bb_notation_functions[BB_NOTATION_FUNCTION_COUNT];

/// The number of values that a function takes, 0 for other words.
int bb_notation_function_values(bb_notation_token word);

// Values and accesses (notation_value.c), lowered to elements. Texts are copied
// as they stand, with #in(k) and v0 ... in place of names: what they mean is for expression.h.

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

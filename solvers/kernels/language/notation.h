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
    BB_NOTATION_SIGN,     ///< an operator, bracket or separator, or any other byte
    BB_NOTATION_LINE,     ///< end of a line outside brackets
    BB_NOTATION_END,
} bb_notation_token_kind;

typedef struct bb_notation_token {
    bb_notation_token_kind kind;
    const char *start; ///< [length] in the bytes, not NUL-terminated
    bb_index length;
    bb_index blanks; ///< number of blanks before it; an end of line within brackets counts as one
    bb_place place;
} bb_notation_token;

/// Scanner state; set bytes, length and place (of the first byte) to start.
typedef struct bb_notation_scanner {
    const char *bytes;
    bb_index length, offset;
    bb_index open; ///< number of open brackets
    bb_place place;
} bb_notation_scanner;

/// Returns the next token; after the last one always BB_NOTATION_END.
bb_notation_token bb_notation_scanner_next(bb_notation_scanner *scanner);
bool bb_notation_token_is(bb_notation_token token, const char *text);

/// Meaning of a name.
typedef enum bb_notation_noun {
    BB_NOTATION_KERNEL,
    BB_NOTATION_OBJECT,
    BB_NOTATION_PARAMETER,
    BB_NOTATION_VALUE, ///< including an index of a space
    BB_NOTATION_LET,
} bb_notation_noun;

/// Source of a connection.
typedef struct bb_notation_emitter {
    const char *port; ///< "s.out"
    const char *type;
} bb_notation_emitter;

/// Read position: the current token, and the scanner after it.
typedef struct bb_notation_cursor {
    bb_notation_scanner scanner;
    bb_notation_token token;
} bb_notation_cursor;

typedef struct bb_notation_name bb_notation_name;
struct bb_notation_name {
    bb_notation_noun noun;
    const char *text;
    bb_place place;
    const bb_notation_emitter *emitter;  ///< emitter of a computed value or of a parameter
    const bb_notation_emitter *sizes[2]; ///< extents of an object, created on demand
    const char *type;                    ///< type of an object's elements
    const char *boundary;                ///< boundary of an object's reads
    const char *written;                 ///< name of an object's last write so far, NULL: none
    bool is_matrix;
    bool failed;             ///< its statement had a problem, which has been reported
    bool expanding;          ///< of a let: it is being expanded
    bb_notation_cursor body; ///< position of a let's text
    bb_notation_name *next;  ///< next entry in its bucket
};

enum { BB_NOTATION_BUCKETS = 1024 };

/// Hash table of names. Zero-initialise; memory belongs to the arena.
typedef struct bb_notation_names {
    bb_notation_name *buckets[BB_NOTATION_BUCKETS];
} bb_notation_names;

/// Finds the name of a token, NULL if there is none.
bb_notation_name *bb_notation_names_find(const bb_notation_names *names, bb_notation_token token);

/// Removes a name: the index of a completed sum.
void bb_notation_names_remove(bb_notation_names *names, const bb_notation_name *name);

typedef struct bb_notation {
    bb_notation_cursor cursor;
    bb_notation_names names;
    bb_description *description;
    bb_problems *problems;
    bb_element *children, *connections; ///< sections
    bb_element *rules;                  ///< section of ordering rules, NULL until there is one
    const char *kernel;                 ///< name of the kernel
    bb_index made;                      ///< counter for generated names of elements and extents
    bb_index expansions;                ///< number of let expansions
    int depth;                          ///< nesting of brackets and lets
    bool refused; ///< the current statement is abandoned after a reported problem
} bb_notation;

/// Advances to the next token.
void bb_notation_advance(bb_notation *notation);

/// True if the current token is this text.
bool bb_notation_at(const bb_notation *notation, const char *text);

/// Adds a problem at a place and abandons the statement: returns BB_INVALID with `refused` set,
/// which BB_TRY passes on to the loop over statements.
BB_CHECKED bb_status bb_notation_refuse(bb_notation *notation, bb_place place, const char *format,
                                        ...) BB_PRINTF(3, 4);

/// Reports the current token: "expected ..., got 'token'".
BB_CHECKED bb_status bb_notation_refuse_token(bb_notation *notation, const char *expected);

/// True at the end of the statement; the second reports the current token otherwise.
bool bb_notation_at_end(const bb_notation *notation);
BB_CHECKED bb_status bb_notation_expect_end(bb_notation *notation);

/// Reads a word, such as a type. The copy belongs to the description.
BB_CHECKED bb_status bb_notation_read_word(bb_notation *notation, const char *expected,
                                           const char **out);

/// Consumes the current token if it is this text, and reports it otherwise.
BB_CHECKED bb_status bb_notation_expect(bb_notation *notation, const char *text);

/// Reports an unknown word, with the nearest of `words` [count] and, if `names`, of the known
/// names.
BB_CHECKED bb_status bb_notation_refuse_word(bb_notation *notation, bb_notation_token word,
                                             const char *what, const char *const *words,
                                             bb_index count, bool names);

/// Reads a word that is to become a new name.
BB_CHECKED bb_status bb_notation_declare(bb_notation *notation, bb_notation_noun noun,
                                         bb_notation_name **out);

/// Creates an emitter "owner.port"; the owner's name and the type are borrowed.
BB_CHECKED bb_status bb_notation_emit(bb_notation *notation, const char *owner, const char *port,
                                      const char *type, const bb_notation_emitter **out);

/// Add an element below `parent`, and set an attribute.
BB_CHECKED bb_status bb_notation_add(bb_notation *notation, bb_element *parent, const char *name,
                                     bb_place place, bb_element **out);
BB_CHECKED bb_status bb_notation_set(bb_notation *notation, bb_element *element,
                                     bb_description_key key, const char *value, bb_place place);

/// Connects an emitter to "owner.port(index)", or to "owner.port" for an index below 0.
BB_CHECKED bb_status bb_notation_wire(bb_notation *notation, const bb_notation_emitter *emitter,
                                      const char *owner, const char *port, bb_index index,
                                      bb_place place);

/// Reads the word of a boundary, or reports the current token.
BB_CHECKED bb_status bb_notation_boundary(bb_notation *notation, const char **out);

enum { BB_NOTATION_FUNCTION_COUNT = 11 };

/// Functions that may be called.
extern const char *const bb_notation_functions[BB_NOTATION_FUNCTION_COUNT];

/// Number of arguments of a function, 0 for other words.
int bb_notation_function_values(bb_notation_token word);

// Values and accesses (notation_value.c), lowered to elements. Expression texts are copied
// unchanged, with #in(k) and v0 ... instead of names; expression.h defines their meaning.

enum { BB_NOTATION_MAX_DEPTH = 64 };

/// Parses an expression and returns its emitter. The elements it needs are created below `parent`:
/// a read for each access, and a FunctionBlock unless it is a single name. `type` (NULL: by the
/// rules of the notation) is that of the block; `fallback` that of a value without objects and
/// types.
BB_CHECKED bb_status bb_notation_value(bb_notation *notation, bb_element *parent, const char *type,
                                       const char *fallback, const bb_notation_emitter **out);

/// Parses `[column, row | BOUNDARY]` of an object and creates the access; `place` is the object's.
BB_CHECKED bb_status bb_notation_value_access(bb_notation *notation, bb_element *parent,
                                              bb_notation_name *object, bool write, bb_place place,
                                              const char **out);

/// Returns the object that a word names, or NULL after reporting the word.
bb_notation_name *bb_notation_value_object(const bb_notation *notation, bb_notation_token word);
BB_CHECKED bb_status bb_notation_value_refuse(bb_notation *notation, bb_notation_token word);

#endif

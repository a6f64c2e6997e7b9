// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the reader of the notation share: where it reads, which names are known, and
// the description that it makes. Of notation_reader.c and its parts alone.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_H

#include "solvers/kernels/language/description.h"
#include "solvers/kernels/language/notation_names.h"

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
BB_CHECKED bb_status bb_notation_take_word(bb_notation *notation, const char *expected,
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

#endif

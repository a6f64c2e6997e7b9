// SPDX-License-Identifier: Apache-2.0
//
// What the names of a notation (notation_reader.h) stand for.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_NAMES_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_NAMES_H

#include "core/arena.h"
#include "solvers/kernels/language/notation_scanner.h"

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

/// Adds a name that is not there yet. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_notation_names_add(bb_notation_names *names, bb_notation_token token,
                                           bb_notation_noun noun, bb_arena *arena,
                                           bb_notation_name **out);

/// Forgets a name: the index of a sum that has ended.
void bb_notation_names_remove(bb_notation_names *names, const bb_notation_name *name);

/// The name nearest to a word but for the kernel's, NULL where none is near.
const char *bb_notation_names_nearest(const bb_notation_names *names, const char *word);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A kernel as written by its author: elements with attributes, each with its place. Created from
// XML (xml_reader.h) or from the notation (notation_reader.h); program.h defines its meaning.
//
// One table lists the elements of the language and the attributes of each. Readers report anything
// else as a problem, and the XML writer follows the order of the table.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_DESCRIPTION_H
#define BB_SOLVERS_KERNELS_LANGUAGE_DESCRIPTION_H

#include "core/arena.h"
#include "core/problem.h"

#include <stdbool.h>

typedef enum bb_construct {
    BB_CONSTRUCT_PARALLEL_ALGORITHM,
    BB_CONSTRUCT_DATA_OBJECTS, ///< sections contain elements and have no attributes
    BB_CONSTRUCT_PARAMETERS,
    BB_CONSTRUCT_CHILDREN,
    BB_CONSTRUCT_CONNECTIONS,
    BB_CONSTRUCT_ORDERING_RULES,
    BB_CONSTRUCT_DATA_OBJECT,
    BB_CONSTRUCT_PARAMETER,
    BB_CONSTRUCT_ACCESS_READ,
    BB_CONSTRUCT_ACCESS_WRITE,
    BB_CONSTRUCT_FUNCTION_BLOCK,
    BB_CONSTRUCT_ITERATOR_BLOCK,
    BB_CONSTRUCT_CONNECTION,
    BB_CONSTRUCT_RULE,
    BB_CONSTRUCT_COUNT,
} bb_construct;

/// Attributes of all elements, by their canonical names.
typedef enum bb_description_key {
    BB_DESCRIPTION_NAME,
    BB_DESCRIPTION_DIMENSIONS, ///< also `dimension`, as in Beier, Listing 1
    BB_DESCRIPTION_ICF,        ///< iteration connection function
    BB_DESCRIPTION_ICF_TYPE,
    BB_DESCRIPTION_ICF_INIT,
    BB_DESCRIPTION_ICF_ASSOCIATIVE,
    BB_DESCRIPTION_STRUCTURE,
    BB_DESCRIPTION_ELEMENT_DATA_TYPE,
    BB_DESCRIPTION_TYPE,
    BB_DESCRIPTION_SOURCE,
    BB_DESCRIPTION_DESTINATION,
    BB_DESCRIPTION_SELECTOR, ///< also `selector`, `selfFunction`, `accessFunction`
    BB_DESCRIPTION_BOUNDARY,
    BB_DESCRIPTION_NUM_IN,
    BB_DESCRIPTION_NUM_OUT,
    BB_DESCRIPTION_DATA_TYPE,
    BB_DESCRIPTION_FUNCTION,
    BB_DESCRIPTION_FIRST,
    BB_DESCRIPTION_SECOND,
    BB_DESCRIPTION_KEY_COUNT,
} bb_description_key;

typedef struct bb_element bb_element;
struct bb_element {
    bb_construct construct;
    bb_place place;
    const char *values[BB_DESCRIPTION_KEY_COUNT]; ///< NULL if not given
    bb_place places[BB_DESCRIPTION_KEY_COUNT];    ///< places of the values
    bb_element *parent, *first, *last, *next;     ///< parent, children in order, next sibling
};

/// Owns everything below it; release with bb_description_release.
typedef struct bb_description {
    bb_arena arena;
    bb_element *root; ///< a ParallelAlgorithm
    bb_index elements;
} bb_description;

enum { BB_DESCRIPTION_MAX_ELEMENTS = 200000, BB_DESCRIPTION_MAX_BYTES = 1 << 25 };

/// "DataAccessRead"; "selectorFunction".
const char *bb_description_construct_name(bb_construct construct);
const char *bb_description_key_name(bb_description_key key);

/// Adds an element as last child of `parent` (NULL: the root). Adds a problem, and returns NULL, if
/// `parent` does not allow the name (with the nearest allowed name) or already has the maximum
/// number. Errors: BB_MEMORY; BB_INVALID (over BB_DESCRIPTION_MAX_ELEMENTS).
BB_CHECKED bb_status bb_description_add(bb_description *description, bb_element *parent,
                                        const char *name, bb_place place, bb_problems *problems,
                                        bb_element **out);

/// Sets an attribute by any of its names; the value is copied. Adds a problem if the element does
/// not accept the name (with the nearest one) or already has it, under any of its names.
BB_CHECKED bb_status bb_description_set(bb_description *description, bb_element *element,
                                        const char *name, const char *value, bb_place place,
                                        bb_problems *problems);

/// Adds a problem for every missing required attribute, and for every section that is missing or
/// out of order.
BB_CHECKED bb_status bb_description_complete(const bb_description *description,
                                             bb_problems *problems);

/// Appends the description as XML, indented by two, in the order of the elements, with canonical
/// names: reading it gives an equal description.
BB_CHECKED bb_status bb_description_write(const bb_description *description, bb_text *out);

void bb_description_release(bb_description *description);

#endif

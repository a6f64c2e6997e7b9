// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/description.h"

#include "core/suggestion.h"
#include "solvers/kernels/language/expression.h"

#include <stdint.h>
#include <string.h>

#define SET(value) (1U << (value))
#define KEY(noun)  SET(BB_DESCRIPTION_##noun)
#define IN(noun)   SET(BB_CONSTRUCT_##noun)
// Parents in which accesses and function blocks are allowed.
#define BODY (IN(CHILDREN) | IN(ITERATOR_BLOCK))

// One element of the language. A section occurs once in its parent, in the order of the table.
typedef struct construct_row {
    const char *name;
    unsigned parents;  // sum of 1 << construct; 0: the root
    unsigned required; // sum of 1 << key
    unsigned optional;
    enum { SECTION_NONE, SECTION_REQUIRED, SECTION_OPTIONAL } section;
} construct_row;

static const construct_row constructs[BB_CONSTRUCT_COUNT] = {
    [BB_CONSTRUCT_PARALLEL_ALGORITHM] = {"ParallelAlgorithm", 0, KEY(NAME) | KEY(DIMENSIONS),
                                         KEY(ICF) | KEY(ICF_TYPE) | KEY(ICF_INIT) |
                                             KEY(ICF_ASSOCIATIVE),
                                         SECTION_NONE},
    [BB_CONSTRUCT_DATA_OBJECTS] = {"DataObjects", IN(PARALLEL_ALGORITHM), 0, 0, SECTION_REQUIRED},
    [BB_CONSTRUCT_PARAMETERS] = {"Parameters", IN(PARALLEL_ALGORITHM), 0, 0, SECTION_OPTIONAL},
    [BB_CONSTRUCT_CHILDREN] = {"Children", IN(PARALLEL_ALGORITHM), 0, 0, SECTION_REQUIRED},
    [BB_CONSTRUCT_CONNECTIONS] = {"Connections", IN(PARALLEL_ALGORITHM), 0, 0, SECTION_REQUIRED},
    [BB_CONSTRUCT_ORDERING_RULES] = {"OrderingRules", IN(PARALLEL_ALGORITHM), 0, 0,
                                     SECTION_OPTIONAL},
    [BB_CONSTRUCT_DATA_OBJECT] = {"DataObject", IN(DATA_OBJECTS),
                                  KEY(NAME) | KEY(STRUCTURE) | KEY(ELEMENT_DATA_TYPE), 0,
                                  SECTION_NONE},
    [BB_CONSTRUCT_PARAMETER] = {"Parameter", IN(PARAMETERS), KEY(NAME) | KEY(TYPE), 0,
                                SECTION_NONE},
    [BB_CONSTRUCT_ACCESS_READ] = {"DataAccessRead", BODY, KEY(NAME) | KEY(SOURCE) | KEY(SELECTOR),
                                  KEY(BOUNDARY), SECTION_NONE},
    [BB_CONSTRUCT_ACCESS_WRITE] = {"DataAccessWrite", BODY,
                                   KEY(NAME) | KEY(DESTINATION) | KEY(SELECTOR), KEY(BOUNDARY),
                                   SECTION_NONE},
    [BB_CONSTRUCT_FUNCTION_BLOCK] = {"FunctionBlock", BODY,
                                     KEY(NAME) | KEY(NUM_IN) | KEY(NUM_OUT) | KEY(DATA_TYPE) |
                                         KEY(FUNCTION),
                                     0, SECTION_NONE},
    [BB_CONSTRUCT_ITERATOR_BLOCK] = {"IteratorBlock", IN(CHILDREN),
                                     KEY(NAME) | KEY(DIMENSIONS) | KEY(ICF),
                                     KEY(ICF_TYPE) | KEY(ICF_INIT) | KEY(ICF_ASSOCIATIVE),
                                     SECTION_NONE},
    [BB_CONSTRUCT_CONNECTION] = {"Connection", IN(CONNECTIONS), KEY(SOURCE) | KEY(DESTINATION), 0,
                                 SECTION_NONE},
    [BB_CONSTRUCT_RULE] = {"Rule", IN(ORDERING_RULES), KEY(FIRST) | KEY(SECOND), 0, SECTION_NONE},
};

static const char *const key_names[BB_DESCRIPTION_KEY_COUNT] = {
    [BB_DESCRIPTION_NAME] = "name",
    [BB_DESCRIPTION_DIMENSIONS] = "dimensions",
    [BB_DESCRIPTION_ICF] = "ICF",
    [BB_DESCRIPTION_ICF_TYPE] = "ICFType",
    [BB_DESCRIPTION_ICF_INIT] = "ICFInit",
    [BB_DESCRIPTION_ICF_ASSOCIATIVE] = "ICFAssociative",
    [BB_DESCRIPTION_STRUCTURE] = "structure",
    [BB_DESCRIPTION_ELEMENT_DATA_TYPE] = "elementDataType",
    [BB_DESCRIPTION_TYPE] = "type",
    [BB_DESCRIPTION_SOURCE] = "source",
    [BB_DESCRIPTION_DESTINATION] = "destination",
    [BB_DESCRIPTION_SELECTOR] = "selectorFunction",
    [BB_DESCRIPTION_BOUNDARY] = "boundary",
    [BB_DESCRIPTION_NUM_IN] = "numInVars",
    [BB_DESCRIPTION_NUM_OUT] = "numOutVars",
    [BB_DESCRIPTION_DATA_TYPE] = "dataType",
    [BB_DESCRIPTION_FUNCTION] = "function",
    [BB_DESCRIPTION_FIRST] = "first",
    [BB_DESCRIPTION_SECOND] = "second",
};

static const struct {
    const char *name;
    bb_description_key key;
} aliases[] = {
    {"dimension", BB_DESCRIPTION_DIMENSIONS},
    {"selector", BB_DESCRIPTION_SELECTOR},
    {"selfFunction", BB_DESCRIPTION_SELECTOR},
    {"accessFunction", BB_DESCRIPTION_SELECTOR},
};
enum { ALIAS_COUNT = sizeof aliases / sizeof aliases[0] };

const char *bb_description_construct_name(bb_construct construct)
{
    return constructs[construct].name;
}

const char *bb_description_key_name(bb_description_key key)
{
    return key_names[key];
}

static bool allows_child(const bb_element *parent, bb_construct construct)
{
    const unsigned parents = constructs[construct].parents;
    return parent == NULL ? parents == 0 : (parents & SET(parent->construct)) != 0;
}

static int construct_named(const char *name)
{
    for (int i = 0; i < BB_CONSTRUCT_COUNT; ++i) {
        if (strcmp(constructs[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static bb_status refuse_element(const bb_element *parent, const char *name, bb_place place,
                                bb_problems *problems)
{
    const char *best = NULL;
    bb_index distance = PTRDIFF_MAX;
    const char *around = parent == NULL ? "the root" : constructs[parent->construct].name;
    const int known = construct_named(name);
    if (known == BB_CONSTRUCT_ITERATOR_BLOCK && parent != NULL &&
        parent->construct == BB_CONSTRUCT_ITERATOR_BLOCK) {
        return bb_problems_add(problems, place,
                               "<IteratorBlock> inside <IteratorBlock>: iterators cannot be "
                               "nested; use one with 2 dimensions for two ranges");
    }
    for (int i = 0; i < BB_CONSTRUCT_COUNT; ++i) {
        if (known < 0 && allows_child(parent, (bb_construct)i)) {
            bb_suggestion_consider(name, constructs[i].name, &distance, &best);
        }
    }
    if (best != NULL) {
        return bb_problems_add(problems, place, "unknown element <%.80s>; did you mean %s?", name,
                               best);
    }
    if (parent == NULL) {
        return bb_problems_add(problems, place, "the root is <%.80s>, expected <ParallelAlgorithm>",
                               name);
    }
    return bb_problems_add(problems, place,
                           known < 0 ? "unknown element <%.80s> in <%s>"
                                     : "<%.80s> is not allowed inside <%s>",
                           name, around);
}

static bool has_section(const bb_element *parent, bb_construct construct)
{
    for (const bb_element *child = parent->first; child != NULL; child = child->next) {
        if (child->construct == construct) {
            return true;
        }
    }
    return false;
}

bb_status bb_description_add(bb_description *description, bb_element *parent, const char *name,
                             bb_place place, bb_problems *problems, bb_element **out)
{
    bb_status status = BB_OK;
    bb_element *element = NULL;
    *out = NULL;
    const int construct = construct_named(name);
    if (construct < 0 || !allows_child(parent, (bb_construct)construct)) {
        BB_TRY(refuse_element(parent, name, place, problems));
        goto done;
    }
    if (parent != NULL && constructs[construct].section != SECTION_NONE &&
        has_section(parent, (bb_construct)construct)) {
        BB_TRY(bb_problems_add(problems, place, "<%s> occurs a second time", name));
        goto done;
    }
    BB_REQUIRE(description->elements < BB_DESCRIPTION_MAX_ELEMENTS, BB_INVALID,
               "%s:%td: more than %d elements in one description", place.origin, place.line,
               BB_DESCRIPTION_MAX_ELEMENTS);
    BB_TRY(bb_arena_zeroed(&description->arena, 1, sizeof *element, (void **)&element));
    element->construct = (bb_construct)construct;
    element->place = place;
    element->parent = parent;
    if (parent == NULL) {
        description->root = element;
    } else if (parent->last == NULL) {
        parent->first = element;
        parent->last = element;
    } else {
        parent->last->next = element;
        parent->last = element;
    }
    ++description->elements;
    *out = element;
done:
    return status;
}

static bool accepts_key(const bb_element *element, int key)
{
    const construct_row *row = &constructs[element->construct];
    return ((row->required | row->optional) & SET(key)) != 0;
}

// Key of an attribute name that the element accepts, or -1 with the nearest name.
static int find_key(const bb_element *element, const char *name, const char **best)
{
    bb_index distance = PTRDIFF_MAX;
    for (int i = 0; i < BB_DESCRIPTION_KEY_COUNT + ALIAS_COUNT; ++i) {
        const int alias = i - BB_DESCRIPTION_KEY_COUNT;
        const int key = alias < 0 ? i : (int)aliases[alias].key;
        const char *word = alias < 0 ? key_names[i] : aliases[alias].name;
        if (!accepts_key(element, key)) {
            continue;
        }
        if (strcmp(word, name) == 0) {
            return key;
        }
        bb_suggestion_consider(name, word, &distance, best);
    }
    return -1;
}

bb_status bb_description_set(bb_description *description, bb_element *element, const char *name,
                             const char *value, bb_place place, bb_problems *problems)
{
    bb_status status = BB_OK;
    const char *best = NULL;
    const char *owner = constructs[element->construct].name;
    const int key = find_key(element, name, &best);
    if (key < 0) {
        BB_TRY(bb_problems_add(problems, place, "unknown attribute %.80s of <%s>%s%s%s", name,
                               owner, best == NULL ? "" : "; did you mean ",
                               best == NULL ? "" : best, best == NULL ? "" : "?"));
        goto done;
    }
    if (element->values[key] != NULL) {
        BB_TRY(bb_problems_add(
            problems, place, "%s sets %s of <%s> a second time, first set in line %td, column %td",
            name, key_names[key], owner, element->places[key].line, element->places[key].column));
        goto done;
    }
    BB_TRY(bb_arena_text(&description->arena, value, strlen(value), &element->values[key]));
    element->places[key] = place;
done:
    return status;
}

// Next element in the order of the text, NULL at the end.
static const bb_element *after(const bb_element *element)
{
    if (element->first != NULL) {
        return element->first;
    }
    while (element != NULL && element->next == NULL) {
        element = element->parent;
    }
    return element == NULL ? NULL : element->next;
}

static bb_status complete_keys(const bb_element *element, bb_problems *problems)
{
    bb_status status = BB_OK;
    const construct_row *row = &constructs[element->construct];
    const char *name = element->values[BB_DESCRIPTION_NAME];
    for (int key = 0; key < BB_DESCRIPTION_KEY_COUNT; ++key) {
        if ((row->required & SET(key)) != 0 && element->values[key] == NULL) {
            BB_TRY(bb_problems_add(problems, element->place, "<%s>%s%.80s%s has no %s", row->name,
                                   name == NULL ? "" : " '", name == NULL ? "" : name,
                                   name == NULL ? "" : "'", key_names[key]));
        }
    }
done:
    return status;
}

static bb_status complete_sections(const bb_element *root, bb_problems *problems)
{
    bb_status status = BB_OK;
    for (const bb_element *child = root->first; child != NULL; child = child->next) {
        if (child->next != NULL && child->next->construct < child->construct) {
            BB_TRY(bb_problems_add(problems, child->next->place,
                                   "<%s> after <%s>; the order is DataObjects, Parameters, "
                                   "Children, Connections, OrderingRules",
                                   constructs[child->next->construct].name,
                                   constructs[child->construct].name));
        }
    }
    for (int i = 0; i < BB_CONSTRUCT_COUNT; ++i) {
        if (constructs[i].section == SECTION_REQUIRED && !has_section(root, (bb_construct)i)) {
            BB_TRY(bb_problems_add(problems, root->place, "<%s> has no <%s>",
                                   constructs[root->construct].name, constructs[i].name));
        }
    }
done:
    return status;
}

bb_status bb_description_complete(const bb_description *description, bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(description->root != NULL, BB_INVALID, "the description has no root");
    BB_TRY(complete_sections(description->root, problems));
    for (const bb_element *element = description->root; element != NULL; element = after(element)) {
        BB_TRY(complete_keys(element, problems));
    }
done:
    return status;
}

// Appends a value between quotes; characters that would end it, or that a reader would replace by a
// space, are written as numbers.
static bb_status write_value(const char *value, bb_text *out)
{
    bb_status status = BB_OK;
    const char *start = value;
    for (const char *c = value; *c != '\0'; ++c) {
        const bool control = (unsigned char)*c < ' ';
        if (!control && strchr("&<>\"", *c) == NULL) {
            continue;
        }
        BB_TRY(bb_text_add_bytes(out, start, c - start));
        start = c + 1;
        if (control) {
            BB_TRY(bb_text_add(out, "&#%d;", *c));
        } else {
            const char *word = *c == '&' ? "amp" : *c == '<' ? "lt" : *c == '>' ? "gt" : "quot";
            BB_TRY(bb_text_add(out, "&%s;", word));
        }
    }
    BB_TRY(bb_text_add(out, "%s", start));
done:
    return status;
}

static bb_status write_start(const bb_element *element, int depth, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%*s<%s", 2 * depth, "", constructs[element->construct].name));
    for (int key = 0; key < BB_DESCRIPTION_KEY_COUNT; ++key) {
        if (element->values[key] != NULL) {
            BB_TRY(bb_text_add(out, " %s=\"", key_names[key]));
            BB_TRY(write_value(element->values[key], out));
            BB_TRY(bb_text_add(out, "\""));
        }
    }
    BB_TRY(bb_text_add(out, element->first == NULL ? "/>\n" : ">\n"));
done:
    return status;
}

bb_status bb_description_write(const bb_description *description, bb_text *out)
{
    bb_status status = BB_OK;
    int depth = 0;
    const bb_element *element = description->root;
    BB_REQUIRE(element != NULL, BB_INVALID, "the description has no root");
    while (element != NULL) {
        BB_TRY(write_start(element, depth, out));
        if (element->first != NULL) {
            element = element->first;
            ++depth;
            continue;
        }
        while (element != NULL && element->next == NULL) {
            element = element->parent;
            --depth;
            if (element != NULL) {
                BB_TRY(bb_text_add(out, "%*s</%s>\n", 2 * depth, "",
                                   constructs[element->construct].name));
            }
        }
        element = element == NULL ? NULL : element->next;
    }
done:
    return status;
}

void bb_description_release(bb_description *description)
{
    bb_arena_release(&description->arena);
    *description = (bb_description){0};
}

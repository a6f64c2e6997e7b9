// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/notation_kernel.h"

#include "core/suggestion.h"

#include <stdint.h>
#include <string.h>

// What stands behind the colon of a group; a group of parameters has no structure.
typedef struct group {
    const char *structure, *type, *boundary;
} group;

static bb_status read_group_kind(bb_notation *notation, group *out)
{
    bb_status status = BB_OK;
    static const char *const structures[] = {"matrix", "vector"};
    const bb_notation_token word = notation->cursor.token;
    *out = (group){.boundary = "none"};
    BB_TRY(bb_notation_take_word(notation, "matrix, vector or a type", &out->type));
    bb_index distance = PTRDIFF_MAX;
    const char *near = NULL;
    bb_suggestion_consider(out->type, structures[0], &distance, &near);
    bb_suggestion_consider(out->type, structures[1], &distance, &near);
    if (near != NULL && strcmp(near, out->type) == 0) {
        out->structure = near;
        BB_TRY(bb_notation_take_word(notation, "a type", &out->type));
        if (notation->cursor.token.kind == BB_NOTATION_WORD) {
            BB_TRY(bb_notation_boundary(notation, &out->boundary));
        }
    } else if (near != NULL || notation->cursor.token.kind == BB_NOTATION_WORD) {
        BB_TRY(bb_notation_refuse_word(notation, word, "structure", structures, 2, false));
    }
done:
    return status;
}

static bb_status add_object(bb_notation *notation, bb_element *objects, const group *kind,
                            bb_notation_name *name)
{
    bb_status status = BB_OK;
    bb_element *element = NULL;
    name->type = kind->type;
    name->boundary = kind->boundary;
    name->is_matrix = strcmp(kind->structure, "matrix") == 0;
    BB_TRY(bb_notation_add(notation, objects, "DataObject", name->place, &element));
    BB_TRY(bb_notation_set(notation, element, BB_DESCRIPTION_NAME, name->text, name->place));
    BB_TRY(
        bb_notation_set(notation, element, BB_DESCRIPTION_STRUCTURE, kind->structure, name->place));
    BB_TRY(bb_notation_set(notation, element, BB_DESCRIPTION_ELEMENT_DATA_TYPE, kind->type,
                           name->place));
done:
    return status;
}

static bb_status add_parameter(bb_notation *notation, bb_element *parameters, const char *type,
                               bb_notation_name *name)
{
    bb_status status = BB_OK;
    bb_element *element = NULL;
    BB_TRY(bb_notation_emit(notation, name->text, "value", type, &name->emitter));
    BB_TRY(bb_notation_add(notation, parameters, "Parameter", name->place, &element));
    BB_TRY(bb_notation_set(notation, element, BB_DESCRIPTION_NAME, name->text, name->place));
    BB_TRY(bb_notation_set(notation, element, BB_DESCRIPTION_TYPE, type, name->place));
done:
    return status;
}

// Names before the colon are read twice: what they are stands behind it.
static bb_status read_group(bb_notation *notation, bb_element *root, bb_element *objects,
                            bb_element **parameters)
{
    bb_status status = BB_OK;
    group kind;
    const bb_notation_cursor start = notation->cursor;
    while (notation->cursor.token.kind == BB_NOTATION_WORD || bb_notation_at(notation, ",")) {
        bb_notation_advance(notation);
    }
    BB_TRY(bb_notation_expect(notation, ":"));
    BB_TRY(read_group_kind(notation, &kind));
    const bb_notation_cursor behind = notation->cursor;
    notation->cursor = start;
    do {
        bb_notation_name *name = NULL;
        if (kind.structure != NULL) {
            BB_TRY(bb_notation_declare(notation, BB_NOTATION_OBJECT, &name));
            BB_TRY(add_object(notation, objects, &kind, name));
            continue;
        }
        if (*parameters == NULL) {
            BB_TRY(bb_notation_add(notation, root, "Parameters", start.token.place, parameters));
        }
        BB_TRY(bb_notation_declare(notation, BB_NOTATION_PARAMETER, &name));
        BB_TRY(add_parameter(notation, *parameters, kind.type, name));
    } while (bb_notation_at(notation, ",") && (bb_notation_advance(notation), true));
    BB_TRY(bb_notation_expect(notation, ":"));
    notation->cursor = behind;
done:
    return status;
}

bb_status bb_notation_kernel_read(bb_notation *notation)
{
    bb_status status = BB_OK;
    bb_notation_name *name = NULL;
    bb_element *root = NULL;
    bb_element *objects = NULL;
    bb_element *parameters = NULL;
    const bb_place place = notation->cursor.token.place;
    if (!bb_notation_at(notation, "kernel")) {
        BB_TRY(bb_notation_refuse_token(notation, "the line 'kernel NAME (...)'"));
    }
    bb_notation_advance(notation);
    BB_TRY(bb_notation_declare(notation, BB_NOTATION_KERNEL, &name));
    notation->kernel = name->text;
    BB_TRY(bb_notation_add(notation, NULL, "ParallelAlgorithm", place, &root));
    BB_TRY(bb_notation_set(notation, root, BB_DESCRIPTION_NAME, name->text, name->place));
    BB_TRY(bb_notation_add(notation, root, "DataObjects", place, &objects));
    BB_TRY(bb_notation_expect(notation, "("));
    BB_TRY(read_group(notation, root, objects, &parameters));
    while (bb_notation_at(notation, ";")) {
        bb_notation_advance(notation);
        BB_TRY(read_group(notation, root, objects, &parameters));
    }
    BB_TRY(bb_notation_expect(notation, ")"));
    BB_TRY(bb_notation_expect_end(notation));
    BB_TRY(bb_notation_add(notation, root, "Children", place, &notation->children));
    BB_TRY(bb_notation_add(notation, root, "Connections", place, &notation->connections));
done:
    return status;
}

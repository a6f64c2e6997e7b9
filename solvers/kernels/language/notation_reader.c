// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/notation_reader.h"

#include "core/suggestion.h"
#include "solvers/kernels/language/notation.h"

#include <stdint.h>
#include <string.h>

// The first line of the notation (notation_reader.h): name, objects and parameters.

// Declaration after the colon of a group; parameters have no structure.
typedef struct group {
    const char *structure, *type, *boundary;
} group;

static bb_status read_group_kind(bb_notation *notation, group *out)
{
    bb_status status = BB_OK;
    static const char *const structures[] = {"matrix", "vector"};
    const bb_notation_token word = notation->cursor.token;
    *out = (group){.boundary = "none"};
    BB_TRY(bb_notation_read_word(notation, "matrix, vector or a type", &out->type));
    bb_index distance = PTRDIFF_MAX;
    const char *near = NULL;
    bb_suggestion_consider(out->type, structures[0], &distance, &near);
    bb_suggestion_consider(out->type, structures[1], &distance, &near);
    if (near != NULL && strcmp(near, out->type) == 0) {
        out->structure = near;
        BB_TRY(bb_notation_read_word(notation, "a type", &out->type));
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

// Names before the colon are read twice, because their declaration follows it.
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

// Reads `kernel NAME (...)` and creates the root with its sections. Errors: those of
// bb_notation_refuse.
static bb_status notation_kernel_read(bb_notation *notation)
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

enum { DIMENSIONS = 2 };

// Index names of a space; their emitters exist once the space is open.
typedef struct space {
    int dimensions;
    bb_notation_token indices[DIMENSIONS];
    bb_notation_name *names[DIMENSIONS];
} space;

static const struct {
    const char *word;
    const char *function;
} reductions[] = {
    {"sum", "#acc(0) + #in(0)"},     {"product", "#acc(0) * #in(0)"},
    {"max", "max(#acc(0), #in(0))"}, {"min", "min(#acc(0), #in(0))"},
    {"and", "#acc(0) && #in(0)"},    {"or", "#acc(0) || #in(0)"},
};
enum { REDUCTION_COUNT = sizeof reductions / sizeof reductions[0] };

// ---- spaces

// Reads `x in RANGE, y in RANGE` of the space of `owner`.
static bb_status read_ranges(bb_notation *notation, const char *owner, space *out)
{
    bb_status status = BB_OK;
    *out = (space){0};
    do {
        const bb_notation_token index = notation->cursor.token;
        const bb_notation_emitter *emitter = NULL;
        if (out->dimensions == DIMENSIONS) {
            BB_TRY(bb_notation_refuse(notation, index.place, "more than %d ranges", DIMENSIONS));
        }
        if (index.kind != BB_NOTATION_WORD) {
            BB_TRY(bb_notation_refuse_token(notation, "a name and 'in'"));
        }
        bb_notation_advance(notation);
        BB_TRY(bb_notation_expect(notation, "in"));
        const bb_place place = notation->cursor.token.place;
        BB_TRY(bb_notation_value(notation, notation->children, "INT32", "INT32", &emitter));
        BB_TRY(bb_notation_wire(notation, emitter, owner, "Range", out->dimensions, place));
        out->indices[out->dimensions++] = index;
    } while (bb_notation_at(notation, ",") && (bb_notation_advance(notation), true));
done:
    return status;
}

// Declares the indices. Their names precede the cursor, which does not move.
static bb_status open_space(bb_notation *notation, const char *owner, space *opened)
{
    static const char *const ports[DIMENSIONS] = {"i(0)", "i(1)"};
    bb_status status = BB_OK;
    const bb_notation_cursor behind = notation->cursor;
    for (int i = 0; i < opened->dimensions && i < DIMENSIONS; ++i) {
        notation->cursor.token = opened->indices[i];
        status = bb_notation_declare(notation, BB_NOTATION_VALUE, &opened->names[i]);
        notation->cursor = behind;
        BB_TRY(status);
        BB_TRY(bb_notation_emit(notation, owner, ports[i], "INT32", &opened->names[i]->emitter));
    }
done:
    return status;
}

static void close_space(bb_notation *notation, space *opened)
{
    for (int i = 0; i < opened->dimensions; ++i) {
        if (opened->names[i] != NULL) {
            bb_notation_names_remove(&notation->names, opened->names[i]);
        }
    }
}

static bb_status read_for_line(bb_notation *notation)
{
    bb_status status = BB_OK;
    space main_space;
    const bb_place place = notation->cursor.token.place;
    bb_element *root = notation->description->root;
    if (!bb_notation_at(notation, "for")) {
        BB_TRY(bb_notation_refuse_token(notation, "the line 'for NAME in RANGE'"));
    }
    bb_notation_advance(notation);
    BB_TRY(read_ranges(notation, notation->kernel, &main_space));
    BB_TRY(bb_notation_expect_end(notation));
    BB_TRY(open_space(notation, notation->kernel, &main_space));
    BB_TRY(bb_notation_set(notation, root, BB_DESCRIPTION_DIMENSIONS,
                           main_space.dimensions == 1 ? "1" : "2", place));
done:
    return status;
}

// ---- statements

static bb_status read_let(bb_notation *notation)
{
    bb_status status = BB_OK;
    bb_notation_name *let = NULL;
    bb_notation_advance(notation);
    BB_TRY(bb_notation_declare(notation, BB_NOTATION_LET, &let));
    let->failed = true; // until it has a text
    BB_TRY(bb_notation_expect(notation, "="));
    if (bb_notation_at_end(notation)) {
        BB_TRY(bb_notation_refuse_token(notation, "an expression"));
    }
    let->body = notation->cursor;
    let->failed = false;
    while (!bb_notation_at_end(notation)) {
        bb_notation_advance(notation);
    }
    if (notation->cursor.scanner.open > 0) {
        let->failed = true;
        BB_TRY(bb_notation_refuse(notation, let->body.token.place, "a bracket of %s is not closed",
                                  let->text));
    }
done:
    return status;
}

// Looks ahead behind the current bracket. A range starts with two adjacent words, which no value
// contains. A comma counts only at the top level of the bracket.
static void scan_bracket(const bb_notation *notation, bool *is_range, bool *has_comma)
{
    bb_notation_scanner scanner = notation->cursor.scanner;
    const bb_index depth = scanner.open;
    bb_notation_token token = bb_notation_scanner_next(&scanner);
    const bool word = token.kind == BB_NOTATION_WORD;
    *has_comma = false;
    for (bb_index i = 0; scanner.open >= depth && token.kind != BB_NOTATION_END; ++i) {
        *has_comma = *has_comma || (scanner.open == depth && bb_notation_token_is(token, ","));
        token = bb_notation_scanner_next(&scanner);
        *is_range = i == 0 ? word && token.kind == BB_NOTATION_WORD : *is_range;
    }
}

// The reduction named by the current token, -1 if a value begins: max(a, b) is a call.
static int at_reduction(const bb_notation *notation, bool *is_range)
{
    bool has_comma = false;
    bb_notation_scanner scanner = notation->cursor.scanner;
    const bb_notation_token next = bb_notation_scanner_next(&scanner);
    int reduction = 0;
    *is_range = false;
    while (reduction < REDUCTION_COUNT && !bb_notation_at(notation, reductions[reduction].word)) {
        ++reduction;
    }
    if (reduction == REDUCTION_COUNT) {
        return -1;
    }
    if (bb_notation_token_is(next, "(")) {
        bb_notation behind = *notation;
        bb_notation_advance(&behind);
        scan_bracket(&behind, is_range, &has_comma);
    }
    const bool call =
        has_comma && !*is_range && bb_notation_function_values(notation->cursor.token);
    return call ? -1 : reduction;
}

static bb_status set_reduction(bb_notation *notation, bb_element *element, int reduction,
                               const char *type, bb_place place)
{
    bb_status status = BB_OK;
    BB_TRY(bb_notation_set(notation, element, BB_DESCRIPTION_ICF, reductions[reduction].function,
                           place));
    BB_TRY(bb_notation_set(notation, element, BB_DESCRIPTION_ICF_TYPE, type, place));
done:
    return status;
}

// Reads `sum (k in RANGE) VALUE`: an IteratorBlock named after its value.
static bb_status read_iterator(bb_notation *notation, const bb_notation_name *name, int reduction,
                               const char *type, const bb_notation_emitter **out)
{
    bb_status status = BB_OK;
    const bb_place place = notation->cursor.token.place;
    space ranges = {0};
    bb_element *iterator = NULL;
    const bb_notation_emitter *value = NULL;
    bb_notation_advance(notation);
    BB_TRY(bb_notation_expect(notation, "("));
    BB_TRY(read_ranges(notation, name->text, &ranges));
    BB_TRY(bb_notation_expect(notation, ")"));
    BB_TRY(bb_notation_add(notation, notation->children, "IteratorBlock", name->place, &iterator));
    BB_TRY(bb_notation_set(notation, iterator, BB_DESCRIPTION_NAME, name->text, name->place));
    BB_TRY(bb_notation_set(notation, iterator, BB_DESCRIPTION_DIMENSIONS,
                           ranges.dimensions == 1 ? "1" : "2", place));
    BB_TRY(open_space(notation, name->text, &ranges));
    BB_TRY(bb_notation_value(notation, iterator, NULL, "INT32", &value));
    type = type == NULL ? value->type : type;
    BB_TRY(set_reduction(notation, iterator, reduction, type, place));
    BB_TRY(bb_notation_wire(notation, value, name->text, "func", 0, place));
    BB_TRY(bb_notation_emit(notation, name->text, "out", type, out));
done:
    close_space(notation, &ranges);
    return status;
}

// Reads `sum VALUE` over the main space.
static bb_status read_hull(bb_notation *notation, int reduction, const char *type,
                           const bb_notation_emitter **out)
{
    bb_status status = BB_OK;
    const bb_place place = notation->cursor.token.place;
    bb_element *root = notation->description->root;
    const bb_notation_emitter *value = NULL;
    if (root->values[BB_DESCRIPTION_ICF] != NULL) {
        BB_TRY(bb_notation_refuse(
            notation, place, "the kernel has a second reduction over its space, expected one"));
    }
    bb_notation_advance(notation);
    BB_TRY(bb_notation_value(notation, notation->children, NULL, "INT32", &value));
    type = type == NULL ? value->type : type;
    BB_TRY(set_reduction(notation, root, reduction, type, place));
    BB_TRY(bb_notation_wire(notation, value, notation->kernel, "func", 0, place));
    BB_TRY(bb_notation_emit(notation, notation->kernel, "out", type, out));
done:
    return status;
}

// Reads `NAME[: TYPE] = VALUE` or a reduction.
static bb_status read_assignment(bb_notation *notation)
{
    bb_status status = BB_OK;
    bb_notation_name *name = NULL;
    const bb_notation_emitter *emitter = NULL;
    const char *type = NULL;
    bool is_range = false;
    BB_TRY(bb_notation_declare(notation, BB_NOTATION_VALUE, &name));
    name->failed = true; // until it has been created
    if (bb_notation_at(notation, ":")) {
        bb_notation_advance(notation);
        BB_TRY(bb_notation_read_word(notation, "a type", &type));
    }
    BB_TRY(bb_notation_expect(notation, "="));
    name->failed = false;
    const int reduction = at_reduction(notation, &is_range);
    if (reduction < 0) {
        status = bb_notation_value(notation, notation->children, type, "INT32", &emitter);
    } else if (is_range) {
        status = read_iterator(notation, name, reduction, type, &emitter);
    } else {
        status = read_hull(notation, reduction, type, &emitter);
    }
    name->failed = status != BB_OK;
    name->emitter = emitter;
    BB_TRY(status);
    BB_TRY(bb_notation_expect_end(notation));
done:
    return status;
}

// Reads `a[column, row | BOUNDARY] = VALUE`; the value is created first.
static bb_status read_write(bb_notation *notation)
{
    bb_status status = BB_OK;
    const bb_notation_token word = notation->cursor.token;
    bb_notation_name *object = bb_notation_value_object(notation, word);
    const bb_notation_emitter *emitter = NULL;
    const char *access = NULL;
    if (object == NULL) {
        status = bb_notation_value_refuse(notation, word);
        goto done;
    }
    bb_notation_advance(notation);
    const bb_notation_cursor bracket = notation->cursor;
    const bb_index outside = bracket.scanner.open - 1;
    while (notation->cursor.scanner.open > outside && !bb_notation_at_end(notation)) {
        bb_notation_advance(notation);
    }
    if (bb_notation_at_end(notation)) {
        BB_TRY(bb_notation_refuse(notation, bracket.token.place, "'[' is not closed"));
    }
    bb_notation_advance(notation);
    BB_TRY(bb_notation_expect(notation, "="));
    BB_TRY(bb_notation_value(notation, notation->children, NULL, object->type, &emitter));
    BB_TRY(bb_notation_expect_end(notation));
    const bb_notation_cursor behind = notation->cursor;
    notation->cursor = bracket;
    BB_TRY(
        bb_notation_value_access(notation, notation->children, object, true, word.place, &access));
    BB_TRY(bb_notation_wire(notation, emitter, access, "in", -1, word.place));
    notation->cursor = behind;
done:
    return status;
}

static bb_status read_statement(bb_notation *notation)
{
    bb_notation_scanner scanner = notation->cursor.scanner;
    if (bb_notation_at(notation, "let")) {
        return read_let(notation);
    }
    if (notation->cursor.token.kind == BB_NOTATION_WORD &&
        bb_notation_token_is(bb_notation_scanner_next(&scanner), "[")) {
        return read_write(notation);
    }
    return read_assignment(notation);
}

// Skips to the end of the current statement. If a bracket stays open this is the end of the file,
// so that no byte is scanned more than a few times.
static void skip_statement(bb_notation *notation, bb_notation_cursor start)
{
    notation->cursor = start;
    while (!bb_notation_at_end(notation)) {
        bb_notation_advance(notation);
    }
}

static bb_status read_statements(bb_notation *notation)
{
    bb_status status = BB_OK;
    while (notation->cursor.token.kind != BB_NOTATION_END) {
        if (notation->cursor.token.kind == BB_NOTATION_LINE) {
            bb_notation_advance(notation);
            continue;
        }
        const bb_notation_cursor start = notation->cursor;
        status = read_statement(notation);
        if (status == BB_INVALID && notation->refused) {
            notation->refused = false;
            status = BB_OK;
            skip_statement(notation, start);
        }
        BB_TRY(status);
    }
done:
    return status;
}

static void skip_empty_lines(bb_notation *notation)
{
    while (notation->cursor.token.kind == BB_NOTATION_LINE) {
        bb_notation_advance(notation);
    }
}

bb_status bb_notation_reader_read(const char *bytes, bb_index length, const char *name,
                                  bb_problems *problems, bb_description *out)
{
    bb_status status = BB_OK;
    const bb_index known = problems->count;
    *out = (bb_description){0};
    bb_notation notation = {.description = out,
                            .problems = problems,
                            .cursor.scanner = {.bytes = length == 0 ? "" : bytes,
                                               .length = length,
                                               .place = {name, 1, 1}}};
    BB_REQUIRE(length >= 0 && length <= BB_NOTATION_READER_MAX_BYTES, BB_INVALID,
               "%s has %td bytes, expected at most %d", name, length, BB_NOTATION_READER_MAX_BYTES);
    bb_notation_advance(&notation);
    skip_empty_lines(&notation);
    BB_TRY(notation_kernel_read(&notation));
    skip_empty_lines(&notation);
    BB_TRY(read_for_line(&notation));
    BB_TRY(read_statements(&notation));
    if (problems->count == known) {
        BB_TRY(bb_description_complete(out, problems));
    }
done:
    if (status == BB_INVALID && notation.refused) {
        status = BB_OK; // already reported
    }
    if (status != BB_OK) {
        bb_description_release(out);
    }
    return status;
}

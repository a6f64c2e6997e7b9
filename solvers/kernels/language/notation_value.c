// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "solvers/kernels/language/notation.h"

#include <string.h>

enum {
    SELECTOR_VALUES = 4,    // v0 ... v3
    MOST_BYTES = 1 << 16,   // bytes per text
    MOST_EXPANSIONS = 4096, // expansions of let names, each of which scans its text again
};

// A growing text and its inputs. Created and released by lower_value and access only.
typedef struct piece {
    bb_element *parent; // parent of created elements
    bool selector;
    bool tight; // no blanks before the next text
    bb_text text;
    const bb_notation_emitter **inputs; // [count]
    bb_index count, capacity;
    const char *object_type;    // type of the first object in it
    const char *name_type;      // type of the first name that is not INT32
    bb_notation_token fraction; // first fraction; `start` is NULL if there is none
} piece;

static bb_status lower_expression(bb_notation *notation, piece *target);

static void release_piece(piece *target)
{
    bb_text_release(&target->text);
    BB_RELEASE(&target->inputs);
}

static bb_status add_text(bb_notation *notation, piece *target, bb_notation_token token,
                          const char *text, bb_index length)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; !target->tight && i < token.blanks && i < MOST_BYTES; ++i) {
        BB_TRY(bb_text_add_bytes(&target->text, " ", 1));
    }
    target->tight = false;
    BB_TRY(bb_text_add_bytes(&target->text, text, length));
    if (target->text.length > MOST_BYTES) {
        BB_TRY(bb_notation_refuse(notation, token.place, "expression longer than %d characters",
                                  MOST_BYTES));
    }
done:
    return status;
}

// Copies the current token and advances.
static bb_status copy_token(bb_notation *notation, piece *target)
{
    const bb_notation_token token = notation->cursor.token;
    BB_RETURN_IF_FAILED(add_text(notation, target, token, token.start, token.length));
    bb_notation_advance(notation);
    return BB_OK;
}

// Inserts an emitter in place of `token`.
static bb_status add_input(bb_notation *notation, piece *target, bb_notation_token token,
                           const bb_notation_emitter *emitter)
{
    bb_status status = BB_OK;
    char text[40];
    bb_index index = 0;
    while (index < target->count && target->inputs[index] != emitter) {
        ++index;
    }
    if (index == target->count) {
        if (target->selector && index == SELECTOR_VALUES) {
            BB_TRY(bb_notation_refuse(notation, token.place, "more than %d values in one selector",
                                      SELECTOR_VALUES));
        }
        if (index == target->capacity) {
            target->capacity = 2 * target->capacity + 4;
            BB_TRY(bb_memory_resize(target->capacity, sizeof(void *), (void **)&target->inputs));
        }
        target->inputs[target->count++] = emitter;
    }
    const int length = snprintf(text, sizeof text, target->selector ? "v%td" : "#in(%td)", index);
    BB_TRY(add_text(notation, target, token, text, length));
done:
    return status;
}

bb_notation_name *bb_notation_value_object(const bb_notation *notation, bb_notation_token word)
{
    bb_notation_name *name = bb_notation_names_find(&notation->names, word);
    return name != NULL && name->noun == BB_NOTATION_OBJECT ? name : NULL;
}

bb_status bb_notation_value_refuse(bb_notation *notation, bb_notation_token word)
{
    const bb_notation_name *name = bb_notation_names_find(&notation->names, word);
    return name == NULL
               ? bb_notation_refuse_word(notation, word, "object", NULL, 0, true)
               : bb_notation_refuse(notation, word.place, "%s is not an object", name->text);
}

// Reads the extent `object.word`; the current token is the point.
static bb_status lower_extent(bb_notation *notation, piece *target, bb_notation_token word)
{
    bb_status status = BB_OK;
    static const char *const extents[] = {"columns", "rows", "size"};
    bb_notation_name *object = bb_notation_value_object(notation, word);
    if (object == NULL) {
        status = bb_notation_value_refuse(notation, word);
        goto done;
    }
    bb_notation_advance(notation);
    const bb_notation_token extent = notation->cursor.token;
    int index = 0;
    while (index < 3 && !bb_notation_at(notation, extents[index])) {
        ++index;
    }
    if (index == 3) {
        BB_TRY(extent.kind == BB_NOTATION_WORD
                   ? bb_notation_refuse_word(notation, extent, "extent", extents, 3, false)
                   : bb_notation_refuse_token(notation, "columns, rows or size"));
    }
    if ((index == 2) == object->is_matrix) {
        BB_TRY(bb_notation_refuse(notation, extent.place, "%s is a %s and has %s", object->text,
                                  object->is_matrix ? "matrix" : "vector",
                                  object->is_matrix ? "columns and rows" : "a size"));
    }
    const int dimension = index == 1;
    if (object->sizes[dimension] == NULL) {
        BB_TRY(bb_notation_emit(notation, object->text, dimension == 1 ? "Size(1)" : "Size(0)",
                                "INT32", &object->sizes[dimension]));
    }
    ++notation->made;
    bb_notation_advance(notation);
    BB_TRY(add_input(notation, target, word, object->sizes[dimension]));
done:
    return status;
}

static bb_status lower_read(bb_notation *notation, piece *target, bb_notation_token word)
{
    bb_status status = BB_OK;
    bb_notation_name *object = bb_notation_value_object(notation, word);
    const bb_notation_emitter *emitter = NULL;
    const char *access = NULL;
    if (object == NULL) {
        status = bb_notation_value_refuse(notation, word);
        goto done;
    }
    if (target->object_type == NULL) {
        target->object_type = object->type;
    }
    BB_TRY(bb_notation_value_access(notation, target->parent, object, false, word.place, &access));
    BB_TRY(bb_notation_emit(notation, access, "out", object->type, &emitter));
    BB_TRY(add_input(notation, target, word, emitter));
done:
    return status;
}

static bb_status lower_call(bb_notation *notation, piece *target, bb_notation_token word)
{
    bb_status status = BB_OK;
    const int values = bb_notation_function_values(word);
    if (values == 0) {
        BB_TRY(bb_notation_refuse_word(notation, word, "function", bb_notation_functions,
                                       BB_NOTATION_FUNCTION_COUNT, false));
    }
    BB_TRY(add_text(notation, target, word, word.start, word.length));
    BB_TRY(copy_token(notation, target));
    for (int i = 0; i < values; ++i) {
        BB_TRY(lower_expression(notation, target));
        const char *sign = i + 1 < values ? "," : ")";
        if (!bb_notation_at(notation, sign)) {
            BB_TRY(bb_notation_expect(notation, sign));
        }
        BB_TRY(copy_token(notation, target));
    }
done:
    return status;
}

// Expands a let in place of its name, in parentheses unless it is one word.
static bb_status lower_let(bb_notation *notation, piece *target, bb_notation_token word,
                           bb_notation_name *let)
{
    bb_status status = BB_OK;
    const bb_notation_cursor behind = notation->cursor;
    if (let->expanding) {
        BB_TRY(bb_notation_refuse(notation, word.place, "%s refers to itself", let->text));
    }
    if (++notation->expansions > MOST_EXPANSIONS) {
        BB_TRY(bb_notation_refuse(notation, word.place, "names of let are used more than %d times",
                                  MOST_EXPANSIONS));
    }
    let->expanding = true;
    bb_notation_cursor next = let->body;
    next.token = bb_notation_scanner_next(&next.scanner);
    const bool single = next.token.kind >= BB_NOTATION_LINE;
    BB_TRY(add_text(notation, target, word, "(", single ? 0 : 1));
    target->tight = true;
    notation->cursor = let->body;
    BB_TRY(lower_expression(notation, target));
    if (notation->cursor.token.kind < BB_NOTATION_LINE) {
        BB_TRY(bb_notation_refuse_token(notation, "an operator"));
    }
    notation->cursor = behind;
    if (!single) {
        bb_notation_token tight = word;
        tight.blanks = 0;
        BB_TRY(add_text(notation, target, tight, ")", 1));
    }
done:
    let->expanding = false;
    return status;
}

static bb_status lower_name(bb_notation *notation, piece *target, bb_notation_token word)
{
    bb_notation_name *name = bb_notation_names_find(&notation->names, word);
    if (name == NULL) {
        return bb_notation_refuse_word(notation, word, "name", NULL, 0, true);
    }
    if (name->failed) {
        notation->refused = true;
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "%s was declared by an invalid statement", name->text);
    }
    if (name->noun == BB_NOTATION_LET) {
        return lower_let(notation, target, word, name);
    }
    if (name->noun == BB_NOTATION_OBJECT) {
        return bb_notation_refuse(notation, word.place, "%s is an object; its elements are %s[%s]",
                                  name->text, name->text,
                                  name->is_matrix ? "column, row" : "index");
    }
    if (name->noun == BB_NOTATION_KERNEL) {
        return bb_notation_refuse(notation, word.place, "%s is the name of the kernel", name->text);
    }
    if (name->emitter == NULL) {
        return bb_notation_refuse(notation, word.place, "%s refers to itself", name->text);
    }
    if (name->noun == BB_NOTATION_PARAMETER && target->selector) {
        return add_text(notation, target, word, word.start, word.length);
    }
    if (target->name_type == NULL && strcmp(name->emitter->type, "INT32") != 0) {
        target->name_type = name->emitter->type;
    }
    return add_input(notation, target, word, name->emitter);
}

static bb_status lower_number(bb_notation *notation, piece *target)
{
    const bb_notation_token token = notation->cursor.token;
    if (token.kind == BB_NOTATION_FRACTION && target->fraction.start == NULL) {
        target->fraction = token;
    }
    BB_RETURN_IF_FAILED(copy_token(notation, target));
    const bb_notation_token next = notation->cursor.token;
    if (next.kind == BB_NOTATION_WORD && next.blanks == 0) {
        return bb_notation_refuse_token(notation, "an operator after a number");
    }
    return BB_OK;
}

// Reports a missing closing bracket: at the token if on the same line, else at the open bracket.
static bb_status refuse_open(bb_notation *notation, bb_notation_token bracket, const char *expected)
{
    const bb_notation_token token = notation->cursor.token;
    if (token.kind == BB_NOTATION_END || token.place.line != bracket.place.line) {
        return bb_notation_refuse(notation, bracket.place, "'%c' is not closed", *bracket.start);
    }
    return bb_notation_refuse_token(notation, expected);
}

static bb_status lower_operand(bb_notation *notation, piece *target)
{
    bb_status status = BB_OK;
    while (bb_notation_at(notation, "-") || bb_notation_at(notation, "!")) {
        BB_TRY(copy_token(notation, target));
    }
    const bb_notation_token token = notation->cursor.token;
    if (token.kind == BB_NOTATION_INTEGER || token.kind == BB_NOTATION_FRACTION) {
        BB_TRY(lower_number(notation, target));
    } else if (token.kind == BB_NOTATION_WORD) {
        bb_notation_advance(notation);
        if (bb_notation_at(notation, "(")) {
            BB_TRY(lower_call(notation, target, token));
        } else if (bb_notation_at(notation, "[")) {
            BB_TRY(lower_read(notation, target, token));
        } else if (bb_notation_at(notation, ".")) {
            BB_TRY(lower_extent(notation, target, token));
        } else {
            BB_TRY(lower_name(notation, target, token));
        }
    } else if (bb_notation_at(notation, "(")) {
        BB_TRY(copy_token(notation, target));
        BB_TRY(lower_expression(notation, target));
        if (!bb_notation_at(notation, ")")) {
            BB_TRY(refuse_open(notation, token, "an operator or ')'"));
        }
        BB_TRY(copy_token(notation, target));
    } else {
        BB_TRY(bb_notation_refuse_token(notation, "a value"));
    }
done:
    return status;
}

static bool at_operator(const bb_notation *notation)
{
    static const char *const operators[] = {
        "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; ++i) {
        if (bb_notation_at(notation, operators[i])) {
            return true;
        }
    }
    return false;
}

// Copies operands and operators; their precedence does not matter here.
static bb_status lower_expression(bb_notation *notation, piece *target)
{
    bb_status status = BB_OK;
    ++notation->depth;
    if (notation->depth > BB_NOTATION_MAX_DEPTH) {
        BB_TRY(bb_notation_refuse(notation, notation->cursor.token.place,
                                  "brackets nested deeper than %d", BB_NOTATION_MAX_DEPTH));
    }
    BB_TRY(lower_operand(notation, target));
    while (at_operator(notation)) {
        BB_TRY(copy_token(notation, target));
        BB_TRY(lower_operand(notation, target));
    }
    if (bb_notation_at(notation, "?")) {
        BB_TRY(copy_token(notation, target));
        BB_TRY(lower_expression(notation, target));
        if (!bb_notation_at(notation, ":")) {
            BB_TRY(bb_notation_refuse_token(notation, "an operator or ':'"));
        }
        BB_TRY(copy_token(notation, target));
        BB_TRY(lower_expression(notation, target));
    }
done:
    --notation->depth;
    return status;
}

static bb_status add_block(bb_notation *notation, piece *target, const char *type, bb_place place,
                           const bb_notation_emitter **out)
{
    bb_status status = BB_OK;
    bb_element *block = NULL;
    const char *name = NULL;
    const char *count = NULL;
    bb_arena *arena = &notation->description->arena;
    BB_TRY(bb_text_add_bytes(&target->text, ";", 1));
    BB_TRY(bb_arena_printf(arena, &name, "calc_%td", ++notation->made));
    BB_TRY(bb_arena_printf(arena, &count, "%td", target->count));
    BB_TRY(bb_notation_add(notation, target->parent, "FunctionBlock", place, &block));
    BB_TRY(bb_notation_set(notation, block, BB_DESCRIPTION_NAME, name, place));
    BB_TRY(bb_notation_set(notation, block, BB_DESCRIPTION_NUM_IN, count, place));
    BB_TRY(bb_notation_set(notation, block, BB_DESCRIPTION_NUM_OUT, "1", place));
    BB_TRY(bb_notation_set(notation, block, BB_DESCRIPTION_DATA_TYPE, type, place));
    BB_TRY(bb_notation_set(notation, block, BB_DESCRIPTION_FUNCTION, bb_text_string(&target->text),
                           place));
    for (bb_index i = 0; i < target->count; ++i) {
        BB_TRY(bb_notation_wire(notation, target->inputs[i], name, "in", i, place));
    }
    BB_TRY(bb_notation_emit(notation, name, "out(0)", type, out));
done:
    return status;
}

bb_status bb_notation_value(bb_notation *notation, bb_element *parent, const char *type,
                            const char *fallback, const bb_notation_emitter **out)
{
    bb_status status = BB_OK;
    const bb_place place = notation->cursor.token.place;
    piece value = {.parent = parent, .tight = true};
    BB_TRY(lower_expression(notation, &value));
    const char *known = type != NULL                ? type
                        : value.object_type != NULL ? value.object_type
                        : value.name_type != NULL   ? value.name_type
                                                    : fallback;
    if (strcmp(bb_text_string(&value.text), "#in(0)") == 0 &&
        (type == NULL || strcmp(type, value.inputs[0]->type) == 0)) {
        *out = value.inputs[0];
        goto done;
    }
    if (value.fraction.start != NULL && strcmp(known, "INT32") == 0) {
        BB_TRY(bb_notation_refuse(notation, value.fraction.place,
                                  "%.*s in a value of INT32, expected an integer",
                                  (int)value.fraction.length, value.fraction.start));
    }
    BB_TRY(add_block(notation, &value, known, place, out));
done:
    release_piece(&value);
    return status;
}

// Reads coordinates and boundary, up to the closing bracket.
static bb_status lower_selector(bb_notation *notation, piece *selector,
                                const bb_notation_name *object, const char **boundary)
{
    bb_status status = BB_OK;
    const int expected = object->is_matrix ? 2 : 1;
    int coordinates = 1;
    const bb_notation_token bracket = notation->cursor.token;
    BB_TRY(bb_notation_expect(notation, "["));
    BB_TRY(lower_expression(notation, selector));
    for (; bb_notation_at(notation, ","); ++coordinates) {
        BB_TRY(copy_token(notation, selector));
        BB_TRY(lower_expression(notation, selector));
    }
    if (bb_notation_at(notation, "|")) {
        bb_notation_advance(notation);
        BB_TRY(bb_notation_boundary(notation, boundary));
    }
    if (!bb_notation_at(notation, "]")) {
        BB_TRY(refuse_open(notation, bracket, "an operator, ',', '|' or ']'"));
    }
    bb_notation_advance(notation);
    if (coordinates != expected) {
        BB_TRY(bb_notation_refuse(notation, bracket.place,
                                  "%s is a %s: got %d coordinate%s, "
                                  "expected %d",
                                  object->text, object->is_matrix ? "matrix" : "vector",
                                  coordinates, coordinates == 1 ? "" : "s", expected));
    }
    if (selector->fraction.start != NULL) {
        BB_TRY(bb_notation_refuse(notation, selector->fraction.place,
                                  "%.*s in a selector, expected an integer",
                                  (int)selector->fraction.length, selector->fraction.start));
    }
done:
    return status;
}

// Statements run in the order in which they are written: an access after a write of the same object
// waits for it.
static bb_status follow_write(bb_notation *notation, bb_notation_name *object, const char *access,
                              bool write, bb_place place)
{
    bb_status status = BB_OK;
    bb_element *rule = NULL;
    if (object->written != NULL) {
        if (notation->rules == NULL) {
            BB_TRY(bb_notation_add(notation, notation->connections->parent, "OrderingRules", place,
                                   &notation->rules));
        }
        BB_TRY(bb_notation_add(notation, notation->rules, "Rule", place, &rule));
        BB_TRY(bb_notation_set(notation, rule, BB_DESCRIPTION_FIRST, object->written, place));
        BB_TRY(bb_notation_set(notation, rule, BB_DESCRIPTION_SECOND, access, place));
    }
    object->written = write ? access : object->written;
done:
    return status;
}

bb_status bb_notation_value_access(bb_notation *notation, bb_element *parent,
                                   bb_notation_name *object, bool write, bb_place place,
                                   const char **out)
{
    bb_status status = BB_OK;
    bb_element *access = NULL;
    piece selector = {.parent = parent, .selector = true, .tight = true};
    const char *boundary = write ? "none" : object->boundary;
    BB_TRY(lower_selector(notation, &selector, object, &boundary));
    BB_TRY(bb_arena_printf(&notation->description->arena, out, "%s_%s_%td",
                           write ? "write" : "read", object->text, ++notation->made));
    BB_TRY(bb_notation_add(notation, parent, write ? "DataAccessWrite" : "DataAccessRead", place,
                           &access));
    BB_TRY(bb_notation_set(notation, access, BB_DESCRIPTION_NAME, *out, place));
    BB_TRY(bb_notation_set(notation, access,
                           write ? BB_DESCRIPTION_DESTINATION : BB_DESCRIPTION_SOURCE, object->text,
                           place));
    BB_TRY(bb_notation_set(notation, access, BB_DESCRIPTION_SELECTOR,
                           bb_text_string(&selector.text), place));
    if (strcmp(boundary, "none") != 0) {
        BB_TRY(bb_notation_set(notation, access, BB_DESCRIPTION_BOUNDARY, boundary, place));
    }
    for (bb_index i = 0; i < selector.count; ++i) {
        BB_TRY(bb_notation_wire(notation, selector.inputs[i], *out, "v", i, place));
    }
    BB_TRY(follow_write(notation, object, *out, write, place));
done:
    release_piece(&selector);
    return status;
}

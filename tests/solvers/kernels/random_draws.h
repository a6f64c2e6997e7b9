// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of random kernel descriptions: counter-based draws, available values, and
// expressions.
#ifndef BB_TESTS_SOLVERS_KERNELS_RANDOM_DRAWS_H
#define BB_TESTS_SOLVERS_KERNELS_RANDOM_DRAWS_H

#include "core/random.h"
#include "tests/solvers/kernels/program_fixture.h"

enum {
    RANDOM_OBJECTS = 6,
    RANDOM_EMITTERS = 96,
    RANDOM_BODY = 0,     // scope of emitters; 1 ...: in an iterator
    RANDOM_HOST = -1,    // sizes and parameters
    RANDOM_FINAL = 1000, // after the space
};

typedef struct random_emitter {
    char port[32];
    bb_element_type type;
    int scope;
} random_emitter;

typedef struct random_object {
    bool is_matrix;
    bb_element_type type;
    int sizes[2]; // relation of an extent to the two extents of the program
    bool is_output, is_written;
} random_object;

typedef struct random_program {
    uint64_t seed, draws;
    bb_text text, connections, rules;
    int dimensions, steps, iterators, objects;
    bool has_icf;
    random_object rows[RANDOM_OBJECTS];
    random_emitter emitters[RANDOM_EMITTERS];
    int emitter_count;
} random_program;

static inline int draw_of(random_program *program, int count)
{
    uint32_t words[4];
    bb_random_words(program->seed, (bb_stream)0, program->draws++, words);
    return (int)(words[0] % (uint32_t)count);
}

static inline bool chance(random_program *program, int percent)
{
    return draw_of(program, 100) < percent;
}

static inline const char *type_name(bb_element_type type)
{
    return type == BB_ELEMENT_INDEX ? "INT32" : bb_element_type_row(type)->name;
}

static inline bool is_integer_type(bb_element_type type)
{
    return type == BB_ELEMENT_INT32 || type == BB_ELEMENT_INDEX;
}

static inline bb_element_type draw_type(random_program *program)
{
    static const bb_element_type types[] = {
        BB_ELEMENT_SP,    BB_ELEMENT_SP,  BB_ELEMENT_SP,  BB_ELEMENT_DP,    BB_ELEMENT_DP,
        BB_ELEMENT_INT32, BB_ELEMENT_SP2, BB_ELEMENT_DP2, BB_ELEMENT_INT32, BB_ELEMENT_B};
    return types[draw_of(program, 10)];
}

// Appends a text with '<' and '&' escaped for XML.
static inline void add_escaped(bb_text *out, const char *text)
{
    for (; *text != '\0'; ++text) {
        check_ok(*text == '<'   ? bb_text_add(out, "&lt;")
                 : *text == '&' ? bb_text_add(out, "&amp;")
                                : bb_text_add_bytes(out, text, 1));
    }
}

// Appends a text with each '$' replaced by a number, in order.
static inline void add_filled(bb_text *out, const char *text, const int *numbers)
{
    for (; *text != '\0'; ++text) {
        check_ok(*text == '$' ? bb_text_add(out, "%d", *numbers++)
                              : bb_text_add_bytes(out, text, 1));
    }
}

static inline void emit(random_program *program, bb_element_type type, int scope, const char *text,
                        int a, int b)
{
    autorelease(bb_text) port = {0};
    assert_true(program->emitter_count < RANDOM_EMITTERS);
    random_emitter *emitter = &program->emitters[program->emitter_count++];
    *emitter = (random_emitter){.type = type, .scope = scope};
    add_filled(&port, text, (const int[]){a, b});
    (void)snprintf(emitter->port, sizeof emitter->port, "%s", bb_text_string(&port));
}

static inline void connect(random_program *program, const random_emitter *emitter,
                           const char *owner, int number, const char *port, int index)
{
    char brackets[24] = "";
    if (index >= 0) {
        (void)snprintf(brackets, sizeof brackets, "(%d)", index);
    }
    check_ok(bb_text_add(&program->connections,
                         "<Connection source=\"%s\" destination=\"%s%d.%s%s\"/>\n", emitter->port,
                         owner, number, port, brackets));
}

static inline bool is_visible(const random_emitter *emitter, int scope)
{
    return emitter->scope == RANDOM_HOST || emitter->scope == scope ||
           (scope > RANDOM_BODY && scope < RANDOM_FINAL && emitter->scope == RANDOM_BODY);
}

// Random value available in a scope, later ones more often; an integer if requested.
static inline const random_emitter *draw_emitter(random_program *program, int scope, bool integer)
{
    const random_emitter *found[RANDOM_EMITTERS];
    int count = 0;
    for (int i = 0; i < program->emitter_count; ++i) {
        const random_emitter *emitter = &program->emitters[i];
        if (is_visible(emitter, scope) && (!integer || is_integer_type(emitter->type))) {
            found[count++] = emitter;
        }
    }
    if (count == 0) {
        return NULL;
    }
    const int a = draw_of(program, count);
    const int b = draw_of(program, count);
    return found[a > b ? a : b];
}

static inline const random_emitter *find_emitter(const random_program *program, const char *port)
{
    for (int i = 0; i < program->emitter_count; ++i) {
        if (strcmp(program->emitters[i].port, port) == 0) {
            return &program->emitters[i];
        }
    }
    return NULL;
}

// Expressions

/// Operands of an expression: names of values, `#in(k)` or `v<k>`.
typedef struct random_operands {
    const char *text;
    int count;
} random_operands;

static inline void add_number(random_program *program, bb_element_type part, bb_text *out)
{
    static const char *const integers[] = {"0", "1", "2", "3", "7", "16", "65536", "2147483647"};
    static const char *const numbers[] = {"0", "1", "2", "0.5", "3", "1e-3", "1e30", "1e-40"};
    const int number = draw_of(program, 8);
    check_ok(bb_text_add(out, "%s",
                         part == BB_ELEMENT_B       ? integers[number % 2]
                         : part == BB_ELEMENT_INT32 ? integers[number]
                                                    : numbers[number]));
}

static inline void add_expression(random_program *program, bb_element_type type,
                                  const random_operands *operands, int depth, bb_text *out);

static inline void add_condition(random_program *program, bb_element_type type,
                                 const random_operands *operands, int depth, bb_text *out)
{
    static const char *const orders[] = {"<", "<=", ">", ">=", "==", "!="};
    const bool complex = bb_element_type_row(type)->parts == 2;
    check_ok(bb_text_add(out, "("));
    add_expression(program, type, operands, depth, out);
    check_ok(
        bb_text_add(out, " %s ", orders[complex ? 4 + draw_of(program, 2) : draw_of(program, 6)]));
    add_expression(program, type, operands, depth, out);
    check_ok(bb_text_add(out, ")"));
}

static inline void add_call(random_program *program, const char *name, int values,
                            bb_element_type type, const random_operands *operands, int depth,
                            bb_text *out)
{
    check_ok(bb_text_add(out, "%s(", name));
    for (int k = 0; k < values; ++k) {
        check_ok(bb_text_add(out, "%s", k > 0 ? ", " : ""));
        add_expression(program, type, operands, depth, out);
    }
    check_ok(bb_text_add(out, ")"));
}

static inline void add_function(random_program *program, bb_element_type type,
                                const random_operands *operands, int depth, bb_text *out)
{
    static const char *const floats[] = {"max", "min", "fabs", "sqrt", "floor", "rint", "abs"};
    static const char *const complex[] = {"re", "im", "conj", "abs"};
    static const int integers[] = {0, 1, 2, 6};
    const bb_element_row *row = bb_element_type_row(type);
    if (row->parts == 2) {
        add_call(program, complex[draw_of(program, 4)], 1, type, operands, depth, out);
        return;
    }
    const int function = row->is_float ? draw_of(program, 7) : integers[draw_of(program, 4)];
    add_call(program, floats[function], function < 2 ? 2 : 1, type, operands, depth, out);
}

// Expression of D or of a type that converts to it; some complex ones are refused, such as `re` of
// a real number.
static inline void add_expression(random_program *program, bb_element_type type,
                                  const random_operands *operands, int depth, bb_text *out)
{
    static const char *const signs[] = {"+", "-", "*", "/", "%"};
    const bb_element_row *row = bb_element_type_row(type);
    const int choice = depth == 0 ? 0 : draw_of(program, 10);
    if (choice < 2) {
        if (operands->count > 0 && chance(program, 75)) {
            add_filled(out, operands->text, (const int[]){draw_of(program, operands->count)});
        } else {
            add_number(program, row->part, out);
        }
    } else if (choice == 2) {
        check_ok(bb_text_add(out, "("));
        add_condition(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, " ? "));
        add_expression(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, " : "));
        add_expression(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, ")"));
    } else if (type == BB_ELEMENT_B) {
        check_ok(bb_text_add(out, "%s(", choice == 3 ? "!" : ""));
        add_expression(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, choice % 2 == 0 ? " && " : " || "));
        add_condition(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, ")"));
    } else if (choice < 5) {
        add_function(program, type, operands, depth - 1, out);
    } else {
        check_ok(bb_text_add(out, "%s(", choice == 5 ? "-" : ""));
        add_expression(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, " %s ", signs[draw_of(program, row->parts == 2 ? 3 : 5)]));
        add_expression(program, type, operands, depth - 1, out);
        check_ok(bb_text_add(out, ")"));
    }
}

#endif

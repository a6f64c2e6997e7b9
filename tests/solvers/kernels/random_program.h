// SPDX-License-Identifier: Apache-2.0
//
// Random kernel descriptions as XML, by number. Most are valid for the sizes that come with them;
// the others fail with a problem when read, checked or bound.
#ifndef BB_TESTS_SOLVERS_KERNELS_RANDOM_PROGRAM_H
#define BB_TESTS_SOLVERS_KERNELS_RANDOM_PROGRAM_H

#include "tests/solvers/kernels/random_draws.h"

// Selectors

/// Inputs of a selector, in order of v0 ...
typedef struct random_selector {
    bb_text text;
    const random_emitter *values[BB_PROGRAM_VARIABLES];
    int count;
} random_selector;

// v<k> for an emitter; the last of the four if all are used.
static inline int variable_of(random_selector *selector, const random_emitter *emitter)
{
    for (int k = 0; k < selector->count; ++k) {
        if (selector->values[k] == emitter) {
            return k;
        }
    }
    if (selector->count == BB_PROGRAM_VARIABLES) {
        return BB_PROGRAM_VARIABLES - 1;
    }
    selector->values[selector->count] = emitter;
    return selector->count++;
}

// The position that an access of a dimension mostly uses.
static inline const random_emitter *position_of(random_program *program, int scope, int dimension)
{
    char port[32];
    const bool own = scope > RANDOM_BODY && scope < RANDOM_FINAL &&
                     (dimension == 0 || program->dimensions == 1) && chance(program, 60);
    (void)(own ? snprintf(port, sizeof port, "s%d.i(0)", scope)
               : snprintf(port, sizeof port, "k0.i(%d)",
                          dimension < program->dimensions ? dimension : 0));
    return find_emitter(program, port);
}

static inline void add_coordinate(random_program *program, random_selector *selector, int scope,
                                  int dimension, int form)
{
    static const char *const forms[] = {"v$",
                                        "v$ + $",
                                        "v$ - $",
                                        "2*v$ + $",
                                        "v$ / 2",
                                        "v$ % 3",
                                        "$ - v$",
                                        "v$ + v$",
                                        "(v$ + v$) % 2",
                                        "2*v$ + (v$ + p0) % 2",
                                        "v$*2 - v$",
                                        "max(v$, 1) - 1",
                                        "v$ + p0",
                                        "v$ > 2 ? v$ : 0",
                                        "v$ * v$",
                                        "-v$ % 2",
                                        "v$ + v$ * 3 - 1",
                                        "v$*$ / 4",
                                        "v$ * 1048576 + v$",
                                        "v$ - 1073741824 + $",
                                        "v$ % -3 + v$ / -2"};
    const random_emitter *first = position_of(program, scope, dimension);
    const random_emitter *other = draw_emitter(program, scope, true);
    if (scope == RANDOM_FINAL || first == NULL) {
        check_ok(bb_text_add(&selector->text, "%d", draw_of(program, 2)));
        return;
    }
    if (chance(program, 15)) {
        first = draw_emitter(program, scope, true);
    }
    const char *text = forms[form];
    const int a = variable_of(selector, first);
    const int number = draw_of(program, 4);
    const bool two = strchr(text, 'v') != strrchr(text, 'v');
    const int b = two ? variable_of(selector, other) : number;
    add_filled(&selector->text, text, form == 6 ? (const int[]){b, a} : (const int[]){a, b});
}

static inline void add_access(random_program *program, bb_text *out, bool write, int number,
                              int object, random_selector *selector, int boundary)
{
    static const char *const kinds[2] = {"DataAccessRead", "DataAccessWrite"};
    check_ok(bb_text_add(out, "<%s name=\"c%d\" %s=\"o%d\" selectorFunction=\"", kinds[write],
                         number, write ? "destination" : "source", object));
    add_escaped(out, bb_text_string(&selector->text));
    check_ok(bb_text_add(out, "\" boundary=\"%s\"/>\n", bb_program_boundary_name(boundary)));
    for (int k = 0; k < selector->count; ++k) {
        connect(program, selector->values[k], "c", number, "v", k);
    }
    bb_text_release(&selector->text);
}

static inline void add_read(random_program *program, bb_text *out, int scope)
{
    const int object = draw_of(program, program->objects);
    const random_object *row = &program->rows[object];
    random_selector selector = {.count = 0};
    if (row->is_output && chance(program, 95)) {
        return;
    }
    bool plain = true;
    for (int k = 0; k <= row->is_matrix; ++k) {
        const int form = chance(program, 50) ? 0 : draw_of(program, 21);
        plain = plain && form == 0 && row->sizes[k] < 2;
        check_ok(bb_text_add(&selector.text, "%s", k > 0 ? ", " : ""));
        add_coordinate(program, &selector, scope, k, form);
    }
    const int number = program->steps++;
    const int boundary = plain && chance(program, 70) ? BB_BOUNDARY_NONE
                         : chance(program, 4)         ? BB_BOUNDARY_NONE
                                                      : 1 + draw_of(program, 5);
    add_access(program, out, false, number, object, &selector, boundary);
    emit(program, row->type, scope, "c$.out", number, 0);
}

static inline void add_block(random_program *program, bb_text *out, int scope, bb_element_type type,
                             const random_emitter *narrowed)
{
    const random_emitter *taken[4];
    int inputs = narrowed != NULL ? 1 : draw_of(program, 5);
    const int outputs = narrowed != NULL || chance(program, 75) ? 1 : 2 + draw_of(program, 2);
    bb_element_type result = type;
    autorelease(bb_text) text = {0};
    for (int k = 0; k < inputs; ++k) {
        taken[k] = narrowed != NULL ? narrowed : draw_emitter(program, scope, false);
        if (taken[k] == NULL) {
            inputs = k;
            break;
        }
        if (type == BB_ELEMENT_INT32 && taken[k]->type == BB_ELEMENT_INDEX) {
            result = BB_ELEMENT_INDEX;
        }
    }
    const random_operands operands = {"#in($)", inputs};
    for (int k = 0; k < outputs; ++k) {
        check_ok(bb_text_add(&text, "%s", k > 0 ? "; " : ""));
        if (narrowed != NULL) {
            check_ok(bb_text_add(&text, "#in(0)"));
        } else {
            add_expression(program, type, &operands, 1 + draw_of(program, 3), &text);
        }
    }
    const int number = program->steps++;
    check_ok(bb_text_add(out,
                         "<FunctionBlock name=\"c%d\" numInVars=\"%d\" numOutVars=\"%d\" "
                         "dataType=\"%s\" function=\"",
                         number, inputs, outputs, type_name(type)));
    add_escaped(out, bb_text_string(&text));
    check_ok(bb_text_add(out, ";\"/>\n"));
    for (int k = 0; k < inputs; ++k) {
        connect(program, taken[k], "c", number, "in", k);
    }
    for (int k = 0; k < outputs; ++k) {
        emit(program, result, scope, "c$.out($)", number, k);
    }
}

// Writes: mostly to objects without reads, each element once.
static inline int add_write_selector(random_program *program, random_selector *selector, int scope,
                                     const random_object *row)
{
    char port[32];
    (void)snprintf(port, sizeof port, "s%d.i(0)", scope);
    const bool inner = scope > RANDOM_BODY && scope < RANDOM_FINAL;
    const random_emitter *x = find_emitter(program, "k0.i(0)");
    const random_emitter *y = find_emitter(program, program->dimensions == 2 ? "k0.i(1)"
                                                    : inner                  ? port
                                                                             : "k0.i(0)");
    static const char *const lines[] = {"v0", "v0 + 1", "3 - v0", "2*v0 + 1", "v0*3 - 2"};
    static const char *const planes[] = {"v0 + 257*v1", "v0*5 + v1", "v1 + v0*7 - 3"};
    static const char *const pairs[] = {"v0, v1",      "v1, v0",
                                        "v0, v1",      "v0 + 1, v1 - 1",
                                        "v1 - v0, v0", "2*v0 + (v1 + p0) % 2, v1",
                                        "v0, 2*v1",    "v0 % 2 + 2*v1, v0 / 2"};
    static const char *const rows[] = {"v0, 0", "v0, v0", "1, v0", "v0 % 3, v0 / 3", "0, 2 - v0"};
    const int choice = draw_of(program, 40);
    if (scope == RANDOM_FINAL) {
        check_ok(
            bb_text_add(&selector->text, "%s%d", row->is_matrix ? "0, " : "", draw_of(program, 2)));
        return chance(program, 40) ? BB_BOUNDARY_NONE : BB_BOUNDARY_SKIP;
    }
    selector->values[selector->count++] = x;
    const bool two = y != x;
    if (two) {
        selector->values[selector->count++] = y;
    }
    const char *text = row->is_matrix ? two ? pairs[choice % 8] : rows[choice % 5]
                       : two ? planes[choice % 3]
                                      : lines[choice % 5];
    check_ok(bb_text_add(&selector->text, "%s", text));
    const bool plain = strcmp(text, "v0") == 0 || strcmp(text, "v0, v1") == 0;
    return plain && row->sizes[0] < 2 && row->sizes[1] < 2 && chance(program, 75) ? BB_BOUNDARY_NONE
           : chance(program, 6)  ? draw_of(program, BB_BOUNDARY_COUNT)
           : chance(program, 50) ? BB_BOUNDARY_SKIP
                                 : BB_BOUNDARY_ZERO;
}

static inline void add_write(random_program *program, bb_text *out, int scope)
{
    int object = draw_of(program, program->objects);
    const bool any = chance(program, 6);
    for (int i = 0; i < 2 * program->objects && !any; ++i) {
        const random_object *candidate = &program->rows[object];
        const bool fits = candidate->is_output && (!candidate->is_written || i >= program->objects);
        object = fits ? object : (object + 1) % program->objects;
    }
    random_object *row = &program->rows[object];
    if (row->is_written && !any && scope != RANDOM_FINAL && chance(program, 80)) {
        return;
    }
    random_selector selector = {.count = 0};
    const random_emitter *stored = draw_emitter(program, scope, false);
    if (stored == NULL) {
        return;
    }
    row->is_written = true;
    const int boundary = add_write_selector(program, &selector, scope, row);
    const bool in_place = chance(program, 15) && scope != RANDOM_FINAL;
    const int taken = stored->type == BB_ELEMENT_INDEX ? BB_ELEMENT_INT32 : (int)stored->type;
    if (taken != (int)row->type && !bb_element_type_widens(taken, row->type)) {
        add_block(program, out, scope, row->type, stored);
        stored = &program->emitters[program->emitter_count - 1];
    }
    if (in_place) {
        random_selector same = selector;
        same.text = (bb_text){0};
        check_ok(bb_text_add(&same.text, "%s", bb_text_string(&selector.text)));
        const int read = program->steps++;
        add_access(program, out, false, read, object, &same, boundary);
        emit(program, row->type, scope, "c$.out", read, 0);
        if (row->type == stored->type) {
            add_block(program, out, scope, row->type,
                      &program->emitters[program->emitter_count - 1]);
            stored = &program->emitters[program->emitter_count - 1];
        }
    }
    const int number = program->steps++;
    add_access(program, out, true, number, object, &selector, boundary);
    connect(program, stored, "c", number, "in", -1);
}

// Iteration connection functions

static inline void add_icf(random_program *program, bb_text *out, bb_element_type type,
                           const char *owner, int number, int scope, int *accumulators)
{
    static const char *const known[] = {
        "#acc(0) + #in(0)",     "#in(0) + #acc(0)",  "#acc(0) * #in(0)", "max(#acc(0), #in(0))",
        "min(#in(0), #acc(0))", "#acc(0) && #in(0)", "#in(0) || #acc(0)"};
    static const struct {
        const char *text, *start;
        int inputs, accumulators, associative;
    } others[] = {{"#acc(0) * 3 - #in(0)", "1", 1, 1, 0},
                  {"#acc(0) + #in(0); max(#acc(1), #in(0))", "0; 0", 1, 2, 0},
                  {"#acc(0) + #in(0); #acc(1) + #in(1)", "0; 0", 2, 2, 1},
                  {"#in(0) > #acc(0) ? #in(0) : #acc(0); #in(0) > #acc(0) ? #in(1) : #acc(1)",
                   "-1; 0", 2, 2, 1},
                  {"#acc(1); #acc(0) + #in(0); #acc(1) - #acc(2)", "1; 2; 3", 1, 3, 0},
                  {"#acc(0) / 2 + #in(0)", "0", 1, 1, 1},
                  {"#in(0) && #acc(0)", "1", 1, 1, 1}};
    const bb_element_row *row = bb_element_type_row(type);
    const bool complex = row->parts == 2;
    const int choice = draw_of(program, 7);
    const bool is_known = type == BB_ELEMENT_B || chance(program, 65);
    const char *text = type == BB_ELEMENT_B  ? known[5 + choice % 2]
                       : is_known && complex ? known[choice % 3]
                       : is_known            ? known[choice % (row->is_float ? 5 : 7)]
                       : complex && choice != 4 && choice != 0 ? others[2].text
                                                               : others[choice].text;
    const int kind = complex && choice != 4 && choice != 0 ? 2 : choice;
    check_ok(bb_text_add(out, " ICF=\""));
    add_escaped(out, text);
    check_ok(bb_text_add(out, "\" ICFType=\"%s\"", type_name(type)));
    *accumulators = is_known ? 1 : others[kind].accumulators;
    if (!is_known) {
        check_ok(bb_text_add(out, " ICFInit=\"%s\"", others[kind].start));
        if (others[kind].associative && chance(program, 50)) {
            check_ok(bb_text_add(out, " ICFAssociative=\"true\""));
        }
    } else if (chance(program, 20)) {
        check_ok(bb_text_add(out, " ICFInit=\"1\""));
    }
    for (int k = 0; k < (is_known ? 1 : others[kind].inputs); ++k) {
        const random_emitter *fed = draw_emitter(program, scope, false);
        for (int tries = 0;
             tries < 30 && !bb_element_type_widens(fed->type, type) && fed->type != type; ++tries) {
            fed = draw_emitter(program, scope, false);
        }
        connect(program, fed, owner, number, "func", k);
    }
}

// A type that a value of the scope converts to.
static inline bb_element_type draw_icf_type(random_program *program, int scope)
{
    const random_emitter *fed = draw_emitter(program, scope, false);
    const bb_element_type type = draw_type(program);
    return fed == NULL                               ? BB_ELEMENT_INT32
           : bb_element_type_widens(fed->type, type) ? type
           : fed->type == BB_ELEMENT_INDEX           ? BB_ELEMENT_INT32
                                                     : fed->type;
}

static inline void add_range(random_program *program, bb_text *out, const char *owner, int number,
                             int dimension)
{
    static const char *const numbers[] = {"0", "1", "2", "3", "5", "-2", "7"};
    const random_emitter *emitter = draw_emitter(program, RANDOM_HOST, true);
    const int choice = draw_of(program, 10);
    if (choice < 4 || emitter == NULL) {
        const int constant = program->steps++;
        check_ok(bb_text_add(out,
                             "<FunctionBlock name=\"c%d\" numInVars=\"0\" numOutVars=\"1\" "
                             "dataType=\"INT32\" function=\"%s;\"/>\n",
                             constant, numbers[draw_of(program, 7)]));
        emit(program, BB_ELEMENT_INT32, RANDOM_HOST, "c$.out(0)", constant, 0);
        emitter = &program->emitters[program->emitter_count - 1];
    } else if (choice < 7) {
        const random_emitter *data = draw_emitter(program, RANDOM_BODY, true);
        const int modulus = program->steps++;
        check_ok(bb_text_add(out,
                             "<FunctionBlock name=\"c%d\" numInVars=\"1\" numOutVars=\"1\" "
                             "dataType=\"INT32\" function=\"#in(0) %% %d;\"/>\n",
                             modulus, 2 + draw_of(program, 6)));
        connect(program, data, "c", modulus, "in", 0);
        emit(program, data->type, data->scope, "c$.out(0)", modulus, 0);
        emitter = &program->emitters[program->emitter_count - 1];
    }
    connect(program, emitter, owner, number, "Range", dimension);
}

static inline void add_iterator(random_program *program, bb_text *out)
{
    autorelease(bb_text) children = {0};
    const int number = ++program->iterators;
    const int dimensions = 1 + chance(program, 30);
    int accumulators = 0;
    for (int k = 0; k < dimensions; ++k) {
        add_range(program, out, "s", number, k);
    }
    for (int k = 0; k < dimensions; ++k) {
        emit(program, BB_ELEMENT_INDEX, number, "s$.i($)", number, k);
    }
    const int children_count = 1 + draw_of(program, 4);
    for (int i = 0; i < children_count; ++i) {
        if (chance(program, 55)) {
            add_read(program, &children, number);
        } else {
            add_block(program, &children, number, draw_type(program), NULL);
        }
    }
    if (chance(program, program->dimensions + dimensions == 2 ? 25 : 2)) {
        add_write(program, &children, number);
    }
    const bb_element_type type = draw_icf_type(program, number);
    check_ok(bb_text_add(out, "<IteratorBlock name=\"s%d\" dimensions=\"%d\"", number, dimensions));
    add_icf(program, out, type, "s", number, number, &accumulators);
    check_ok(bb_text_add(out, ">\n%s</IteratorBlock>\n", bb_text_string(&children)));
    for (int k = 0; k < accumulators; ++k) {
        emit(program, type, RANDOM_BODY, "s$.out($)", number, k);
    }
}

// The description

static inline void add_objects(random_program *program)
{
    const bb_element_type type = draw_type(program);
    program->objects = 2 + draw_of(program, RANDOM_OBJECTS - 1);
    check_ok(bb_text_add(&program->text, "<DataObjects>\n"));
    for (int i = 0; i < program->objects; ++i) {
        random_object *row = &program->rows[i];
        *row = (random_object){.is_matrix = chance(program, program->dimensions == 2 ? 80 : 25),
                               .type = i == 1 && chance(program, 60) ? BB_ELEMENT_INT32
                                                                     : draw_type(program),
                               .sizes = {draw_of(program, 40), draw_of(program, 40)},
                               .is_output = i >= program->objects - 1 - (program->objects > 4)};
        row->sizes[0] = i == 0               ? 5 * (row->sizes[0] < 10)
                        : row->sizes[0] < 26 ? row->sizes[0] % 2
                                             : row->sizes[0] % 6;
        row->sizes[1] = i == 0 ? 0 : row->sizes[1] < 26 ? row->sizes[1] % 2 : row->sizes[1] % 6;
        check_ok(bb_text_add(&program->text,
                             "<DataObject name=\"o%d\" structure=\"%s\" elementDataType=\"%s\"/>\n",
                             i, row->is_matrix ? "matrix" : "vector", type_name(row->type)));
        for (int k = 0; k <= row->is_matrix; ++k) {
            emit(program, BB_ELEMENT_INT32, RANDOM_HOST, "o$.Size($)", i, k);
        }
    }
    check_ok(bb_text_add(&program->text,
                         "</DataObjects>\n<Parameters>\n<Parameter name=\"p0\" type=\"INT32\"/>\n"
                         "<Parameter name=\"p1\" type=\"%s\"/>\n</Parameters>\n<Children>\n",
                         type_name(type)));
    emit(program, BB_ELEMENT_INT32, RANDOM_HOST, "p0.value", 0, 0);
    emit(program, type, RANDOM_HOST, "p1.value", 0, 0);
}

static inline void add_space(random_program *program)
{
    for (int k = 0; k < program->dimensions; ++k) {
        const random_emitter *size = find_emitter(
            program, k == 1 && program->rows[0].is_matrix ? "o0.Size(1)" : "o0.Size(0)");
        if (chance(program, 15)) {
            static const char *const texts[] = {"(#in(0) + 1) / 2", "#in(0) - 1", "3"};
            const int number = program->steps++;
            check_ok(bb_text_add(&program->text,
                                 "<FunctionBlock name=\"c%d\" numInVars=\"1\" numOutVars=\"1\" "
                                 "dataType=\"INT32\" function=\"%s;\"/>\n",
                                 number, texts[draw_of(program, 3)]));
            connect(program, size, "c", number, "in", 0);
            emit(program, BB_ELEMENT_INT32, RANDOM_HOST, "c$.out(0)", number, 0);
            size = &program->emitters[program->emitter_count - 1];
        }
        connect(program, size, "k", 0, "Range", k);
    }
    for (int k = 0; k < program->dimensions; ++k) {
        emit(program, BB_ELEMENT_INDEX, RANDOM_BODY, "k0.i($)", k, 0);
    }
}

static inline void add_body(random_program *program)
{
    const int steps = 2 + draw_of(program, 6);
    const int iterators = draw_of(program, 4) - (draw_of(program, 3) == 0);
    for (int i = 0; i < steps; ++i) {
        if (chance(program, 60)) {
            add_read(program, &program->text, RANDOM_BODY);
        } else {
            add_block(program, &program->text, RANDOM_BODY, draw_type(program), NULL);
        }
        if (i < iterators) {
            add_iterator(program, &program->text);
        }
    }
    const int writes = program->has_icf ? draw_of(program, 2) : 1 + (draw_of(program, 5) == 0);
    for (int i = 0; i < writes; ++i) {
        add_write(program, &program->text, RANDOM_BODY);
    }
}

static inline void add_rules(random_program *program)
{
    for (int i = 0; program->steps > 1 && chance(program, 30); ++i) {
        const int first = draw_of(program, program->steps - 1);
        const int second = first + 1 + draw_of(program, program->steps - 1 - first);
        check_ok(
            bb_text_add(&program->rules, "<Rule first=\"c%d\" second=\"c%d\"/>\n", first, second));
    }
}

/// Description `seed`. Release with random_program_release.
static inline random_program random_program_create(uint64_t seed)
{
    random_program program = {.seed = seed};
    bb_text head = {0};
    int accumulators = 0;
    program.dimensions = 1 + chance(&program, 45);
    program.has_icf = chance(&program, 33);
    add_objects(&program);
    add_space(&program);
    add_body(&program);
    check_ok(
        bb_text_add(&head, "<ParallelAlgorithm name=\"k0\" dimensions=\"%d\"", program.dimensions));
    if (program.has_icf) {
        const bb_element_type type = draw_icf_type(&program, RANDOM_BODY);
        add_icf(&program, &head, type, "k", 0, RANDOM_BODY, &accumulators);
        for (int k = 0; k < accumulators; ++k) {
            emit(&program, type, RANDOM_FINAL, "k0.out($)", k, 0);
        }
        if (chance(&program, 30)) {
            add_read(&program, &program.text, RANDOM_FINAL);
        }
        if (chance(&program, 60)) {
            add_block(&program, &program.text, RANDOM_FINAL, draw_type(&program), NULL);
        }
        add_write(&program, &program.text, RANDOM_FINAL);
    }
    add_rules(&program);
    check_ok(bb_text_add(&head, ">\n%s</Children>\n<Connections>\n%s</Connections>\n",
                         bb_text_string(&program.text), bb_text_string(&program.connections)));
    if (program.rules.length > 0) {
        check_ok(bb_text_add(&head, "<OrderingRules>\n%s</OrderingRules>\n",
                             bb_text_string(&program.rules)));
    }
    check_ok(bb_text_add(&head, "</ParallelAlgorithm>\n"));
    bb_text_release(&program.text);
    program.text = head;
    return program;
}

static inline void random_program_release(random_program *program)
{
    bb_text_release(&program->text);
    bb_text_release(&program->connections);
    bb_text_release(&program->rules);
}

#endif

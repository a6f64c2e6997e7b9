// SPDX-License-Identifier: Apache-2.0
//
// Programs in tests: from files or texts, with data from a list.
#ifndef BB_TESTS_SOLVERS_KERNELS_PROGRAM_FIXTURE_H
#define BB_TESTS_SOLVERS_KERNELS_PROGRAM_FIXTURE_H

#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/language/xml_reader.h"
#include "solvers/kernels/program/evaluation.h"
#include "tests/solvers/kernels/kernel_file.h"

enum { FIXTURE_OBJECTS = 8, FIXTURE_PARAMETERS = 4 };

typedef struct program_fixture {
    bb_text text;
    bb_description description;
    bb_program program;
    bb_program_data data[FIXTURE_OBJECTS];
    bb_scalar parameters[FIXTURE_PARAMETERS];
    bb_problems problems;
} program_fixture;

static inline kernel_reader reader_of(const char *text)
{
    return strstr(text, "<ParallelAlgorithm") != NULL ? bb_xml_reader_read
                                                      : bb_notation_reader_read;
}

/// Program of a text, with T bound to `type` unless that is NULL; problems are stored in the
/// fixture.
static inline void fixture_try_text(program_fixture *fixture, const char *text, const char *name,
                                    const char *type)
{
    const bb_type_binding types[] = {{name, type}};
    const bb_index length = (bb_index)strlen(text);
    *fixture = (program_fixture){.data = {{0}}};
    check_ok(reader_of(text)(text, length, "k", &fixture->problems, &fixture->description));
    if (fixture->problems.count == 0) {
        check_ok(bb_program_create(&fixture->description, types, type != NULL, &fixture->problems,
                                   &fixture->program));
    }
}

static inline void fixture_check_sound(program_fixture *fixture)
{
    if (fixture->problems.count > 0) {
        print_error("%s", bb_text_string(&fixture->problems.lines));
    }
    assert_int_equal(fixture->problems.count, 0);
}

static inline void fixture_make(program_fixture *fixture, const char *text, const char *name,
                                const char *type)
{
    fixture_try_text(fixture, text, name, type);
    fixture_check_sound(fixture);
}

/// Program of a file of the source tree.
static inline void fixture_make_file(program_fixture *fixture, const char *path, const char *name,
                                     const char *type)
{
    bb_text text = {0};
    add_kernel_file(path, &text);
    fixture_make(fixture, bb_text_string(&text), name, type);
    fixture->text = text;
}

static inline void fixture_bind(program_fixture *fixture, const char *object, bb_index columns,
                                bb_index rows, void *elements)
{
    for (int i = 0; i < fixture->program.object_count; ++i) {
        if (strcmp(fixture->program.objects[i].name, object) == 0) {
            fixture->data[i] = (bb_program_data){columns, rows, elements};
            return;
        }
    }
    print_error("no object %s\n", object);
    fail();
}

/// Binds and evaluates, expecting no problem.
static inline void fixture_evaluate(program_fixture *fixture)
{
    autorelease(bb_binding) binding = {.program = NULL};
    check_ok(bb_binding_create(&fixture->program, fixture->data, fixture->parameters,
                               &fixture->problems, &binding));
    fixture_check_sound(fixture);
    check_ok(bb_evaluation_run(&binding));
}

/// Binding gives exactly these lines.
static inline void fixture_check_binding(program_fixture *fixture, const char *lines)
{
    bb_binding binding = {.program = NULL};
    check_ok(bb_binding_create(&fixture->program, fixture->data, fixture->parameters,
                               &fixture->problems, &binding));
    assert_string_equal(bb_text_string(&fixture->problems.lines), lines);
    bb_binding_release(&binding);
    bb_problems_release(&fixture->problems);
}

static inline void fixture_release(program_fixture *fixture)
{
    bb_program_release(&fixture->program);
    bb_description_release(&fixture->description);
    bb_problems_release(&fixture->problems);
    bb_text_release(&fixture->text);
}

#endif

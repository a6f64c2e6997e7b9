// SPDX-License-Identifier: Apache-2.0
//
// Contents of a program, and every file of tests/configs/kernels/bad/. Comments of a file state the
// expected problems, one per line, in order, and the bound types:
//
//     // types: T=SP
//     // expect: file.kernel:3:19: unknown object 'heigth'; did you mean height?
#include "tests/solvers/kernels/program_fixture.h"

#include <dirent.h>
#include <unistd.h>

enum { LEAST_FILES = 120, WORD_BYTES = 32, TYPES = 4, MANY = 100000 };

// The comments of a file.
typedef struct expectations {
    bb_text lines; // as they must be printed
    char names[TYPES][WORD_BYTES], words[TYPES][WORD_BYTES];
    bb_type_binding types[TYPES];
    bb_index type_count;
} expectations;

static void add_types(const char *text, size_t length, expectations *out)
{
    char line[200];
    (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        const bb_index i = out->type_count++;
        assert_true(i < TYPES);
        assert_int_equal(sscanf(word, "%31[^=]=%31s", out->names[i], out->words[i]), 2);
        out->types[i] = (bb_type_binding){out->names[i], out->words[i]};
    }
}

static void read_expectations(const char *text, expectations *out)
{
    for (const char *line = text; *line != '\0';) {
        const size_t bytes = strcspn(line, "\n");
        size_t length = bytes;
        const size_t mark = strncmp(line, "// ", 3) == 0     ? 3
                            : strncmp(line, "<!-- ", 5) == 0 ? 5
                                                             : 0;
        const char *word = line + mark;
        length -= mark + (mark == 5 ? 4 : 0);
        if (mark > 0 && strncmp(word, "expect: ", 8) == 0) {
            check_ok(bb_text_add(&out->lines, "%.*s\n", (int)(length - 8), word + 8));
        } else if (mark > 0 && strncmp(word, "types: ", 7) == 0) {
            add_types(word + 7, length - 7, out);
        }
        line += bytes + (line[bytes] == '\n');
    }
}

static void check_file(const char *name)
{
    char path[300];
    autorelease(bb_text) text = {0};
    autorelease(bb_problems) problems = {0};
    autorelease(bb_description) description;
    bb_program program = {.name = NULL};
    expectations expected = {.type_count = 0};
    (void)snprintf(path, sizeof path, "tests/configs/kernels/bad/%s", name);
    add_kernel_file(path, &text);
    read_expectations(bb_text_string(&text), &expected);
    const bool is_xml = strstr(name, ".xml") != NULL;
    check_ok((is_xml ? bb_xml_reader_read : bb_notation_reader_read)(
        bb_text_string(&text), text.length, name, &problems, &description));
    if (problems.count == 0) {
        check_ok(bb_program_create(&description, expected.types, expected.type_count, &problems,
                                   &program));
    }
    assert_null(program.name);
    if (expected.lines.length == 0 ||
        strcmp(bb_text_string(&problems.lines), bb_text_string(&expected.lines)) != 0) {
        print_error("%s\n got\n%s expected\n%s", name, bb_text_string(&problems.lines),
                    bb_text_string(&expected.lines));
        fail();
    }
    bb_text_release(&expected.lines);
}

TEST(every_bad_file_says_what_it_must)
{
    struct dirent **names = NULL;
    const int count = scandir(BB_SOURCE_DIR "/tests/configs/kernels/bad", &names, NULL, alphasort);
    int checked = 0;
    for (int i = 0; i < count; ++i) {
        if (names[i]->d_name[0] != '.') {
            check_file(names[i]->d_name);
            ++checked;
        }
        free(names[i]);
    }
    free(names);
    assert_true(checked >= LEAST_FILES);
}

// Reads a text and creates its program, expecting an immediate refusal with `message`.
static void refuse_large(bb_text *text, const char *message)
{
    autorelease(bb_problems) problems = {0};
    autorelease(bb_description) description;
    bb_program program = {.name = NULL};
    const bb_status status =
        bb_xml_reader_read(bb_text_string(text), text->length, "k", &problems, &description);
    assert_int_equal(problems.count, 0);
    if (status == BB_OK) {
        check_fails(bb_program_create(&description, NULL, 0, &problems, &program), BB_INVALID,
                    message);
    } else {
        assert_int_equal(status, BB_INVALID);
        assert_non_null(strstr(bb_status_message(), message));
    }
    bb_text_release(text);
}

static const char frame[] = "<ParallelAlgorithm name=\"K\" dimensions=\"1\">\n<DataObjects>\n";

TEST(too_large_descriptions_are_refused)
{
    bb_text objects = {0};
    bb_text children = {0};
    bb_text rules = {0};
    check_ok(bb_text_add(&objects, "%s", frame));
    check_ok(bb_text_add(&children, "%s</DataObjects>\n<Children>\n", frame));
    check_ok(bb_text_add(&rules, "%s</DataObjects>\n<Children/>\n<Connections/>\n<OrderingRules>\n",
                         frame));
    for (int i = 0; i < MANY; ++i) {
        check_ok(bb_text_add(&objects,
                             "<DataObject name=\"u%d\" structure=\"vector\" "
                             "elementDataType=\"SP\"/>\n",
                             i));
        check_ok(bb_text_add(&children,
                             "<FunctionBlock name=\"f%d\" numInVars=\"0\" numOutVars=\"1\" "
                             "dataType=\"SP\" function=\"1\"/>\n",
                             i));
        check_ok(bb_text_add(&rules, "<Rule first=\"a\" second=\"b\"/><Rule first=\"a\" "
                                     "second=\"b\"/><Rule first=\"a\" second=\"b\"/>\n"));
    }
    check_ok(bb_text_add(&objects, "</DataObjects>\n<Children/>\n<Connections/>\n"
                                   "</ParallelAlgorithm>\n"));
    check_ok(bb_text_add(&children, "</Children>\n<Connections/>\n</ParallelAlgorithm>\n"));
    check_ok(bb_text_add(&rules, "</OrderingRules>\n</ParallelAlgorithm>\n"));
    refuse_large(&objects,
                 "the kernel has 100000 DataObjects and Parameters, expected at most 1024");
    refuse_large(&children, "the kernel has 100000 children, expected at most 4096");
    refuse_large(&rules, "more than 200000 elements in one description");
}

// As many wrong connections as elements: all are found, a hundred are reported.
TEST(many_mistakes_are_told_in_part)
{
    autorelease(bb_text) text = {0};
    autocall(fixture_release) program_fixture fixture;
    check_ok(bb_text_add(&text, "%s</DataObjects>\n<Children/>\n<Connections>\n", frame));
    for (int i = 0; i < MANY; ++i) {
        check_ok(
            bb_text_add(&text, "<Connection source=\"a%d.out\" destination=\"K.Range(0)\"/>\n", i));
    }
    check_ok(bb_text_add(&text, "</Connections>\n</ParallelAlgorithm>\n"));
    fixture_try_text(&fixture, bb_text_string(&text), NULL, NULL);
    assert_int_equal(fixture.problems.count, MANY);
    assert_null(strstr(bb_text_string(&fixture.problems.lines), "'a100'"));
}

// Names of a list's steps, each followed by a blank.
static void check_list(const bb_program *program, const bb_step_list *list, const char *names)
{
    autorelease(bb_text) text = {0};
    for (int i = 0; i < list->count; ++i) {
        check_ok(bb_text_add(&text, "%s ", program->steps[list->steps[i]].name));
    }
    assert_string_equal(bb_text_string(&text), names);
}

// Sizes on the host, points, iterations, and steps that run once.
TEST(steps_stand_where_they_run)
{
    autocall(fixture_release) program_fixture fixture;
    fixture_make(&fixture,
                 "kernel K (A: matrix SP; v, norm: vector SP)\n"
                 "for y in (A.rows + 1) / 2\n"
                 "  s = sum (x in A.columns) A[x, y] * v[x]\n"
                 "  t = sum s\n"
                 "  norm[0] = sqrt(t)\n",
                 NULL, NULL);
    const bb_program *program = &fixture.program;
    assert_int_equal(program->host.count, 1);
    assert_int_equal(program->iterator_count, 1);
    assert_int_equal(program->iterators[0].steps.count, 3);
    assert_int_equal(program->body.count, 1);
    assert_int_equal(program->body.steps[0], program->iterators[0].step);
    assert_int_equal(program->final.count, 2);
    assert_true(program->has_reduction);
    assert_int_equal(program->iterators[0].reduction.icf, BB_ICF_SUM);
    assert_true(program->iterators[0].reduction.product >= 0);
    assert_true(program->objects[0].is_read && !program->objects[0].is_written);
    assert_true(program->objects[2].is_written && !program->objects[2].is_read);
}

static const char two_functions[] =
    "<ParallelAlgorithm name=\"K\" dimensions=\"1\"><DataObjects>"
    "<DataObject name=\"u\" structure=\"vector\" elementDataType=\"SP\"/></DataObjects><Children>"
    "<FunctionBlock name=\"f\" numInVars=\"1\" numOutVars=\"1\" dataType=\"SP\" "
    "function=\"#in(0)\"/>"
    "<FunctionBlock name=\"g\" numInVars=\"1\" numOutVars=\"1\" dataType=\"SP\" "
    "function=\"#in(0)\"/>"
    "<DataAccessWrite name=\"w\" destination=\"u\" "
    "selectorFunction=\"v0\"/></Children><Connections>"
    "<Connection source=\"u.Size(0)\" destination=\"K.Range(0)\"/>"
    "<Connection source=\"K.i(0)\" destination=\"f.in(0)\"/>"
    "<Connection source=\"K.i(0)\" destination=\"g.in(0)\"/>"
    "<Connection source=\"K.i(0)\" destination=\"w.v(0)\"/>"
    "<Connection source=\"g.out\" destination=\"w.in\"/></Connections>%s</ParallelAlgorithm>";

// The order of the description, unless a rule changes it.
TEST(rules_order_what_connections_leave_open)
{
    static const char *const rules[] = {
        "", "<OrderingRules><Rule first=\"g\" second=\"f\"/></OrderingRules>",
        "<OrderingRules><Rule first=\"w\" second=\"f\"/></OrderingRules>"};
    static const char *const orders[] = {"f g w ", "g f w ", "g w f "};
    for (int i = 0; i < 3; ++i) {
        autocall(fixture_release) program_fixture fixture;
        char text[2000];
        (void)snprintf(text, sizeof text, two_functions, rules[i]);
        fixture_make(&fixture, text, NULL, NULL);
        check_list(&fixture.program, &fixture.program.body, orders[i]);
    }
}

// A point is skipped as a whole: the read that may skip precedes every write.
TEST(skipping_reads_come_before_writes)
{
    autocall(fixture_release) program_fixture fixture;
    fixture_make(&fixture,
                 "kernel K (u, v, w: vector SP)\n"
                 "for x in v.size\n"
                 "  w[x] = 1\n"
                 "  v[x] = u[x + 1 | skip]\n",
                 NULL, NULL);
    check_list(&fixture.program, &fixture.program.body, "read_u_4 write_w_3 write_v_5 ");
}

// A FunctionBlock narrows, also a sum that is wider than its target; integers widen.
TEST(types_widen_by_themselves)
{
    static const char *const good[] = {
        "kernel K (u: vector DP; v: vector SP)\nfor x in u.size\n  t: SP = u[x]\n  v[x] = t\n",
        "kernel K (u: vector SP; v: vector DP)\nfor x in u.size\n  v[x] = u[x]\n",
        "kernel K (u: vector INT32; v: vector SP)\nfor x in u.size\n  v[x] = u[x]\n",
        "kernel K (u: vector B; v: vector INT32)\nfor x in u.size\n  v[x] = u[x]\n",
        "kernel K (u: vector SP; v: vector DP2)\nfor x in u.size\n  v[x] = u[x]\n",
        ("kernel K (u: vector SP; v: vector SP)\nfor x in v.size\n"
         "  s: DP = sum (k in u.size) u[k]\n  v[x] = s\n"),
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        autocall(fixture_release) program_fixture fixture;
        fixture_make(&fixture, good[i], NULL, NULL);
    }
}

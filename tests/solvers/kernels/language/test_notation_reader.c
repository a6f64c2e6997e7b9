// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/language/xml_reader.h"
#include "tests/solvers/kernels/kernel_file.h"

#include <time.h>

#define HEAD "kernel K (a, b: matrix SP zero; v: vector DP; c: vector INT32; p: SP; n: INT32)\n"
#define FOR  HEAD "for x in a.columns, y in a.rows\n"

static const char *const shipped[] = {
    "add",      "coarsen_x", "coarsen_y", "congruent", "gemm", "gemv",    "gemv_transposed",
    "gradient", "l2norm",    "laplace5",  "laplace9",  "max",  "prolong", "restrict",
    "spmv",     "sweep",
};
enum { SHIPPED = sizeof shipped / sizeof shipped[0] };

// The XML that the text is lowered to. Owner: the caller.
static bb_text lowered(const char *text)
{
    bb_text out = {0};
    autorelease(bb_description) description = read_kernel(bb_notation_reader_read, text);
    check_ok(bb_description_write(&description, &out));
    autorelease(bb_description) again = read_kernel(bb_xml_reader_read, bb_text_string(&out));
    check_same_element(again.root, description.root);
    return out;
}

static void check_holds(const char *text, const char *piece)
{
    autorelease(bb_text) out = lowered(text);
    if (strstr(bb_text_string(&out), piece) == NULL) {
        print_error("%s\nlacks\n%s\n", bb_text_string(&out), piece);
        fail();
    }
}

TEST(shipped_kernels_are_lowered_to_their_xml)
{
    for (int i = 0; i < SHIPPED; ++i) {
        char path[100];
        autorelease(bb_text) text = {0};
        autorelease(bb_text) expected = {0};
        (void)snprintf(path, sizeof path, "configs/kernels/%s.kernel", shipped[i]);
        add_kernel_file(path, &text);
        (void)snprintf(path, sizeof path, "tests/solvers/kernels/lowered/%s.xml", shipped[i]);
        add_kernel_file(path, &expected);
        autorelease(bb_text) out = lowered(bb_text_string(&text));
        assert_string_equal(bb_text_string(&out), bb_text_string(&expected));
    }
}

// Without names, the notation's matrix-vector product is Listing 2 of Beier.
TEST(matrix_times_vector_is_listing_2)
{
    autorelease(bb_text) notation = {0};
    autorelease(bb_text) listing = {0};
    add_kernel_file("configs/kernels/gemv.kernel", &notation);
    add_kernel_file("configs/kernels/listing2.xml", &listing);
    autorelease(bb_description) mine =
        read_kernel(bb_notation_reader_read, bb_text_string(&notation));
    autorelease(bb_description) seed = read_kernel(bb_xml_reader_read, bb_text_string(&listing));
    const bb_element *my_child = mine.root->first->next->first;
    const bb_element *child = seed.root->first->next->first;
    assert_int_equal(mine.elements, seed.elements);
    for (; child != NULL; child = child->next, my_child = my_child->next) {
        const bb_element *my_inner = my_child->first;
        assert_int_equal(my_child->construct, child->construct);
        for (const bb_element *inner = child->first; inner != NULL; inner = inner->next) {
            assert_int_equal(my_inner->construct, inner->construct);
            my_inner = my_inner->next;
        }
    }
}

TEST(elements_have_places_of_the_notation)
{
    bb_description description =
        read_kernel(bb_notation_reader_read, "// \xc3\xa9\r\n\nkernel K (a: matrix SP;\n b: vector "
                                             "SP)\r\n\tfor x in b.size // one\n\n"
                                             "  b[x] = ( // two\n\ta[x, 0] +\n   1) * 2");
    const bb_element *objects = description.root->first;
    const bb_element *children = objects->next;
    const bb_element *block = children->first->next;
    assert_int_equal(description.root->place.line, 3);
    assert_int_equal(objects->last->place.line, 4);
    assert_int_equal(objects->last->place.column, 2);
    assert_string_equal(objects->last->place.origin, "k");
    assert_int_equal(children->first->construct, BB_CONSTRUCT_ACCESS_READ);
    assert_int_equal(children->first->place.line, 8);
    assert_int_equal(children->first->place.column, 2);
    assert_string_equal(block->values[BB_DESCRIPTION_FUNCTION], "( #in(0) + 1) * 2;");
    assert_int_equal(block->places[BB_DESCRIPTION_FUNCTION].line, 7);
    assert_int_equal(block->places[BB_DESCRIPTION_FUNCTION].column, 10);
    assert_int_equal(children->last->construct, BB_CONSTRUCT_ACCESS_WRITE);
    assert_int_equal(children->last->place.column, 3);
    bb_description_release(&description);
}

TEST(reductions_over_the_main_space)
{
    static const char *const words[][2] = {
        {"sum", "#acc(0) + #in(0)"},          {"product", "#acc(0) * #in(0)"},
        {"max", "max(#acc(0), #in(0))"},      {"min", "min(#acc(0), #in(0))"},
        {"and", "#acc(0) &amp;&amp; #in(0)"}, {"or", "#acc(0) || #in(0)"},
    };
    char text[500];
    char piece[200];
    for (int i = 0; i < 6; ++i) {
        (void)snprintf(text, sizeof text, FOR "m = %s (a[x, y])\nv[0] = m", words[i][0]);
        (void)snprintf(piece, sizeof piece, "dimensions=\"2\" ICF=\"%s\" ICFType=\"SP\">",
                       words[i][1]);
        check_holds(text, piece);
        (void)snprintf(text, sizeof text, FOR "m: DP = %s (k in 2) a[x, y]\nv[0] = m", words[i][0]);
        (void)snprintf(piece, sizeof piece,
                       "<IteratorBlock name=\"m\" dimensions=\"1\" ICF=\"%s\" ICFType=\"DP\">",
                       words[i][1]);
        check_holds(text, piece);
    }
    check_holds(FOR "m: DP = sum a[x, y] * b[x, y]\nv[0] = sqrt(m)",
                "dataType=\"SP\" function=\"#in(0) * #in(1);\"/>\n"
                "    <FunctionBlock name=\"calc_6\" numInVars=\"1\" numOutVars=\"1\" "
                "dataType=\"DP\" function=\"sqrt(#in(0));\"/>\n");
    check_holds(FOR "m = max max(a[x, y], 2)\nv[0] = m",
                "    <Connection source=\"calc_4.out(0)\" destination=\"K.func(0)\"/>\n"
                "    <Connection source=\"K.out\" destination=\"write_v_5.in\"/>\n");
    check_holds(FOR "m = min(a[x, y], 2) + 1\nv[0] = m", "function=\"min(#in(0), 2) + 1;\"");
}

TEST(types_of_values)
{
    // Priority of the type: the first object outside selectors, then names, then the object
    // written, then INT32.
    check_holds(FOR "a[x, y] = n * v[c[x]] + a[x, y]",
                "dataType=\"DP\" function=\"#in(0) * #in(1)");
    check_holds(FOR "t = 2 * x * n * p\nv[x] = t",
                "dataType=\"SP\" function=\"2 * #in(0) * #in(1)");
    check_holds(FOR "s = v[0] + 1\nt = x + s\na[x, y] = t",
                "dataType=\"DP\" function=\"#in(0) + #in(1);\"");
    check_holds(FOR "v[x] = 0.5", "dataType=\"DP\" function=\"0.5;\"");
    check_holds(FOR "t = x + 1\nv[x] = t", "dataType=\"INT32\" function=\"#in(0) + 1;\"");
    check_holds(FOR "t: DP = a[x, y]\nv[x] = t", "dataType=\"DP\" function=\"#in(0);\"");
    check_holds(FOR "t: SP = a[x, y]\nv[x] = t",
                "source=\"read_a_3.out\" destination=\"write_v_4.in\"");
}

TEST(reads_may_stand_in_selectors_and_ranges)
{
    check_holds(FOR "s = sum (k in c[x + 1] - c[x]) a[c[c[x] + k], y]\nv[x] = s",
                "    <DataAccessRead name=\"read_c_3\" source=\"c\" selectorFunction=\"v0 + 1\"/>\n"
                "    <DataAccessRead name=\"read_c_4\" source=\"c\" selectorFunction=\"v0\"/>\n"
                "    <FunctionBlock name=\"calc_5\" numInVars=\"2\" numOutVars=\"1\" "
                "dataType=\"INT32\" function=\"#in(0) - #in(1);\"/>\n"
                "    <IteratorBlock name=\"s\" dimensions=\"1\" ICF=\"#acc(0) + #in(0)\" "
                "ICFType=\"SP\">\n"
                "      <DataAccessRead name=\"read_c_6\" source=\"c\" selectorFunction=\"v0\"/>\n"
                "      <DataAccessRead name=\"read_c_7\" source=\"c\" selectorFunction=\"v0 + "
                "v1\"/>\n"
                "      <DataAccessRead name=\"read_a_8\" source=\"a\" selectorFunction=\"v0, v1\" "
                "boundary=\"zero\"/>\n"
                "    </IteratorBlock>\n");
    // A named value is created once.
    check_holds(FOR "q = c[x]\nt = v[q] + v[q + 1]\nv[x] = t",
                "    <Connection source=\"read_c_3.out\" destination=\"read_v_4.v(0)\"/>\n"
                "    <Connection source=\"read_c_3.out\" destination=\"read_v_5.v(0)\"/>\n");
}

TEST(texts_of_selectors)
{
    check_holds(FOR "let q = x\nlet r = 2*q + n\na[r,  q %2| mirror ] = b[ r/2 ,y |none]",
                "<DataAccessRead name=\"read_b_3\" source=\"b\" selectorFunction=\"(2*v0 + n)/2 "
                ",v1\"/>\n"
                "    <DataAccessWrite name=\"write_a_4\" destination=\"a\" "
                "selectorFunction=\"(2*v0 + n),  v0 %2\" boundary=\"mirror\"/>\n");
    check_holds(FOR "a[a.columns - 1 - x, y] = 1", "selectorFunction=\"v0 - 1 - v1, v2\"");
    // An index of a sum may be reused, and may occur in an earlier let.
    check_holds(FOR
                "let q = x + k\ns = sum (k in 2) a[q, y]\nt = sum (k in 3) a[q, k]\nv[x] = s + t",
                "<Connection source=\"t.i(0)\" destination=\"read_a_6.v(1)\"/>");
}

TEST(problems_of_the_first_lines)
{
    static const kernel_reader reader = bb_notation_reader_read;
    check_problems(reader, "",
                   "k:1:1: expected the line 'kernel NAME (...)', got the end of the "
                   "file\n");
    check_problems(reader, "for x in 3",
                   "k:1:1: expected the line 'kernel NAME (...)', got 'for'\n");
    check_problems(reader, "kernel K (a: matrx SP)",
                   "k:1:14: unknown structure 'matrx'; did you mean matrix?\n");
    check_problems(reader, "kernel K (a: vector SP zeros)",
                   "k:1:24: unknown boundary 'zeros'; did you mean zero?\n");
    check_problems(reader, "kernel K (a: vector SP; b, a: SP)",
                   "k:1:28: name a is used twice, first in line 1, column 11\n");
    check_problems(reader, "kernel K (v1: SP)",
                   "k:1:11: v1: parameters cannot have the names v0 to v3, which denote values in "
                   "selectors\n");
    check_problems(reader, "kernel K (max: vector SP)", "k:1:11: max is a reserved word\n");
    check_problems(reader, "kernel K (calc_7: vector SP)",
                   "k:1:11: calc_7: this name is reserved for generated elements\n");
    check_problems(reader, "kernel K (a: vector SP",
                   "k:1:23: expected ')', got the end of the file\n");
    check_problems(reader, HEAD "a[0, 0] = 1",
                   "k:2:1: expected the line 'for NAME in RANGE', got 'a'\n");
    check_problems(reader, HEAD "for x a.columns", "k:2:7: expected 'in', got 'a'\n");
    check_problems(reader, HEAD "for x in 1, y in 2, z in 3", "k:2:21: more than 2 ranges\n");
    check_problems(reader, HEAD "for x in a.colums",
                   "k:2:12: unknown extent 'colums'; did you mean columns?\n");
    check_problems(reader, HEAD "for x in a.size",
                   "k:2:12: a is a matrix and has columns and rows\n");
    check_problems(reader, HEAD "for x in v.rows", "k:2:12: v is a vector and has a size\n");
    check_problems(reader, HEAD "for x in 1.5",
                   "k:2:10: 1.5 in a value of INT32, expected an "
                   "integer\n");
}

TEST(problems_of_statements)
{
    static const char *const cases[][2] = {
        {"weight = 1\nv[x] = wieght", "4:8: unknown name 'wieght'; did you mean weight?"},
        {"v[x] = vv[x]", "3:8: unknown object 'vv'; did you mean v?"},
        {"z[x] = 1", "3:1: unknown object 'z'"},
        {"n[x] = 1", "3:1: n is not an object"},
        {"v[x] = a", "3:8: a is an object; its elements are a[column, row]"},
        {"v[x] = K", "3:8: K is the name of the kernel"},
        {"v[x] = a[x]", "3:9: a is a matrix: got 1 coordinate, expected 2"},
        {"v[x, y, 0] = 1", "3:2: v is a vector: got 3 coordinates, expected 1"},
        {"v[x] = a[x, y | skipp]", "3:17: unknown boundary 'skipp'; did you mean skip?"},
        {"v[x] = a[x, y | 0]",
         "3:17: expected none, clamp, zero, mirror, periodic or skip, got '0'"},
        {"v[x] = a[x, 0.5]", "3:13: 0.5 in a selector, expected an integer"},
        {"v[x] = c[x + y + n + a.columns + a.rows + b.rows]",
         "3:43: more than 4 values in one selector"},
        {"v[x] = (1 + 2", "3:8: '(' is not closed"},
        {"v[x y] = 1", "3:5: expected an operator, ',', '|' or ']', got 'y'"},
        {"v[x] = (x y)", "3:11: expected an operator or ')', got 'y'"},
        {"v[x] = (x\n y", "3:8: '(' is not closed"},
        {"v[x = 2", "3:2: '[' is not closed"},
        {"v[x] = a[x, y", "3:9: '[' is not closed"},
        {"v[x] = 1)", "3:9: expected an operator or the end of the line, got ')'"},
        {"v[x] = 1 +", "3:11: expected a value, got the end of the line"},
        {"v[x] = 2x", "3:9: expected an operator after a number, got 'x'"},
        {"v[x] = x ? 1", "3:13: expected an operator or ':', got the end of the line"},
        {"v[x] = sqr(x)", "3:8: unknown function 'sqr'; did you mean sqrt?"},
        {"v[x] = max(x)", "3:13: expected ',', got ')'"},
        {"v[x] = sqrt(x, y)", "3:14: expected ')', got ','"},
        {"v[x] = #in(0)", "3:8: expected a value, got '#'"},
        {"v[x] = \xc3\xa9", "3:8: expected a value, got '\xc3\xa9'"},
        {"t = t + 1", "3:5: t refers to itself"},
        {"t = 0.5", "3:5: 0.5 in a value of INT32, expected an integer"},
        {"let q = q + 1\nv[q] = 1", "3:9: q refers to itself"},
        {"let q = 1 2\nv[q] = 1", "3:11: expected an operator, got '2'"},
        {"let q x\nv[q] = 1", "3:7: expected '=', got 'x'"},
        {"let q = (x\nv[q] = 1", "3:9: a bracket of q is not closed"},
        {"let q =", "3:8: expected an expression, got the end of the line"},
        {"x = 1", "3:1: name x is used twice, first in line 2, column 5"},
        {"s = sum (x in 2) 1", "3:10: name x is used twice, first in line 2, column 5"},
        {"s = sum (k of 2) 1", "3:12: expected 'in', got 'of'"},
        {"s = sum (k in 2, 3) 1", "3:18: expected a name and 'in', got '3'"},
        {"s = sum (k in k) 1", "3:15: unknown name 'k'"},
        {"s = sum (k in 2) k\nt = k\nv[x] = s", "4:5: unknown name 'k'"},
        {"s = sum a[x, y]\nt = max a[x, y]\nv[0] = s",
         "4:5: the kernel has a second reduction over its space, expected one"},
        {"t: = 1", "3:4: expected a type, got '='"},
        {"t", "3:2: expected '=', got the end of the line"},
        {"for z in 3", "3:1: for is a reserved word"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[500];
        char lines[300];
        (void)snprintf(text, sizeof text, FOR "%s\n", cases[i][0]);
        (void)snprintf(lines, sizeof lines, "k:%s\n", cases[i][1]);
        check_problems(bb_notation_reader_read, text, lines);
    }
}

TEST(every_statement_is_read_and_faults_do_not_spread)
{
    check_problems(bb_notation_reader_read,
                   FOR "t = zz\nv[x] = x)\nw = t + zz\nv[x] = w\nlet q = (\nv[x] = zz) + q\n"
                       "v[x] = 1 1\nv[x] = (x\nv[x] = zz\n",
                   "k:3:5: unknown name 'zz'\nk:4:9: expected an operator or the end of the line, "
                   "got ')'\nk:9:10: expected an operator or the end of the line, got '1'\nk:10:8: "
                   "'(' is not closed\n");
}

TEST(hostile_texts_take_time_in_proportion)
{
    static const char *const pieces[] = {"t=(\n",          "a[\n",  "m=sum (\n",
                                         "let q=(\n",      "t=u\n", "t=0\nt(\n",
                                         "v[x]=1+zebra\n", "(",     "v[q]=q\n"};
    const clock_t start = clock();
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; ++i) {
        autorelease(bb_text) text = {0};
        autorelease(bb_problems) problems = {0};
        autorelease(bb_description) description;
        check_ok(bb_text_add(&text, FOR "let q = (x //%*s\n)\n", 300000, ""));
        while (text.length + 20 < BB_NOTATION_READER_MAX_BYTES) {
            check_ok(bb_text_add(&text, "%s", pieces[i]));
        }
        check_ok(bb_notation_reader_read(text.data, text.length, "k", &problems, &description));
        assert_true(problems.count > 0);
    }
    print_message("%.2f s\n", (double)(clock() - start) / CLOCKS_PER_SEC);
}

TEST(depth_and_length_are_bounded)
{
    autorelease(bb_text) text = {0};
    bb_problems problems = {0};
    bb_description description;
    for (int depth = 63; depth <= 64; ++depth) {
        check_ok(bb_text_add(&text, FOR "v[x] = "));
        for (int i = 0; i < depth; ++i) {
            check_ok(bb_text_add(&text, "("));
        }
        check_ok(bb_text_add(&text, "1"));
        for (int i = 0; i < depth; ++i) {
            check_ok(bb_text_add(&text, ")"));
        }
        if (depth == 63) {
            autorelease(bb_text) out = lowered(bb_text_string(&text));
        } else {
            check_problems(bb_notation_reader_read, bb_text_string(&text),
                           "k:3:72: brackets nested deeper than 64\n");
        }
        bb_text_release(&text);
    }
    // Names of let that double the text.
    check_ok(bb_text_add(&text, FOR "let q0 = x\n"));
    for (int i = 1; i <= 40; ++i) {
        check_ok(bb_text_add(&text, "let q%d = q%d + q%d\n", i, i - 1, i - 1));
    }
    check_ok(bb_text_add(&text, "v[q40] = 1\n"));
    check_ok(bb_notation_reader_read(text.data, text.length, "k", &problems, &description));
    assert_int_equal(problems.count, 1);
    bb_description_release(&description);
    bb_problems_release(&problems);
    check_fails(
        bb_notation_reader_read("", BB_NOTATION_READER_MAX_BYTES + 1, "k", &problems, &description),
        BB_INVALID, "expected at most 1048576");
}

// Every prefix of a text is read or refused, and nothing past its end is accessed.
TEST(every_beginning_of_a_text)
{
    static const char text[] =
        FOR "let q = 2*x + n\ns: DP = sum (k in c[x + 1], j in 2) a[q, j|skip] * 1.5e-3\n"
            "m = max fabs(s)\nv[0] = m <= 0 ? -1 : !m // end\n";
    for (size_t length = 0; length < sizeof text; ++length) {
        autorelease(bb_problems) problems = {0};
        autorelease(bb_description) description;
        char *bytes = malloc(length + (length == 0));
        assert_non_null(bytes);
        memcpy(bytes, text, length);
        check_ok(bb_notation_reader_read(bytes, (bb_index)length, "k", &problems, &description));
        assert_true(problems.count > 0 || description.root != NULL);
        free(bytes);
    }
}

TEST(memory_that_runs_out_is_told)
{
    static const char text[] = FOR "let q = 2*x + n\ns = sum (k in 2) a[q, k] * b[k, q]\n"
                                   "v[x] = s\nt = zz\n";
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autorelease(bb_problems) problems = {0};
        autorelease(bb_description) description;
        status = bb_notation_reader_read(text, sizeof text - 1, "k", &problems, &description);
        assert_true(walk.k < 1000);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Problems that only sizes reveal: selectors that leave their objects, conflicting points, empty
// spaces.
#include "tests/solvers/kernels/program_fixture.h"

static const bb_index HUGE_EXTENT = (bb_index)1 << 40;

// Binds objects of the sizes [columns, rows] in the order of the text, with elements if given, and
// expects these lines.
typedef struct sizes {
    bb_index columns, rows;
    void *elements;
} sizes;

static void expect_with(const char *text, const sizes *objects, const int *parameters,
                        const char *lines)
{
    autocall(fixture_release) program_fixture fixture;
    fixture_make(&fixture, text, NULL, NULL);
    for (int i = 0; i < fixture.program.object_count; ++i) {
        fixture.data[i] =
            (bb_program_data){objects[i].columns, objects[i].rows, objects[i].elements};
    }
    for (int i = 0; i < fixture.program.parameter_count; ++i) {
        fixture.parameters[i] = (bb_scalar){.integer = parameters[i]};
    }
    fixture_check_binding(&fixture, lines);
}

static void expect_sizes(const char *text, const sizes *objects, const char *lines)
{
    expect_with(text, objects, NULL, lines);
}

#define BOUNDARY_HINT "; add a boundary (clamp, zero, mirror, periodic, skip)\n"
#define TAKES_TWICE(access, object)                                                                \
#access " may write one element of " #object                                                   \
            " at several points; use coordinates that differ between points\n"

TEST(selectors_stay_in_their_objects)
{
    static const sizes same[] = {{10, 1, NULL}, {10, 1, NULL}};
    static const sizes wide[] = {{11, 1, NULL}, {10, 1, NULL}};
    static const sizes plane[] = {{7, 5, NULL}, {7, 5, NULL}};
    expect_sizes(
        "kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[x + 1]\n", same,
        "k:3:10: read_u_2 reads u beyond its edge: element 1 to 10 of 0 to 9" BOUNDARY_HINT);
    expect_sizes("kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[x + 1]\n", wide, "");
    expect_sizes(
        "kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[3 - x]\n", same,
        "k:3:10: read_u_2 reads u beyond its edge: element -6 to 3 of 0 to 9" BOUNDARY_HINT);
    expect_sizes("kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[9 - x]\n", same, "");
    expect_sizes(
        "kernel K (u, v: vector SP)\nfor x in v.size\n  v[2*x + 1] = u[x]\n", same,
        "k:3:3: write_v_3 writes v beyond its edge: element 1 to 19 of 0 to 9" BOUNDARY_HINT);
    expect_sizes("kernel K (u, v: matrix SP)\nfor x in v.columns, y in v.rows\n"
                 "  v[x, y] = u[y, x]\n",
                 plane,
                 "k:3:13: read_u_3 reads u beyond its edge: row 0 to 6 of 0 to 4" BOUNDARY_HINT);
    expect_sizes("kernel K (u, v: matrix SP)\nfor x in v.columns, y in v.rows\n"
                 "  v[x, y] = u[x - 1, y + 1]\n",
                 plane,
                 "k:3:13: read_u_3 reads u beyond its edge: column -1 to 5 of 0 to 6" BOUNDARY_HINT
                 "k:3:13: read_u_3 reads u beyond its edge: row 1 to 5 of 0 to 4" BOUNDARY_HINT);
    // Quotients and remainders.
    expect_sizes("kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[x % 10]\n", same, "");
    expect_sizes("kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[(x - 4) % 5 + 4]\n", same,
                 "");
    expect_sizes(
        "kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[(x - 5) % 5]\n", same,
        "k:3:10: read_u_2 reads u beyond its edge: element -4 to 4 of 0 to 9" BOUNDARY_HINT);
    expect_sizes("kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[(x + 2) / 2 + 4]\n", same,
                 "");
    expect_sizes(
        "kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[(x + 3) / 2 + 4]\n", same,
        "k:3:10: read_u_2 reads u beyond its edge: element 5 to 10 of 0 to 9" BOUNDARY_HINT);
}

TEST(boundaries_make_every_selector_good)
{
    static const char *const words[] = {"clamp", "zero", "mirror", "periodic", "skip"};
    static const sizes same[] = {{10, 1, NULL}, {10, 1, NULL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "kernel K (u, v: vector SP)\nfor x in v.size\n  v[x] = u[x - 3 | %s]\n",
                       words[i]);
        expect_sizes(text, same, "");
    }
}

TEST(parameters_shift_what_is_reached)
{
    static const char text[] = "kernel K (u, v: vector SP; lag: INT32)\n"
                               "for x in v.size - lag\n  v[x] = u[x + lag]\n";
    static const sizes same[] = {{10, 1, NULL}, {10, 1, NULL}};
    expect_with(text, same, (const int[]){3}, "");
    expect_with(text, same, (const int[]){0}, "");
    expect_with(text, same, (const int[]){10}, "");
    expect_with(
        text, same, (const int[]){-1},
        "k:3:10: read_u_3 reads u beyond its edge: element -1 to 9 of 0 to 9" BOUNDARY_HINT
        "k:3:3: write_v_4 writes v beyond its edge: element 0 to 10 of 0 to 9" BOUNDARY_HINT);
    expect_with(text, same, (const int[]){11},
                "k:1:1: Range(0) of K is -1; expected 0 to 2^40 points\n");
}

// A read with skip also guards later accesses to the same element of an object of the same size.
TEST(skipping_reads_guard)
{
    static const sizes same[] = {{10, 1, NULL}, {10, 1, NULL}, {10, 1, NULL}};
    static const sizes shorter[] = {{9, 1, NULL}, {10, 1, NULL}, {10, 1, NULL}};
    static const char before[] = "kernel K (f, u, v: vector SP)\nfor x in v.size\n"
                                 "  v[x] = u[x + 1 | skip] + f[x + 1]\n";
    expect_sizes(before, same, "");
    expect_sizes(
        before, shorter,
        "k:3:28: read_f_3 reads f beyond its edge: element 1 to 10 of 0 to 8" BOUNDARY_HINT);
    expect_sizes(
        "kernel K (f, u, v: vector SP)\nfor x in v.size\n"
        "  v[x] = f[x + 1] + u[x + 1 | skip]\n",
        same, "k:3:10: read_f_2 reads f beyond its edge: element 1 to 10 of 0 to 9" BOUNDARY_HINT);
    expect_sizes(
        "kernel K (f, u, v: vector SP)\nfor x in v.size\n"
        "  v[x] = u[x + 1 | skip] + f[x + 2]\n",
        same, "k:3:28: read_f_3 reads f beyond its edge: element 2 to 11 of 0 to 9" BOUNDARY_HINT);
}

// Compressed rows: the end of the last row and every column are checked.
TEST(compressed_rows_are_held_to_their_data)
{
    autocall(fixture_release) program_fixture fixture;
    int32_t starts[] = {0, 2, 2, 4};
    int32_t columns[] = {0, 4, 1, 2};
    float values[4] = {0};
    float x[5] = {0};
    float y[3] = {0};
    fixture_make_file(&fixture, "configs/kernels/spmv.kernel", "T", "SP");
    fixture_bind(&fixture, "row_start", 4, 1, starts);
    fixture_bind(&fixture, "column", 4, 1, columns);
    fixture_bind(&fixture, "value", 4, 1, values);
    fixture_bind(&fixture, "x", 5, 1, x);
    fixture_bind(&fixture, "y", 3, 1, y);
    fixture_check_binding(&fixture, "");
    starts[3] = 5;
    fixture_check_binding(&fixture,
                          "k:6:45: read_value_5 reads value beyond its edge: element 0 to 4 of 0 "
                          "to 3" BOUNDARY_HINT
                          "k:6:66: read_column_6 reads column beyond its edge: element 0 to 4 of "
                          "0 to 3" BOUNDARY_HINT);
    starts[3] = 4;
    columns[1] = 5;
    fixture_check_binding(&fixture, "k:6:64: read_x_7 reads x beyond its edge: element 0 to 5 of 0 "
                                    "to 4" BOUNDARY_HINT);
    columns[1] = -1;
    fixture_check_binding(&fixture, "k:6:64: read_x_7 reads x beyond its edge: element -1 to 2 of "
                                    "0 to 4" BOUNDARY_HINT);
    columns[1] = 4;
    starts[0] = -1;
    fixture_check_binding(&fixture,
                          "k:6:45: read_value_5 reads value beyond its edge: element -1 to 3 of 0 "
                          "to 3" BOUNDARY_HINT
                          "k:6:66: read_column_6 reads column beyond its edge: element -1 to 3 of "
                          "0 to 3" BOUNDARY_HINT);
    starts[0] = 0;
    // All rows are empty.
    starts[1] = starts[2] = starts[3] = 0;
    fixture_check_binding(&fixture, "");
}

TEST(indices_that_the_kernel_writes_may_be_any)
{
    int32_t places[4] = {0, 1, 2, 3};
    const sizes objects[] = {{4, 1, NULL}, {4, 1, NULL}, {4, 1, places}};
    expect_sizes("kernel K (u, v: vector SP; n: vector INT32)\nfor x in v.size\n"
                 "  v[x] = u[n[x]]\n  n[x] = 2 * n[x]\n",
                 objects,
                 "k:3:10: read_u_3 reads u beyond its edge: element -2147483648 to 2147483647 of 0 "
                 "to 3" BOUNDARY_HINT);
    expect_sizes("kernel K (u, v: vector SP; n: vector INT32)\nfor x in v.size\n"
                 "  v[x] = u[n[x]]\n",
                 objects, "");
    // A write to an index from data may hit the same element twice.
    expect_sizes("kernel K (u, v: vector SP; n: vector INT32)\nfor x in v.size\n"
                 "  v[n[x]] = u[x]\n",
                 objects, "k:3:3: " TAKES_TWICE(write_v_4, v));
}

// INT32 arithmetic wraps: results may be negative although no element is.
TEST(integers_that_wrap_are_not_trusted)
{
    int32_t places[4] = {INT32_C(1) << 30, INT32_MAX, 0, 1};
    const sizes objects[] = {{4, 1, NULL}, {4, 1, NULL}, {4, 1, places}};
    expect_sizes(
        "kernel K (u, v: vector SP; n: vector INT32)\nfor x in v.size\n"
        "  t: INT32 = 2 * n[x]\n  v[x] = u[t % 4]\n",
        objects,
        "k:4:10: read_u_4 reads u beyond its edge: element -3 to 3 of 0 to 3" BOUNDARY_HINT);
}

TEST(selectors_that_overflow_are_refused)
{
    static const sizes same[] = {{4, 1, NULL}, {4, 1, NULL}};
    autocall(fixture_release) program_fixture fixture;
    fixture_make(&fixture,
                 "kernel K (u, v: vector SP)\nfor x in v.size\n"
                 "  v[x] = u[4611686018427387904 * x * 2]\n",
                 NULL, NULL);
    fixture.data[0] = fixture.data[1] = (bb_program_data){same[0].columns, 1, NULL};
    autorelease(bb_binding) binding = {.program = NULL};
    check_ok(bb_binding_create(&fixture.program, fixture.data, NULL, &fixture.problems, &binding));
    assert_true(fixture.problems.count > 0);
    assert_non_null(strstr(bb_text_string(&fixture.problems.lines), "reads u beyond its edge"));
}

// A colour reads the other one; a kernel that reads its own colour is refused.
TEST(red_black_sweeps_meet_nowhere)
{
    program_fixture fixture;
    static const sizes one[] = {{9, 7, NULL}};
    fixture_make_file(&fixture, "configs/kernels/sweep.kernel", "T", "SP");
    for (int i = 0; i < fixture.program.object_count; ++i) {
        fixture.data[i] = (bb_program_data){9, 7, NULL};
    }
    for (int colour = 0; colour < 2; ++colour) {
        fixture.parameters[0] = (bb_scalar){.integer = colour};
        fixture_check_binding(&fixture, "");
    }
    fixture_release(&fixture);
    expect_with("kernel K (u: matrix SP zero; colour: INT32)\n"
                "for half in (u.columns + 1) / 2, y in u.rows\n"
                "  let x = 2*half + (y + colour) % 2\n"
                "  u[x, y | zero] = u[x + 2, y]\n",
                one, (const int[]){0},
                "k:4:20: read_u_4 reads elements of u that write_u_5 may write at other points; "
                "write to another object\n");
    expect_with("kernel K (u: matrix SP zero; colour: INT32)\n"
                "for half in (u.columns + 1) / 2, y in u.rows\n"
                "  let x = 2*half + (y + colour) % 2\n"
                "  u[x, y | zero] = u[x + 1, y + 1]\n",
                one, (const int[]){1},
                "k:4:20: read_u_4 reads elements of u that write_u_5 may write at other points; "
                "write to another object\n");
}

// The boundary redirects a read to an element that another point writes.
TEST(reflected_reads_of_what_is_written_are_refused)
{
    static const char *const words[] = {"clamp", "periodic"};
    static const sizes one[] = {{10, 1, NULL}};
    static const sizes narrow[] = {{1, 4, NULL}, {1, 4, NULL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "kernel K (u: vector SP)\nfor x in u.size / 2\n"
                       "  u[2*x] = u[2*x - 1 | %s]\n",
                       words[i]);
        expect_sizes(text, one,
                     "k:3:12: read_u_3 reads elements of u that write_u_4 may write at other "
                     "points; write to another object\n");
    }
    // Here -1 is mirrored to 1: odd elements remain odd.
    expect_sizes("kernel K (u: vector SP)\nfor x in u.size / 2\n  u[2*x] = u[2*x - 1 | mirror]\n",
                 one, "");
    expect_sizes("kernel K (u: vector SP)\nfor x in u.size / 2\n  u[2*x] = u[2*x - 2 | mirror]\n",
                 one,
                 "k:3:12: read_u_3 reads elements of u that write_u_4 may write at other points; "
                 "write to another object\n");
    // With a single column all columns are the same.
    expect_sizes("kernel K (u, v: matrix SP)\nfor half in (u.columns + 1) / 2, y in u.rows\n"
                 "  let x = 2*half + y % 2\n"
                 "  u[x, y | skip] = 1\n"
                 "  v[half, y] = u[x, y + 1 | mirror]\n",
                 narrow,
                 "k:5:16: read_u_6 reads elements of u that write_u_5 may write at other points; "
                 "write to another object\n");
}

TEST(writes_take_each_element_once)
{
    static const sizes line[] = {{100, 1, NULL}, {10, 1, NULL}};
    static const sizes plane[] = {{100, 1, NULL}, {5, 8, NULL}};
    static const sizes wider[] = {{100, 1, NULL}, {6, 8, NULL}};
#define LINE(selector) "kernel K (v, u: vector SP)\nfor x in u.size\n  v[" selector "] = 1\n"
#define PLANE(selector)                                                                            \
    "kernel K (v: vector SP; u: matrix SP)\nfor x in u.columns, y in u.rows\n  v[" selector        \
    "] = 1\n"
    expect_sizes(LINE("x"), line, "");
    expect_sizes(LINE("2*x + 1"), line, "");
    expect_sizes(LINE("99 - 3*x"), line, "");
    expect_sizes(LINE("x / 2"), line, "k:3:3: " TAKES_TWICE(write_v_3, v));
    expect_sizes(LINE("x % 5"), line, "k:3:3: " TAKES_TWICE(write_v_3, v));
    expect_sizes(LINE("0"), line, "k:3:3: " TAKES_TWICE(write_v_3, v));
    expect_sizes(PLANE("x + y"), plane, "k:3:3: " TAKES_TWICE(write_v_4, v));
    expect_sizes(PLANE("x + 5*y"), plane, "");
    expect_sizes(PLANE("x + 5*y"), wider, "k:3:3: " TAKES_TWICE(write_v_4, v));
    expect_sizes(PLANE("x"), plane, "k:3:3: " TAKES_TWICE(write_v_4, v));
    expect_sizes(PLANE("8*x + y"), plane, "");
    expect_sizes(PLANE("7*x + y"), plane, "k:3:3: " TAKES_TWICE(write_v_4, v));
}

// Two writes may access the same element at the same point, but not at different points.
TEST(writes_do_not_meet)
{
    static const sizes line[] = {{100, 1, NULL}, {10, 1, NULL}};
    expect_sizes("kernel K (v, u: vector SP)\nfor x in u.size\n  v[2*x] = 1\n  v[2*x + 1] = 2\n",
                 line, "");
    expect_sizes("kernel K (v, u: vector SP)\nfor x in u.size\n  v[x] = 1\n  v[x + 50] = 2\n", line,
                 "");
    expect_sizes("kernel K (v, u: vector SP)\nfor x in u.size\n  v[x] = 1\n  v[x + 9] = 2\n", line,
                 "k:4:3: write_v_5 writes elements of v that write_v_3 may write at other points; "
                 "write to another object\n");
    expect_sizes("kernel K (v, u: vector SP)\nfor x in u.size\n  v[x] = v[x] + 1\n", line, "");
    expect_sizes("kernel K (v, u: vector SP)\nfor x in u.size\n  v[x] = v[x + 1] + 1\n", line,
                 "k:3:10: read_v_2 reads elements of v that write_v_4 may write at other points; "
                 "write to another object\n");
}

TEST(spaces_may_be_empty)
{
    static const sizes none[] = {{0, 1, NULL}, {0, 1, NULL}};
    static const sizes no_columns[] = {{0, 4, NULL}, {3, 1, NULL}, {4, 1, NULL}};
    static const sizes no_rows[] = {{4, 0, NULL}, {3, 1, NULL}, {0, 1, NULL}};
    expect_sizes("kernel K (u, v: vector SP)\nfor x in v.size\n  v[x / 2] = u[x + 1]\n", none, "");
    // Rows without columns are points without iterations.
    expect_sizes("kernel K (A: matrix SP; b, c: vector SP)\nfor y in A.rows\n"
                 "  s = sum (x in A.columns) A[x, y] * b[x + 7]\n  c[y] = s\n",
                 no_columns, "");
    expect_sizes("kernel K (A: matrix SP; b, c: vector SP)\nfor y in A.rows\n"
                 "  s = sum (x in A.columns) A[x, y] * b[x + 7]\n  c[y + 1] = s\n",
                 no_rows, "");
}

TEST(extents_have_limits)
{
    static const char text[] = "kernel K (u: matrix SP; v: vector SP)\nfor x in v.size\n"
                               "  v[x] = 1\n";
    const sizes good[] = {{(bb_index)1 << 20, (bb_index)1 << 20, NULL}, {HUGE_EXTENT, 1, NULL}};
    const sizes large[] = {{((bb_index)1 << 20) + 1, (bb_index)1 << 20, NULL},
                           {HUGE_EXTENT + 1, 1, NULL}};
    const sizes vast[] = {{PTRDIFF_MAX, PTRDIFF_MAX, NULL}, {1, 2, NULL}};
    const sizes negative[] = {{-1, 3, NULL}, {1, 1, NULL}};
    const sizes square[] = {{1, 1, NULL}, {HUGE_EXTENT, 1, NULL}};
    expect_sizes(text, good, "");
    expect_sizes(text, large,
                 "k:1:11: u has 1048577 columns and 1048576 rows; expected 0 to 2^40 elements\n"
                 "k:1:25: v has 1099511627777 columns and 1 rows; expected 0 to 2^40 elements, and "
                 "one row of a vector\n"
                 "k:1:1: Range(0) of K is 1099511627777; expected 0 to 2^40 points\n");
    expect_sizes(text, vast,
                 "k:1:11: u has 9223372036854775807 columns and 9223372036854775807 rows; expected "
                 "0 to 2^40 elements\n"
                 "k:1:25: v has 1 columns and 2 rows; expected 0 to 2^40 elements, and one row of "
                 "a vector\n");
    expect_sizes(text, negative,
                 "k:1:11: u has -1 columns and 3 rows; expected 0 to 2^40 elements\n");
    expect_sizes("kernel K (u: matrix SP; v: vector SP)\nfor x in v.size, y in v.size\n"
                 "  u[x, y | zero] = 1\n",
                 square, "k:1:1: Range(1) of K is 1099511627776; expected 0 to 2^40 points\n");
}

// No objects, only a number.
TEST(a_kernel_may_have_no_object)
{
    static const char text[] =
        "<ParallelAlgorithm name=\"K\" dimensions=\"1\"><DataObjects/><Parameters>"
        "<Parameter name=\"n\" type=\"INT32\"/></Parameters><Children/><Connections>"
        "<Connection source=\"n.value\" destination=\"K.Range(0)\"/></Connections>"
        "</ParallelAlgorithm>";
    expect_with(text, NULL, (const int[]){3}, "");
    expect_with(text, NULL, (const int[]){-3},
                "k:1:1: Range(0) of K is -3; expected 0 to 2^40 points\n");
}

TEST(bytes_are_those_that_must_cross)
{
    autocall(fixture_release) program_fixture fixture;
    float block[12] = {0};
    autorelease(bb_binding) binding = {.program = NULL};
    fixture_make_file(&fixture, "configs/kernels/gemv.kernel", "T", "SP");
    fixture_bind(&fixture, "A", 4, 3, block);
    fixture_bind(&fixture, "b", 4, 1, block);
    fixture_bind(&fixture, "c", 3, 1, block);
    check_ok(bb_binding_create(&fixture.program, fixture.data, fixture.parameters,
                               &fixture.problems, &binding));
    fixture_check_sound(&fixture);
    assert_true(bb_binding_bytes(&binding) == 4.0 * (12 + 4 + 3));
}

// Ranges of a binding without its checks and without elements.
TEST(sizes_alone_give_ranges)
{
    autocall(fixture_release) program_fixture fixture;
    autorelease(bb_binding) bound = {.program = NULL};
    const bb_scalar three = {.integer = 3};
    fixture_make(&fixture,
                 "kernel K (n: INT32; u, v: vector SP)\nfor x in n * v.size\n  v[x] = u[x + 1]\n",
                 NULL, NULL);
    fixture_bind(&fixture, "u", 5, 1, NULL);
    fixture_bind(&fixture, "v", 7, 1, NULL);
    check_ok(bb_binding_create_sizes(&fixture.program, fixture.data, &three, &bound));
    assert_int_equal(bound.ranges[0], 21);
    assert_int_equal(bound.ranges[1], 1);
    bb_binding_release(&bound);
    check_ok(bb_binding_create_sizes(&fixture.program, fixture.data, NULL, &bound));
    assert_int_equal(bound.ranges[0], 7);
}

// SPDX-License-Identifier: Apache-2.0
//
// Tuning of a caller's program uses small shapes that preserve relations between its sizes, and
// generated integers that bind. If it finds none, a message gives the reason.
#include "solvers/kernels/tuning/caller_subject.h"
#include "solvers/kernels/tuning/verification.h"
#include "tests/solvers/kernels/program_fixture.h"

static program_fixture fixture;
static bb_caller_subject *subject;

static void make(const char *text)
{
    fixture_make(&fixture, text, "T", "SP");
}

static void create(void)
{
    check_ok(bb_caller_subject_create(&fixture.program, "own", fixture.data, fixture.parameters,
                                      &fixture.problems, &subject));
    fixture_check_sound(&fixture);
    assert_non_null(subject);
}

static void release(void)
{
    bb_caller_subject_destroy(&subject);
    fixture_release(&fixture);
}

// All shapes bind; calls `check` for each.
static int count_shapes(void (*check)(const bb_verification_case *item))
{
    const bb_tuning_subject *table = bb_caller_subject_table(subject);
    for (int i = 0; i < table->shape_count; ++i) {
        autorelease(bb_verification_case) item = {.answer_count = 0};
        check_ok(bb_verification_case_create(table, i, &item));
        assert_int_equal(item.shape.count, fixture.program.object_count);
        assert_true(item.binding.ranges[0] > 0 && item.binding.ranges[1] > 0);
        check(&item);
    }
    return table->shape_count;
}

static int wide, tall;
static bb_index largest;

static void check_equal_sizes(const bb_verification_case *item)
{
    const bb_program_data *data = item->shape.objects;
    assert_int_equal(data[0].columns, data[1].columns);
    assert_int_equal(data[0].rows, data[1].rows);
    wide += data[0].columns > data[0].rows;
    tall += data[0].columns < data[0].rows;
    largest = data[0].columns > largest ? data[0].columns : largest;
    assert_true(data[0].columns * data[0].rows <= 1 << 17);
}

// A square set also has shapes that are not square, so that columns and rows are distinguished.
TEST(equal_extents_stay_equal)
{
    wide = tall = 0;
    largest = 0;
    make("kernel Shift (u, v: matrix T)\nfor x in v.columns, y in v.rows\n  v[x, y] = u[x, y]\n");
    fixture_bind(&fixture, "u", 2048, 2048, NULL);
    fixture_bind(&fixture, "v", 2048, 2048, NULL);
    create();
    assert_int_equal(count_shapes(check_equal_sizes), BB_TRIAL_SHAPES);
    assert_true(wide >= 3 && tall >= 1 && largest > 8192);
    release();
}

static bb_index fine_factor, halo;

static void check_tied(const bb_verification_case *item)
{
    const bb_program_data *data = item->shape.objects;
    assert_true(data[0].columns >= fine_factor * data[1].columns + halo);
    assert_true(data[0].rows >= fine_factor * data[1].rows + halo);
}

// Without boundaries, no other sizes bind.
TEST(extents_that_are_tied_stay_tied)
{
    make("kernel Coarsen (fine, coarse: matrix T)\nfor X in coarse.columns, Y in coarse.rows\n"
         "  s = sum (i in 2, j in 2) fine[2*X + i, 2*Y + j]\n  coarse[X, Y] = s\n");
    fixture_bind(&fixture, "fine", 2048, 2048, NULL);
    fixture_bind(&fixture, "coarse", 1024, 1024, NULL);
    create();
    fine_factor = 2;
    halo = 0;
    assert_true(count_shapes(check_tied) >= 5);
    release();
    make("kernel Mean (fine, inner: matrix T)\nfor x in inner.columns, y in inner.rows\n"
         "  inner[x, y] = fine[x, y] + fine[x + 2, y + 2]\n");
    fixture_bind(&fixture, "fine", 1002, 402, NULL);
    fixture_bind(&fixture, "inner", 1000, 400, NULL);
    create();
    fine_factor = 1;
    halo = 2;
    assert_true(count_shapes(check_tied) >= 5);
    release();
}

static void check_inside(const bb_verification_case *item)
{
    for (int i = 0; i < fixture.program.step_count; ++i) {
        const bb_step_kind kind = fixture.program.steps[i].kind;
        assert_true((kind != BB_STEP_READ && kind != BB_STEP_WRITE) || item->binding.is_inside[i]);
    }
}

// A kernel with boundaries binds with any sizes. Shapes avoid edges that the set avoids, so no
// other source is needed.
TEST(shapes_pass_no_other_edges)
{
    make("kernel Coarsen (fine: matrix T zero; coarse: matrix T)\n"
         "for X in coarse.columns, Y in coarse.rows\n"
         "  s = sum (i in 2, j in 2) fine[2*X + i, 2*Y + j]\n  coarse[X, Y] = s\n");
    fixture_bind(&fixture, "fine", 2048, 1024, NULL);
    fixture_bind(&fixture, "coarse", 1024, 512, NULL);
    create();
    assert_true(count_shapes(check_inside) >= 5);
    release();
}

static int small_sets;

static void check_weights(const bb_verification_case *item)
{
    assert_true(item->shape.objects[0].columns >= 3 && item->shape.objects[0].rows >= 3);
    small_sets += item->shape.objects[1].columns == 40 && item->shape.objects[1].rows == 30;
}

// Extents given as numbers in the text are kept; small sizes are a shape themselves.
TEST(small_extents_stay)
{
    small_sets = 0;
    make("kernel Weigh (w: matrix T; u: matrix T clamp; v: matrix T)\n"
         "for x in u.columns, y in u.rows\n"
         "  s = sum (i in 3, j in 3) w[i, j] * u[x + i - 1, y + j - 1]\n  v[x, y] = s\n");
    fixture_bind(&fixture, "w", 3, 3, NULL);
    fixture_bind(&fixture, "u", 40, 30, NULL);
    fixture_bind(&fixture, "v", 40, 30, NULL);
    create();
    assert_true(count_shapes(check_weights) >= 5);
    assert_int_equal(small_sets, 1);
    release();
}

static void check_once(const bb_verification_case *item)
{
    small_sets += item->shape.objects[0].columns == 7 && item->shape.objects[0].rows == 5;
}

// Small sizes are not scaled: no shape occurs twice.
TEST(shapes_differ)
{
    small_sets = 0;
    make("kernel Shift (u, v: matrix T)\nfor x in v.columns, y in v.rows\n  v[x, y] = u[x, y]\n");
    fixture_bind(&fixture, "u", 7, 5, NULL);
    fixture_bind(&fixture, "v", 7, 5, NULL);
    create();
    assert_true(count_shapes(check_once) >= 5);
    assert_int_equal(small_sets, 1);
    release();
}

static void check_indices(const bb_verification_case *item)
{
    const bb_program_data *data = item->shape.objects;
    const int32_t *index = data[1].elements;
    bb_index seen = 0;
    for (bb_index k = 0; k < data[1].columns; ++k) {
        assert_true(index[k] >= 0 && index[k] < data[0].columns);
        seen = index[k] > seen ? index[k] : seen;
    }
    assert_true(2 * seen >= data[0].columns - 2 || data[1].columns < 8); // indices reach far
}

TEST(integers_are_made_up_below_what_binds)
{
    bb_index limit = 0;
    bb_trial_data set = {.count = 0};
    make("kernel Gather (a: vector T; index: vector INT32; b: vector T)\nfor k in b.size\n"
         "  b[k] = a[index[k]]\n");
    fixture_bind(&fixture, "a", 500, 1, NULL);
    fixture_bind(&fixture, "index", 3000, 1, NULL);
    fixture_bind(&fixture, "b", 3000, 1, NULL);
    create();
    assert_string_equal(bb_caller_subject_synthetic(subject, &limit), "index");
    assert_int_equal(limit, 500); // the largest extent that binds, not 3000
    assert_true(count_shapes(check_indices) >= 4);
    const bb_tuning_subject *table = bb_caller_subject_table(subject);
    table->size_set(table, 0, &set);
    assert_string_equal(set.name, "own");
    assert_int_equal(set.objects[1].columns, 3000);
    assert_null(set.objects[1].elements);
    check_ok(bb_trial_data_allocate(&fixture.program, &set));
    check_ok(table->fill_set(table, 0, &set));
    assert_true(((float *)set.objects[0].elements)[7] != ((float *)set.objects[2].elements)[7]);
    bb_trial_data_release(&set);
    release();
    make("kernel Gather (a: vector T; index: vector INT32; b: vector T)\nfor k in b.size\n"
         "  b[k] = a[index[k]]\n");
    fixture_bind(&fixture, "a", 1, 1, NULL);
    fixture_bind(&fixture, "index", 30, 1, NULL);
    fixture_bind(&fixture, "b", 30, 1, NULL);
    create();
    assert_string_equal(bb_caller_subject_synthetic(subject, &limit), "index");
    assert_int_equal(limit, 1); // zeros only
    release();
}

static const char sparse_text[] =
    "kernel Rows (start, column: vector INT32; value, x, y: vector T)\nfor row in y.size\n"
    "  begin = start[row]\n"
    "  s = sum (k in start[row + 1] - begin) value[begin + k] * x[column[begin + k]]\n"
    "  y[row] = s\n";

static int filled_rows;

static void check_rows(const bb_verification_case *item)
{
    const bb_program_data *data = item->shape.objects;
    const int32_t *start = data[0].elements;
    assert_int_equal(start[0], 0);
    for (bb_index row = 0; row + 1 < data[0].columns; ++row) {
        assert_true(start[row] <= start[row + 1]);
        filled_rows += start[row] < start[row + 1];
    }
}

// Data of the caller define the set, element by element.
TEST(ranges_need_data)
{
    enum { ROWS = 1000, ENTRIES = 5 * ROWS };
    static int32_t start[ROWS + 1];
    static int32_t column[ENTRIES];
    static float value[ENTRIES], x[ROWS], y[ROWS];
    bb_trial_data set = {.count = 0};
    bb_index limit = 0;
    filled_rows = 0;
    make(sparse_text);
    fixture_bind(&fixture, "start", ROWS + 1, 1, NULL);
    fixture_bind(&fixture, "column", ENTRIES, 1, NULL);
    fixture_bind(&fixture, "value", ENTRIES, 1, NULL);
    fixture_bind(&fixture, "x", ROWS, 1, NULL);
    fixture_bind(&fixture, "y", ROWS, 1, NULL);
    check_fails(bb_caller_subject_create(&fixture.program, "own", fixture.data, fixture.parameters,
                                         &fixture.problems, &subject),
                BB_UNSUPPORTED, "the bounds of a sum depend on the elements of start");
    assert_null(subject);
    for (int row = 0; row <= ROWS; ++row) {
        start[row] = 5 * row;
    }
    fill_array(column, ENTRIES, k, k % ROWS);
    value[3] = 2.5F;
    void *const elements[] = {start, column, value, x, y};
    for (int i = 0; i < 5; ++i) {
        fixture.data[i].elements = elements[i];
    }
    create();
    assert_null(bb_caller_subject_synthetic(subject, &limit));
    assert_true(count_shapes(check_rows) >= 4);
    assert_true(filled_rows > 100);
    const bb_tuning_subject *table = bb_caller_subject_table(subject);
    table->size_set(table, 0, &set);
    check_ok(bb_trial_data_allocate(&fixture.program, &set));
    check_ok(table->fill_set(table, 0, &set));
    assert_int_equal(((int32_t *)set.objects[0].elements)[7], 35);
    assert_true(((float *)set.objects[2].elements)[3] == 2.5F);
    bb_trial_data_release(&set);
    release();
}

TEST(what_cannot_be_tuned_says_why)
{
    bb_caller_subject *none = NULL;
    make("kernel Far (a: vector T; index: vector INT32; b: vector T)\nfor k in b.size\n"
         "  b[k] = a[index[k] + 500]\n");
    fixture_bind(&fixture, "a", 500, 1, NULL);
    fixture_bind(&fixture, "index", 30, 1, NULL);
    fixture_bind(&fixture, "b", 30, 1, NULL);
    check_fails(bb_caller_subject_create(&fixture.program, "own", fixture.data, fixture.parameters,
                                         &fixture.problems, &none),
                BB_UNSUPPORTED, "stand-in integers for index");
    fixture_release(&fixture);
    make("kernel Copy (a, b: vector T)\nfor k in a.size\n  b[k] = a[k]\n");
    fixture_bind(&fixture, "a", 0, 1, NULL);
    fixture_bind(&fixture, "b", 0, 1, NULL);
    check_fails(bb_caller_subject_create(&fixture.program, "own", fixture.data, fixture.parameters,
                                         &fixture.problems, &none),
                BB_INVALID, "kernel Copy has no points at these sizes");
    fixture_bind(&fixture, "a", 9, 1, NULL);
    fixture_bind(&fixture, "b", 8, 1, NULL);
    check_ok(bb_caller_subject_create(&fixture.program, "own", fixture.data, fixture.parameters,
                                      &fixture.problems, &none));
    assert_int_equal(fixture.problems.count, 1);
    assert_non_null(strstr(bb_text_string(&fixture.problems.lines), "writes b beyond its edge"));
    fixture_release(&fixture);
    make("kernel Deep (a, b: vector T)\nfor k in b.size\n  b[k] = a[k + 300000]\n");
    fixture_bind(&fixture, "a", 400000, 1, NULL);
    fixture_bind(&fixture, "b", 100000, 1, NULL);
    check_fails(bb_caller_subject_create(&fixture.program, "own", fixture.data, fixture.parameters,
                                         &fixture.problems, &none),
                BB_INVALID, "kernel Deep: no small shape derived from these sizes");
    assert_null(none);
    fixture_release(&fixture);
}

TEST(more_objects_than_fit_are_refused)
{
    enum { OBJECTS = BB_TRIAL_OBJECTS + 1 };
    bb_program_data data[OBJECTS];
    bb_caller_subject *none = NULL;
    autorelease(bb_text) text = {0};
    check_ok(bb_text_add(&text, "kernel Many (a0"));
    for (int i = 0; i < OBJECTS; ++i) {
        data[i] = (bb_program_data){100, 1, NULL};
        check_ok(i > 0 ? bb_text_add(&text, ", a%d", i) : BB_OK);
    }
    check_ok(bb_text_add(&text, ": vector T)\nfor k in a0.size\n  a1[k] = a0[k]\n"));
    make(bb_text_string(&text));
    check_fails(bb_caller_subject_create(&fixture.program, "own", data, fixture.parameters,
                                         &fixture.problems, &none),
                BB_INVALID, "kernel Many has 33 objects, but tuning supports at most 32");
    assert_null(none);
    fixture_release(&fixture);
}

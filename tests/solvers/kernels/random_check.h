// SPDX-License-Identifier: Apache-2.0
//
// Random programs with data: bound, interpreted, evaluated and compiled.
#ifndef BB_TESTS_SOLVERS_KERNELS_RANDOM_CHECK_H
#define BB_TESTS_SOLVERS_KERNELS_RANDOM_CHECK_H

#include "core/thread.h"
#include "solvers/kernels/assembled_kernel.h"
#include "tests/solvers/kernels/program_walk.h"
#include "tests/solvers/kernels/random_program.h"

enum { RANDOM_CANARY_BYTES = 64, RANDOM_CANARY = 0x5a, RANDOM_SHOWN = 3 };

/// Copies of the data, each between canaries.
enum { COPY_BOUND, COPY_WALKED, COPY_READ_BACK, COPY_DEVICE, COPY_COUNT };

typedef struct random_counts {
    int64_t programs, unread, unchecked, bound, accepted, refused, too_long, unsound;
    int64_t legal_edges, legal_large, legal_writes, legal_meetings, legal_others;
} random_counts;

typedef struct random_case {
    random_program source;
    program_fixture fixture;
    unsigned char *blocks[COPY_COUNT][FIXTURE_OBJECTS];
    size_t bytes[FIXTURE_OBJECTS];
} random_case;

static inline void random_case_create(uint64_t seed, random_case *out)
{
    *out = (random_case){.source = random_program_create(seed)};
    fixture_try_text(&out->fixture, bb_text_string(&out->source.text), NULL, NULL);
}

static inline void random_case_free(random_case *test)
{
    for (int i = 0; i < FIXTURE_OBJECTS; ++i) {
        for (int k = 0; k < COPY_COUNT; ++k) {
            free(test->blocks[k][i]);
            test->blocks[k][i] = NULL;
        }
    }
}

static inline void random_case_release(random_case *test)
{
    random_case_free(test);
    fixture_release(&test->fixture);
    random_program_release(&test->source);
}

static inline bb_index random_extent(int form, bb_index size, bb_index other)
{
    return form == 2 ? size + 1 : form == 3 ? 2 * size : form == 4 ? 1 : form == 5 ? other : size;
}

// By the kind of the object: indices, small numbers, or any numbers with extremes.
static inline bb_scalar random_element(random_program *source, bb_element_type type, int kind,
                                       bb_index number, bb_index size)
{
    static const double specials[] = {NAN,    INFINITY, -INFINITY, -0.0,   0.0,
                                      1e-310, 3e38,     -1e-42,    0x1p31, -0x1p-149};
    static const int32_t extremes[] = {INT32_MIN, INT32_MAX, -1, 0, 1, INT32_MIN + 1, 65536, -7};
    const uint64_t address = ((uint64_t)kind << 40) + (uint64_t)number;
    double normals[2];
    uint32_t words[4];
    bb_random_normal_pair(source->seed, (bb_stream)1, address, normals);
    bb_random_words(source->seed, (bb_stream)2, address, words);
    bb_scalar value = {{normals[0], normals[1]}, (int32_t)words[0]};
    if (words[1] % 8 == 0) {
        value.parts[words[2] % 2] = specials[words[3] % 10];
    }
    if (type == BB_ELEMENT_INT32) {
        value.integer = kind % 3 == 0   ? (int64_t)(words[0] % (uint32_t)(size > 0 ? size : 1))
                        : kind % 3 == 1 ? (int64_t)(words[0] % 8) - 3
                        : words[1] % 2  ? extremes[words[0] % 8]
                                        : (int64_t)value.integer;
    }
    return value;
}

static inline void random_object_extents(const random_object *row, const bb_index sizes[2],
                                         bb_index extents[2])
{
    extents[0] = random_extent(row->sizes[0], sizes[0], sizes[1]);
    extents[1] = row->is_matrix ? random_extent(row->sizes[1], sizes[1], sizes[0]) : 1;
}

static inline void random_case_fill(random_case *test, const bb_index sizes[2])
{
    const bb_program *program = &test->fixture.program;
    random_case_free(test);
    for (int i = 0; i < program->object_count; ++i) {
        const random_object *row = &test->source.rows[i];
        bb_index extents[2];
        random_object_extents(row, sizes, extents);
        const bb_index columns = extents[0];
        const bb_index rows = extents[1];
        const size_t bytes = (size_t)(columns * rows) * bb_element_type_row(row->type)->bytes;
        test->bytes[i] = bytes;
        for (int k = 0; k < COPY_COUNT; ++k) {
            test->blocks[k][i] = malloc(bytes + 2 * (size_t)RANDOM_CANARY_BYTES);
            assert_non_null(test->blocks[k][i]);
            memset(test->blocks[k][i], RANDOM_CANARY, bytes + 2 * (size_t)RANDOM_CANARY_BYTES);
        }
        unsigned char *elements = test->blocks[0][i] + RANDOM_CANARY_BYTES;
        const int kind = (int)((test->source.seed + (uint64_t)i) % 3) + 3 * i;
        for (bb_index k = 0; k < columns * rows; ++k) {
            const bb_scalar value = random_element(&test->source, row->type, kind, k, sizes[0]);
            bb_evaluation_store(row->type, elements, k, value);
            if (row->type == BB_ELEMENT_B) {
                elements[k] = (unsigned char)(value.integer % 3 == 0 ? value.integer >> 8 : 0);
            }
        }
        for (int k = 1; k < COPY_COUNT; ++k) {
            memcpy(test->blocks[k][i], test->blocks[0][i], bytes + 2 * (size_t)RANDOM_CANARY_BYTES);
        }
        test->fixture.data[i] = (bb_program_data){columns, rows, elements};
    }
    static const int numbers[] = {0, 1, 2, 3, -1, 5, 1, 2, INT32_MAX, INT32_MIN};
    const int number = draw_of(&test->source, 10);
    test->fixture.parameters[0] = (bb_scalar){.integer = numbers[number]};
    test->fixture.parameters[1] = (bb_scalar){{number / 4.0, number - 4.0}, number % 2};
}

static inline void random_case_data(const random_case *test, int copy, bb_program_data *out)
{
    for (int i = 0; i < test->fixture.program.object_count; ++i) {
        out[i] = test->fixture.data[i];
        out[i].elements = test->blocks[copy][i] + RANDOM_CANARY_BYTES;
    }
}

// Any NaN equals any NaN; B is compared by bytes.
static inline bool random_same(bb_element_type type, const unsigned char *a, const unsigned char *b,
                               bb_index index)
{
    if (type == BB_ELEMENT_B) {
        return a[index] == b[index];
    }
    const bb_scalar x = bb_evaluation_load(type, a, index);
    const bb_scalar y = bb_evaluation_load(type, b, index);
    bool same = x.integer == y.integer;
    for (int k = 0; k < 2; ++k) {
        same = same && ((isnan(x.parts[k]) && isnan(y.parts[k])) ||
                        (x.parts[k] == y.parts[k] && signbit(x.parts[k]) == signbit(y.parts[k])));
    }
    return same;
}

static inline void random_case_show(const random_case *test)
{
    print_message("seed %llu\n", (unsigned long long)test->source.seed);
    bb_text_print(bb_text_string(&test->source.text), stderr);
    for (int i = 0; i < test->fixture.program.object_count; ++i) {
        print_message("o%d: %td x %td\n", i, test->fixture.data[i].columns,
                      test->fixture.data[i].rows);
    }
    print_message("p0 %lld, p1 %g\n", (long long)test->fixture.parameters[0].integer,
                  test->fixture.parameters[1].parts[0]);
}

/// True if a copy has the elements of the evaluated one and all canaries.
static inline bool random_case_equal(const random_case *test, int copy, const char *what)
{
    for (int i = 0; i < test->fixture.program.object_count; ++i) {
        const bb_element_type type = test->fixture.program.objects[i].type;
        const unsigned char *expected = test->blocks[COPY_BOUND][i];
        const unsigned char *got = test->blocks[copy][i];
        const size_t behind = RANDOM_CANARY_BYTES + test->bytes[i];
        if (memcmp(got, expected, RANDOM_CANARY_BYTES) != 0 ||
            memcmp(got + behind, expected + behind, RANDOM_CANARY_BYTES) != 0) {
            print_error("%s: wrote beside o%d\n", what, i);
            return false;
        }
        const bb_program_data *data = &test->fixture.data[i];
        for (bb_index k = 0; k < data->columns * data->rows; ++k) {
            if (!random_same(type, got + RANDOM_CANARY_BYTES, expected + RANDOM_CANARY_BYTES, k)) {
                const bb_scalar x = bb_evaluation_load(type, got + RANDOM_CANARY_BYTES, k);
                const bb_scalar y = bb_evaluation_load(type, expected + RANDOM_CANARY_BYTES, k);
                print_error("%s: o%d[%td] is %.17g, %.17g (%lld), evaluated %.17g, %.17g (%lld)\n",
                            what, i, k, x.parts[0], x.parts[1], (long long)x.integer, y.parts[0],
                            y.parts[1], (long long)y.integer);
                return false;
            }
        }
    }
    return true;
}

// Written as XML and read back, the program gives the same bits.
static inline bool check_read_back(random_case *test)
{
    autorelease(bb_text) text = {0};
    autocall(fixture_release) program_fixture again;
    bool same = false;
    check_ok(bb_description_write(&test->fixture.description, &text));
    fixture_try_text(&again, bb_text_string(&text), NULL, NULL);
    if (again.problems.count > 0) {
        print_error("read back: %s", bb_text_string(&again.problems.lines));
    } else {
        random_case_data(test, COPY_READ_BACK, again.data);
        memcpy(again.parameters, test->fixture.parameters, sizeof again.parameters);
        fixture_evaluate(&again);
        same = random_case_equal(test, COPY_READ_BACK, "read back");
    }
    return same;
}

static inline bool is_walk_clean(const program_walk *walk)
{
    return walk->outside == 0 && walk->met == 0 && walk->met_items == 0 && walk->left_inside == 0;
}

static inline bool check_accepted(random_case *test, const program_walk *walk,
                                  const bb_binding *binding)
{
    const bb_step *steps = test->fixture.program.steps;
    if (!is_walk_clean(walk)) {
        print_error("accepted, but %s leaves, %s meets, %s meets in its iterator, %s is not "
                    "inside\n",
                    walk->outside ? steps[walk->outside - 1].name : "none",
                    walk->met ? steps[walk->met - 1].name : "none",
                    walk->met_items ? steps[walk->met_items - 1].name : "none",
                    walk->left_inside ? steps[walk->left_inside - 1].name : "none");
        return false;
    }
    check_ok(bb_evaluation_run(binding));
    return random_case_equal(test, COPY_WALKED, "in another order") && check_read_back(test);
}

static inline void count_refusal(const char *lines, random_counts *counts)
{
    const bool edge = strstr(lines, "beyond its edge") != NULL;
    const bool large = strstr(lines, "may reach 2^60") != NULL && !edge;
    counts->legal_large += large;
    const bool write = strstr(lines, "may write one element") != NULL;
    const bool meeting = strstr(lines, "may write at other points") != NULL;
    counts->legal_edges += edge;
    counts->legal_writes += write && !edge && !large;
    counts->legal_meetings += meeting && !edge && !large && !write;
    counts->legal_others += !edge && !large && !write && !meeting;
}

static inline void check_bound(random_case *test, random_counts *counts, bool show_legal)
{
    program_fixture *fixture = &test->fixture;
    bb_binding binding = {.program = NULL};
    bb_program_data data[FIXTURE_OBJECTS];
    program_walk *walk = malloc(sizeof *walk);
    assert_non_null(walk);
    random_case_data(test, COPY_WALKED, data);
    walk_create(&fixture->program, data, fixture->parameters, walk);
    const bool runs = walk->ranges[0] >= 0 && walk->ranges[1] >= 0;
    if (walk_cost(walk, 7.0) > 3000.0) {
        ++counts->too_long;
        goto done;
    }
    check_ok(bb_binding_create(&fixture->program, fixture->data, fixture->parameters,
                               &fixture->problems, &binding));
    const bool accepted = fixture->problems.count == 0;
    ++counts->bound;
    counts->accepted += accepted;
    counts->refused += !accepted;
    walk->is_inside = accepted ? binding.is_inside : NULL;
    if (runs) {
        walk_run(walk);
    }
    if (accepted && (!runs || !check_accepted(test, walk, &binding))) {
        ++counts->unsound;
        if (counts->unsound <= RANDOM_SHOWN) {
            random_case_show(test);
        }
    }
    if (!accepted && runs && is_walk_clean(walk)) {
        count_refusal(bb_text_string(&fixture->problems.lines), counts);
    }
    if (show_legal) {
        print_message("%s%s", bb_text_string(&fixture->problems.lines),
                      runs && is_walk_clean(walk) ? "legal\n" : "");
    }
    bb_problems_release(&fixture->problems);
    bb_binding_release(&binding);
done:
    walk_release(walk);
    free(walk);
}

/// Program `seed` with some small sizes, by the interpreter.
static inline void check_binding(uint64_t seed, random_counts *counts)
{
    autocall(random_case_release) random_case test;
    random_case_create(seed, &test);
    ++counts->programs;
    if (test.fixture.problems.count > 0) {
        ++counts->unchecked;
    } else {
        for (int i = 0; i < 3; ++i) {
            const bb_index sizes[2] = {draw_of(&test.source, 8), draw_of(&test.source, 6)};
            random_case_fill(&test, sizes);
            check_bound(&test, counts, false);
        }
    }
}

static inline void print_counts(const random_counts *counts)
{
    print_message("%lld programs, %lld refused as such; %lld bindings, %lld accepted, %lld "
                  "refused, %lld too long; %lld unsound\n",
                  (long long)counts->programs, (long long)counts->unchecked,
                  (long long)counts->bound, (long long)counts->accepted, (long long)counts->refused,
                  (long long)counts->too_long, (long long)counts->unsound);
    print_message("refused though no point leaves or meets another: %lld edges, %lld beyond "
                  "2^60, %lld writes, %lld "
                  "meetings, %lld others\n",
                  (long long)counts->legal_edges, (long long)counts->legal_large,
                  (long long)counts->legal_writes, (long long)counts->legal_meetings,
                  (long long)counts->legal_others);
}

// Sizes that sometimes cross tiles and chunks, with little work.
static inline bool random_case_grow(random_case *test)
{
    static const bb_index sizes[] = {0, 1, 2, 3, 5, 129, 257, 600, 9000};
    static const bb_index others[] = {0, 1, 2, 3, 5, 7};
    for (int tries = 0; tries < 20; ++tries) {
        const int size = draw_of(&test->source, 12) + tries / 8;
        const bb_index extents[2] = {sizes[size < 9 ? 8 - size : 5 + size % 4],
                                     others[draw_of(&test->source, 6)]};
        bb_index elements = 0;
        for (int i = 0; i < test->fixture.program.object_count; ++i) {
            bb_index object[2];
            random_object_extents(&test->source.rows[i], extents, object);
            elements += object[0] * object[1];
        }
        if (elements > 100000) {
            continue;
        }
        program_walk *walk = malloc(sizeof *walk);
        assert_non_null(walk);
        random_case_fill(test, extents);
        walk_create(&test->fixture.program, test->fixture.data, test->fixture.parameters, walk);
        const double cost = walk_cost(walk, 7.0);
        walk_release(walk);
        free(walk);
        if (cost < 40000.0) {
            return true;
        }
    }
    return false;
}

static inline bool launch_equal(random_case *test, bb_device *device, bb_assembled_kernel *kernel,
                                const bb_binding *binding, const unsigned char *const *original)
{
    bool same = true;
    void *blocks[FIXTURE_OBJECTS];
    for (int threads = 1; threads <= 3 && same; threads += 2) {
        check_ok(bb_threads_set(threads));
        for (int i = 0; i < test->fixture.program.object_count; ++i) {
            memcpy(test->blocks[COPY_DEVICE][i], original[i],
                   test->bytes[i] + 2 * (size_t)RANDOM_CANARY_BYTES);
            blocks[i] =
                test->bytes[i] > 0 ? test->blocks[COPY_DEVICE][i] + RANDOM_CANARY_BYTES : NULL;
        }
        check_ok(bb_assembled_kernel_launch(kernel, binding, blocks));
        check_ok(bb_device_wait(device));
        same = random_case_equal(test, COPY_DEVICE, threads == 1 ? "1 thread" : "3 threads");
    }
    return same;
}

// True if the program was accepted; a difference is reported and counted.
static inline bool check_one_compiled(uint64_t seed, bb_device *device, int64_t *wrong)
{
    autocall(random_case_release) random_case test;
    bb_binding binding = {.program = NULL};
    bb_assembled_kernel *kernel = NULL;
    bool accepted = false;
    random_case_create(seed, &test);
    if (test.fixture.problems.count == 0 && random_case_grow(&test)) {
        check_ok(bb_binding_create(&test.fixture.program, test.fixture.data,
                                   test.fixture.parameters, &test.fixture.problems, &binding));
        accepted = test.fixture.problems.count == 0;
    }
    if (accepted) {
        const unsigned char *original[FIXTURE_OBJECTS];
        for (int i = 0; i < test.fixture.program.object_count; ++i) {
            original[i] = test.blocks[COPY_READ_BACK][i];
        }
        const bb_status status = bb_assembled_kernel_create(device, &test.fixture.program,
                                                            binding.is_inside, NULL, &kernel);
        if (status == BB_OK) {
            check_ok(bb_evaluation_run(&binding));
        } else {
            bb_status_record record;
            bb_status_save(&record);
            print_error("%s\n", record.message);
        }
        if (status != BB_OK || !launch_equal(&test, device, kernel, &binding, original)) {
            ++*wrong;
            random_case_show(&test);
        }
        bb_assembled_kernel_destroy(&kernel);
        bb_binding_release(&binding);
    }
    return accepted;
}

/// `count` accepted programs from number `first` on give the same bits when compiled.
static inline void check_compiled(uint64_t first, int count)
{
    bb_device *device = NULL;
    int64_t wrong = 0;
    uint64_t seed = first;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &device));
    for (int accepted = 0; accepted < count; ++seed) {
        accepted += check_one_compiled(seed, device, &wrong);
    }
    bb_device_close(&device);
    bb_threads_stop();
    print_message("%d of %llu programs compiled, %lld differ\n", count,
                  (unsigned long long)(seed - first), (long long)wrong);
    assert_int_equal(wrong, 0);
}

#endif

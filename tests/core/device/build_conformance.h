// SPDX-License-Identifier: Apache-2.0
//
// Conformance tests for builds of every device: test_build.c runs them on the cpu,
// test_build_opencl.c and test_build_cuda.c on theirs. Each provides the same entries in its
// dialect.
#ifndef BB_TESTS_CORE_DEVICE_BUILD_CONFORMANCE_H
#define BB_TESTS_CORE_DEVICE_BUILD_CONFORMANCE_H

#include "core/device/build.h"
#include "core/memory.h"
#include "tests/check.h"

/// The entries in a dialect
///   axpy(y, x, a, count)                      y = a x + y, fp32
///   axpy_wide(y, x, a, count)                 the same, fp64
///   copy(target, source, columns, rows)       target[c * rows + r] = source[r * columns + c],
///                                             columns in dimension 0; int64 extents
///   scalars(out, i32, i64, f32, f64)          out[0..3] = the four, in fp64
///   quotient(out, x, y, count)                out = x / y + sqrt(x), fp32
typedef struct build_dialect {
    const char *entries;
    const char *broken, *error; ///< does not compile; part of the first error
} build_dialect;

enum { CANARY = 0x5a, MARGIN = 64 }; // canary bytes after a block

static bb_device *device_under_test; // as in device_conformance.h
static const build_dialect *dialect;
static bb_build *entries;

// `items` work-items, on a device in groups of `width`.
static inline bb_launch_shape row_of(bb_index items, bb_index width)
{
    const bool cpu = bb_device_kind_of(device_under_test) == BB_DEVICE_CPU;
    width = cpu ? 1 : width;
    return (bb_launch_shape){
        .groups = {(items + width - 1) / width, 1}, .group_items = {width, 1}, .cpu_grain = 97};
}

// Device bytes followed by canaries.
typedef struct fenced {
    void *block;
    size_t bytes;
} fenced;

static inline void put(const void *values, size_t bytes, fenced *out)
{
    autofree uint8_t *image = new_array(uint8_t, (bb_index)(bytes + MARGIN));
    memset(image, CANARY, bytes + MARGIN);
    memcpy(image, values, bytes);
    out->bytes = bytes;
    check_ok(bb_device_allocate(device_under_test, bytes + MARGIN, &out->block));
    check_ok(bb_device_upload(device_under_test, out->block, image, bytes + MARGIN));
    check_ok(bb_device_wait(device_under_test));
}

static inline void take(fenced *from_device, void *values)
{
    autofree uint8_t *image = new_array(uint8_t, (bb_index)(from_device->bytes + MARGIN));
    check_ok(bb_device_download(device_under_test, image, from_device->block,
                                from_device->bytes + MARGIN));
    for (size_t i = 0; i < MARGIN; ++i) {
        assert_int_equal(image[from_device->bytes + i], CANARY);
    }
    memcpy(values, image, from_device->bytes);
    bb_device_release(device_under_test, &from_device->block);
}

#define BLOCK(memory)                                                                              \
    {                                                                                              \
        .block = (memory).block                                                                    \
    }
#define SCALAR(value)                                                                              \
    {                                                                                              \
        .scalar = &(value), .scalar_bytes = sizeof(value)                                          \
    }

// An inexact product, so that a contracted sum has other bits.
static inline double draw(bb_index i)
{
    return 1.0 + (double)((i * 7919 + 13) % 10007) / 10007.0;
}

TEST(axpy_has_the_bits_of_c)
{
    enum { MOST = 100003 };
    static const bb_index sizes[] = {1, 63, 64, 65, 97, 1003, MOST};
    static float x[MOST], y[MOST], expected[MOST];
    const float a = 1.0F / 3.0F;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const int32_t count = (int32_t)sizes[s];
        const size_t bytes = (size_t)count * sizeof *x;
        fenced memory[2];
        for (bb_index i = 0; i < count; ++i) {
            x[i] = (float)draw(i);
            y[i] = (float)-draw(i + 5) / 3.0F;
            const volatile float product = a * x[i];
            expected[i] = product + y[i];
        }
        put(y, bytes, &memory[0]);
        put(x, bytes, &memory[1]);
        const bb_launch_argument arguments[] = {BLOCK(memory[0]), BLOCK(memory[1]), SCALAR(a),
                                                SCALAR(count)};
        check_ok(bb_build_launch(entries, "axpy", row_of(count, 64), arguments, 4));
        take(&memory[0], y);
        take(&memory[1], x);
        assert_memory_equal(y, expected, bytes);
    }
}

TEST(axpy_has_the_bits_of_c_in_fp64)
{
    enum { COUNT = 1003 };
    static double x[COUNT], y[COUNT], expected[COUNT];
    const double a = 1.0 / 3.0;
    const int32_t count = COUNT;
    fenced memory[2];
    for (bb_index i = 0; i < count; ++i) {
        x[i] = draw(i);
        y[i] = -draw(i + 5) / 3.0;
        const volatile double product = a * x[i];
        expected[i] = product + y[i];
    }
    put(y, sizeof y, &memory[0]);
    put(x, sizeof x, &memory[1]);
    const bb_launch_argument arguments[] = {BLOCK(memory[0]), BLOCK(memory[1]), SCALAR(a),
                                            SCALAR(count)};
    check_ok(bb_build_launch(entries, "axpy_wide", row_of(count, 32), arguments, 4));
    take(&memory[0], y);
    take(&memory[1], x);
    assert_memory_equal(y, expected, sizeof y);
}

// Dimension 0 is the fastest; no item is skipped or repeated.
TEST(rows_and_columns_are_told_apart)
{
    enum { ROWS = 37, COLUMNS = 1009 };
    static int32_t source[ROWS][COLUMNS], target[COLUMNS][ROWS];
    const bool cpu = bb_device_kind_of(device_under_test) == BB_DEVICE_CPU;
    const int64_t rows = ROWS;
    const int64_t columns = COLUMNS;
    fenced memory[2];
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
        source[i / COLUMNS][i % COLUMNS] = i;
    }
    memset(target, 0xff, sizeof target);
    put(target, sizeof target, &memory[0]);
    put(source, sizeof source, &memory[1]);
    const bb_launch_argument arguments[] = {BLOCK(memory[0]), BLOCK(memory[1]), SCALAR(columns),
                                            SCALAR(rows)};
    const bb_launch_shape shape = {
        .groups = {cpu ? COLUMNS : (COLUMNS + 15) / 16, cpu ? ROWS : (ROWS + 3) / 4},
        .group_items = {cpu ? 1 : 16, cpu ? 1 : 4},
        .cpu_grain = 1000};
    check_ok(bb_build_launch(entries, "copy", shape, arguments, 4));
    take(&memory[0], target);
    take(&memory[1], source);
    for (int r = 0; r < ROWS; ++r) {
        for (int c = 0; c < COLUMNS; ++c) {
            assert_int_equal(target[c][r], r * COLUMNS + c);
        }
    }
}

TEST(scalars_arrive_by_value)
{
    int32_t narrow = -123456789;
    int64_t wide = ((int64_t)1 << 52) + 1;
    float real = 0.1F;
    double precise = 0.1;
    double got[4] = {0};
    fenced memory;
    put(got, sizeof got, &memory);
    const bb_launch_argument arguments[] = {BLOCK(memory), SCALAR(narrow), SCALAR(wide),
                                            SCALAR(real), SCALAR(precise)};
    check_ok(bb_build_launch(entries, "scalars", row_of(1, 1), arguments, 5));
    // Scalars are copied at the call: changing them later has no effect.
    narrow = 1;
    wide = 2;
    real = 3.0F;
    precise = 4.0;
    take(&memory, got);
    const double expected[4] = {-123456789.0, 4503599627370497.0, (double)0.1F, 0.1};
    assert_memory_equal(got, expected, sizeof got);
}

TEST(quotients_and_roots_are_rounded)
{
    enum { COUNT = 5003 };
    static float x[COUNT], y[COUNT], got[COUNT], expected[COUNT];
    const int32_t count = COUNT;
    fenced memory[3];
    if (!bb_build_rounds(device_under_test)) {
        print_message("quotients are not correctly rounded on this device, which says so\n");
        return;
    }
    for (int i = 0; i < COUNT; ++i) {
        x[i] = (float)draw(i);
        y[i] = (float)draw(3 * i + 1);
        const volatile float quotient = x[i] / y[i];
        expected[i] = quotient + sqrtf(x[i]);
    }
    put(got, sizeof got, &memory[0]);
    put(x, sizeof x, &memory[1]);
    put(y, sizeof y, &memory[2]);
    const bb_launch_argument arguments[] = {BLOCK(memory[0]), BLOCK(memory[1]), BLOCK(memory[2]),
                                            SCALAR(count)};
    check_ok(bb_build_launch(entries, "quotient", row_of(count, 64), arguments, 4));
    take(&memory[0], got);
    take(&memory[1], x);
    take(&memory[2], y);
    assert_memory_equal(got, expected, sizeof got);
}

TEST(a_source_that_does_not_compile_says_where)
{
    bb_build *build = NULL;
    autofree char *log = NULL;
    check_fails(bb_build_create(device_under_test, dialect->broken, &log, &build), BB_INVALID,
                dialect->error);
    assert_non_null(strstr(bb_status_message(), "error:"));
    assert_null(strchr(bb_status_message(), '\n'));
    assert_null(build);
    assert_non_null(log);
    // The log includes the second error too, unlike the message.
    assert_non_null(strstr(log, "second_unknown"));
    assert_null(strstr(bb_status_message(), "second_unknown"));
    check_fails(bb_build_create(device_under_test, dialect->broken, NULL, &build), BB_INVALID,
                dialect->error);
}

TEST(unknown_entries_are_named)
{
    bb_build_limits limits;
    // A function of the surrounding libraries is not an entry either.
    static const char *const names[] = {"axpie", "", "memcpy", "sqrt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        check_fails(bb_build_launch(entries, names[i], row_of(1, 1), NULL, 0), BB_INVALID,
                    "no entry '");
        check_fails(bb_build_find_limits(entries, names[i], &limits), BB_INVALID, names[i]);
    }
}

TEST(shapes_beyond_the_limits_are_refused)
{
    enum { COUNT = 64 };
    float y[COUNT] = {0};
    const float a = 1.0F;
    const int32_t count = COUNT;
    bb_build_limits limits;
    fenced memory;
    check_ok(bb_build_find_limits(entries, "axpy", &limits));
    assert_true(limits.group_items >= 1);
    put(y, sizeof y, &memory);
    const bb_launch_argument arguments[] = {BLOCK(memory), BLOCK(memory), SCALAR(a), SCALAR(count)};
    const struct {
        bb_launch_shape shape;
        bb_status code;
        const char *text;
    } cases[] = {
        {{{1, 1}, {limits.group_items + 1, 1}, 1}, BB_UNSUPPORTED, "the device's limit is"},
        {{{1, 1}, {2, limits.group_items}, 1}, BB_UNSUPPORTED, "the device's limit is"},
        {{{1, 1}, {1, (bb_index)1 << 62}, 1}, BB_UNSUPPORTED, "the device's limit is"},
        {{{(bb_index)1 << 40, (bb_index)1 << 40}, {1, 1}, 1}, BB_UNSUPPORTED, "overflows"},
        {{{0, 1}, {1, 1}, 1}, BB_INVALID, "0 work-groups"},
        {{{1, 1}, {1, -1}, 1}, BB_INVALID, "-1 items in dimension 1"},
        {{{1, 1}, {1, 1}, 0}, BB_INVALID, "cpu_grain 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_fails(bb_build_launch(entries, "axpy", cases[i].shape, arguments, 4), cases[i].code,
                    cases[i].text);
    }
    check_fails(bb_build_launch(entries, "axpy", row_of(1, 1), arguments, 65), BB_INVALID,
                "65 arguments, expected at most 64");
    const bb_launch_argument odd[] = {{.block = memory.block, .scalar = &a, .scalar_bytes = 4}};
    check_fails(bb_build_launch(entries, "axpy", row_of(1, 1), odd, 1), BB_INVALID,
                "argument 0 is neither");
    memset(y, 1, sizeof y);
    take(&memory, y);
    for (int i = 0; i < COUNT; ++i) {
        assert_true(y[i] == 0.0F);
    }
}

// An object without elements is legal: its launch has no block, and no item reads it.
TEST(empty_blocks_are_arguments)
{
    const float a = 1.0F;
    const int32_t count = 0;
    const bb_launch_argument arguments[] = {{0}, {0}, SCALAR(a), SCALAR(count)};
    bb_launch_shape shape = row_of(1, 1);
    check_ok(bb_build_launch(entries, "axpy", shape, arguments, 4));
    check_ok(bb_device_wait(device_under_test));
}

TEST(launches_leave_nothing)
{
    float value = 1.0F;
    const int32_t count = 1;
    fenced memory;
    put(&value, sizeof value, &memory);
    const bb_launch_argument arguments[] = {BLOCK(memory), BLOCK(memory), SCALAR(value),
                                            SCALAR(count)};
    const bb_index blocks = bb_memory_blocks();
    bb_memory_fail_at(1);
    for (int i = 0; i < 10; ++i) {
        check_ok(bb_build_launch(entries, "axpy", row_of(1, 1), arguments, 4));
    }
    assert_false(bb_memory_failure_happened());
    bb_memory_fail_at(0);
    assert_int_equal(bb_memory_blocks(), blocks);
    take(&memory, &value);
    assert_true(value == 1024.0F);
}

/// Each failing allocation during a build is reported, without leaks.
TEST(every_allocation_may_fail)
{
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autoptr(bb_build) build = NULL;
        autofree char *log = NULL;
        status = bb_build_create(device_under_test, dialect->entries, &log, &build);
        assert_true(walk.k < 100);
    }
}

/// Begins a group: compiles the entries for an open device. 0, or 1 with the compiler's output.
static inline int build_tests_begin(bb_device *device, const build_dialect *texts)
{
    autofree char *log = NULL;
    device_under_test = device;
    dialect = texts;
    const int code = bb_build_create(device, texts->entries, &log, &entries) == BB_OK ? 0 : 1;
    if (code != 0) {
        print_error("%s\n%s\n", bb_status_message(), log == NULL ? "" : log);
    }
    return code;
}

#endif

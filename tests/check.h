// SPDX-License-Identifier: Apache-2.0
//
// Common header of all tests: cmocka, standard headers, test groups, and comparisons of doubles
// that print the value, the expected value and the difference.
#ifndef BB_TESTS_CHECK_H
#define BB_TESTS_CHECK_H

// clang-format off
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> // needs the headers above
// clang-format on

#include "core/memory.h"

// Variables released at the end of their block, in reverse order of declaration:
//
//   autoptr(bb_results) results = NULL;   bb_results_destroy(&results); the type is bb_results *
//   autorelease(bb_text) text = {0};      bb_text_release(&text)
//   autoclose(bb_device) device = NULL;   bb_device_close(&device); the type is bb_device *
//   autofree double *values = NULL;       BB_RELEASE(&values)
//   autocall(drop) scene scene = {0};     drop(&scene)
#define autocall(function) __attribute__((unused, cleanup(function)))
#define autoptr(type)      autocall(type##_destroy) type *
#define autorelease(type)  autocall(type##_release) type
#define autoclose(type)    autocall(type##_close) type *
#define autofree           autocall(check_free_block)

static inline void check_free_block(void *pointer)
{
    bb_memory_release(pointer);
}

/// |got - expected| <= tolerance * |scale|. NaN never passes.
#define check_close(got, expected, tolerance, scale)                                               \
    check_close_at((got), (expected), (tolerance)*fabs(scale), #got, __FILE__, __LINE__)

/// |got - expected| <= tolerance * |expected|.
#define check_relative(got, expected, tolerance)                                                   \
    check_close_at((got), (expected), (tolerance)*fabs(expected), #got, __FILE__, __LINE__)

static inline void check_close_at(double got, double expected, double bound, const char *what,
                                  const char *file, int line)
{
    if (!(fabs(got - expected) <= bound)) {
        print_error("%s: got %.17g, expected %.17g, difference %.3g over the bound %.3g\n", what,
                    got, expected, got - expected, bound);
        _fail(file, line);
    }
}

/// Applies check_close to each of `count` doubles.
#define check_all_close(got, expected, count, tolerance, scale)                                    \
    check_all_at((got), (expected), (count), (tolerance)*fabs(scale), 0.0, #got, __FILE__, __LINE__)

/// Applies check_relative to each of `count` doubles.
#define check_all_relative(got, expected, count, tolerance)                                        \
    check_all_at((got), (expected), (count), 0.0, (tolerance), #got, __FILE__, __LINE__)

static inline void check_all_at(const double *got, const double *expected, bb_index count,
                                double bound, double tolerance, const char *what, const char *file,
                                int line)
{
    for (bb_index i = 0; i < count; ++i) {
        const double allowed = bound + tolerance * fabs(expected[i]);
        if (!(fabs(got[i] - expected[i]) <= allowed)) {
            print_error("element %td of\n", i);
            check_close_at(got[i], expected[i], allowed, what, file, line);
        }
    }
}

/// Checks that each of `count` doubles is NaN.
#define check_all_nan(values, count)                                                               \
    check_all_nan_at((values), (count), #values, __FILE__, __LINE__)

static inline void check_all_nan_at(const double *values, bb_index count, const char *what,
                                    const char *file, int line)
{
    for (bb_index i = 0; i < count; ++i) {
        if (!isnan(values[i])) {
            print_error("%s[%td]: got %.17g, expected NaN\n", what, i, values[i]);
            _fail(file, line);
        }
    }
}

/// Checks that the call succeeds; otherwise prints the message and the trace.
#define check_ok(call)                                                                             \
    do {                                                                                           \
        bb_status checked_ = (call);                                                               \
        if (checked_ != BB_OK) {                                                                   \
            print_error("%s: %s\n%s", #call, bb_status_message(), bb_status_trace_text());         \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)

/// Creates an object: new_object(bb_thermal, mesh, &SILICON) returns the result of
/// bb_thermal_create(mesh, &SILICON, &out). Also allocates an array, uninitialised or zeroed.
/// Owner: the caller.
#define new_object(type, ...)  new_by(type, type##_create(__VA_ARGS__, &new_))
#define new_array(type, count) new_by(type, BB_ALLOCATE((count), &new_))
#define new_zeros(type, count) new_by(type, BB_ZEROED((count), &new_))

#define new_by(type, call)                                                                         \
    __extension__({                                                                                \
        type *new_ = NULL;                                                                         \
        check_ok(call);                                                                            \
        new_;                                                                                      \
    })

/// Creates a struct by value that owns its buffers.
#define new_struct(type, ...)                                                                      \
    __extension__({                                                                                \
        type new_ = {0};                                                                           \
        check_ok(type##_create(__VA_ARGS__, &new_));                                               \
        new_;                                                                                      \
    })

/// Sets values[i] to an expression of i, for each i from 0 to count - 1:
/// fill_array(x, 8, i, sin(0.1 * (double)i)).
#define fill_array(values, count, i, expression)                                                   \
    do {                                                                                           \
        for (bb_index i = 0; (i) < (bb_index)(count); ++(i)) {                                     \
            (values)[i] = (expression);                                                            \
        }                                                                                          \
    } while (0)

/// Checks that the call fails with `code` and a message that contains `text`.
#define check_fails(call, code, text)                                                              \
    do {                                                                                           \
        assert_int_equal((call), (code));                                                          \
        if (strstr(bb_status_message(), (text)) == NULL) {                                         \
            print_error("message '%s' lacks '%s'\n", bb_status_message(), (text));                 \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)

/// Makes each allocation of a task fail in turn. The task must then return BB_MEMORY and leave
/// nothing allocated. The walk ends when the task succeeds without a failed allocation.
///
///     bb_status status = BB_OK;
///     for (failing_allocation walk = {0}; fail_next(&walk, status);) {
///         autoptr(bb_scene) scene = NULL;
///         status = bb_scene_create(&config, &scene);
///     }
typedef struct failing_allocation {
    bb_index k;      ///< number of the allocation that fails, from 1
    bb_index stride; ///< distance to the next one; 0 means 1
    bb_index blocks; ///< blocks allocated before the walk
} failing_allocation;

static inline bool fail_next(failing_allocation *walk, bb_status status)
{
    const int happened = bb_memory_failure_happened();
    bb_memory_fail_at(0);
    if (walk->k == 0) {
        walk->blocks = bb_memory_blocks();
        walk->k = 1;
    } else {
        const bb_index kept = bb_memory_blocks() - walk->blocks;
        if (status != (happened ? BB_MEMORY : BB_OK) || kept != 0) {
            print_error("allocation %td fails: %s, %td blocks kept\n", walk->k,
                        bb_status_name(status), kept);
            fail();
        }
        if (!happened) {
            return false;
        }
        walk->k += walk->stride > 0 ? walk->stride : 1;
    }
    bb_memory_fail_at(walk->k);
    return true;
}

/// Writes a text file.
static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/// Stores a script as script.py and runs it with the system's Python, which has numpy and h5py.
static inline void run_python(const char *script)
{
    write_text("script.py", script);
    assert_int_equal(system("/usr/bin/python3 script.py"), 0);
}

// Tests and groups
//
// A source file test_<noun>.c is one cmocka group, named <noun>. TEST defines a test and adds it to
// the group. The program of the directory (tests/main.c) runs all groups or the named one.

enum { TEST_GROUP_TESTS = 64, TEST_SKIPPED = 77 };

/// Options of a group; every member is optional.
typedef struct test_options {
    int (*begin)(void);      ///< runs before the fixtures; 0, or the exit code that ends the group
    void (*end)(void);       ///< runs after the fixtures
    CMFixtureFunction enter; ///< group fixtures, as in cmocka
    CMFixtureFunction leave;
    int (*run)(void);     ///< runs the group instead of cmocka; returns the exit code
    bool is_quiet;        ///< suppresses log lines
    bool has_folder;      ///< runs in a temporary folder, which is removed afterwards
    int threads;          ///< threads of the pool; 0: the test sets them, until it ends
    const char *commands; ///< required programs, "cc chromium"; skipped where one is missing
} test_options;

typedef struct test_group {
    const char *name;
    test_options options;
    size_t count;
    struct CMUnitTest tests[TEST_GROUP_TESTS];
    struct test_group *next;
} test_group;

/// Adds a test, and on the first call its group. Called before main.
void test_group_add(test_group *group, struct CMUnitTest test);

/// Adds a group without tests, if it has a function `run`. Called before main.
void test_group_add_runner(test_group *group);

/// Arguments after the name of the group.
extern int test_argument_count;
extern char **test_arguments;

/// Whether the first argument is "few": fewer cases, for slow tools.
int test_is_few(void);

#ifdef BB_TEST_GROUP
static test_group test_this_group __attribute__((unused)) = {.name = BB_TEST_GROUP};
static test_group test_full_group __attribute__((unused)) = {.name = BB_TEST_GROUP "_full"};

#define TEST_JOIN(a, b)   a##b
#define TEST_UNIQUE(a, b) TEST_JOIN(a, b)
#define TEST_ADD(group, ...)                                                                       \
    __attribute__((constructor)) static void TEST_UNIQUE(test_add_, __COUNTER__)(void)             \
    {                                                                                              \
        test_group_add(&(group), (struct CMUnitTest){__VA_ARGS__});                                \
    }
#define TEST_OF(group, function, ...)                                                              \
    static void function(void **state);                                                            \
    TEST_ADD(group, .name = #function, .test_func = function, __VA_ARGS__)                         \
    static void function(void **state __attribute__((unused)))

/// TEST(name) { ... }; members of CMUnitTest may follow the name, e.g. .setup_func = enter.
#define TEST(function, ...) TEST_OF(test_this_group, function, __VA_ARGS__)

/// A test of the set `full` (whole studies, long searches), which ./setup test skips. It belongs to
/// a separate group <noun>_full with the options of the file's group.
#define TEST_FULL(function, ...) TEST_OF(test_full_group, function, __VA_ARGS__)

/// Sets the options of the file's group, e.g. .enter = enter.
#define TEST_GROUP(...)                                                                            \
    __attribute__((constructor)) static void test_set_options(void)                                \
    {                                                                                              \
        test_this_group.options = (test_options){__VA_ARGS__};                                     \
        test_full_group.options = test_this_group.options;                                         \
        test_group_add_runner(&test_this_group);                                                   \
    }                                                                                              \
    struct test_group
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Numerical objects on a device: operations give the bits of the evaluator, and no data are copied
// that are already there.
#ifndef BB_TESTS_SOLVERS_KERNELS_OBJECTS_NUMERICAL_CASES_H
#define BB_TESTS_SOLVERS_KERNELS_OBJECTS_NUMERICAL_CASES_H

#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "solvers/kernels/objects/numerical_object.h"
#include "tests/first_device.h"
#include "tests/solvers/kernels/program_fixture.h"

enum { NUMERICAL_COLUMNS = 301, NUMERICAL_ROWS = 17 };

typedef struct numerical_task {
    bb_device *device;
    bb_kernel_context *context;
} numerical_task;

static inline bb_numerical_object *numerical_make(const numerical_task *task, bb_element_type type,
                                                  bb_index columns, bb_index rows)
{
    bb_numerical_object *object = NULL;
    check_ok(bb_numerical_object_matrix(task->context, type, columns, rows, &object));
    return object;
}

/// An object filled with random numbers of its own stream.
static inline bb_numerical_object *numerical_draw(const numerical_task *task, bb_element_type type,
                                                  bb_index columns, bb_index rows, uint64_t stream)
{
    bb_numerical_object *object = numerical_make(task, type, columns, rows);
    void *elements = NULL;
    check_ok(bb_numerical_object_host(object, BB_NUMERICAL_OVERWRITE, &elements));
    for (bb_index k = 0; k < columns * rows; ++k) {
        const double number = bb_random_normal(11, (bb_stream)0, (stream << 32) + (uint64_t)k);
        bb_evaluation_store(type, elements, k, (bb_scalar){{number, 0.0}, 0});
    }
    return object;
}

static inline const void *numerical_read(bb_numerical_object *object)
{
    void *elements = NULL;
    check_ok(bb_numerical_object_host(object, BB_NUMERICAL_READ, &elements));
    return elements;
}

/// Object of a kernel: its name there, and whether it is bound as a vector.
typedef struct numerical_part {
    const char *name;
    bb_numerical_object *object;
    bool is_flat;
} numerical_part;

/// The last part has the bits of the evaluator.
static inline void numerical_check(const char *file, const numerical_part *parts, int count,
                                   double parameter)
{
    autocall(fixture_release) program_fixture fixture;
    autocall(bb_memory_release) void *expected = NULL;
    const bb_numerical_object *result = parts[count - 1].object;
    const bb_element_type type = bb_numerical_object_type(result);
    const bb_index elements =
        bb_numerical_object_columns(result) * bb_numerical_object_rows(result);
    const bb_index bytes = elements * (bb_index)bb_element_type_row(type)->bytes;
    check_ok(bb_memory_zeroed(bytes, 1, &expected));
    fixture_make_file(&fixture, file, "T", bb_element_type_row(type)->name);
    for (int i = 0; i < count; ++i) {
        const bb_index columns = bb_numerical_object_columns(parts[i].object);
        const bb_index rows = bb_numerical_object_rows(parts[i].object);
        void *data = expected;
        if (i + 1 < count) {
            check_ok(bb_numerical_object_host(parts[i].object, BB_NUMERICAL_READ, &data));
        }
        fixture_bind(&fixture, parts[i].name, parts[i].is_flat ? columns * rows : columns,
                     parts[i].is_flat ? 1 : rows, data);
    }
    fixture.parameters[0] = (bb_scalar){{parameter, 0.0}, 0};
    fixture_evaluate(&fixture);
    assert_memory_equal(numerical_read(parts[count - 1].object), expected, (size_t)bytes);
}

/// Compares every operation on matrices of the standard size.
static inline void numerical_check_all(const numerical_task *task, bb_element_type type)
{
    const bb_index columns = NUMERICAL_COLUMNS;
    const bb_index rows = NUMERICAL_ROWS;
    bb_numerical_object *a = numerical_draw(task, type, columns, rows, 1);
    bb_numerical_object *b = numerical_draw(task, type, columns, rows, 2);
    bb_numerical_object *c = numerical_draw(task, type, columns, rows, 3); // to be overwritten
    bb_numerical_object *x = numerical_draw(task, type, columns, 1, 4);
    bb_numerical_object *y = numerical_make(task, type, rows, 1);
    bb_numerical_object *z = numerical_make(task, type, columns, 1);
    bb_numerical_object *one = numerical_make(task, type, 1, 1);
    check_ok(bb_numerical_object_fill(c, 0.1));
    numerical_check("configs/kernels/fill.kernel", (numerical_part[]){{"a", c, true}}, 1, 0.1);
    check_ok(bb_numerical_object_copy(a, c));
    numerical_check("configs/kernels/copy.kernel",
                    (numerical_part[]){{"a", a, true}, {"b", c, true}}, 2, 0.0);
    check_ok(bb_numerical_object_scale(a, -0.3, c));
    numerical_check("configs/kernels/scale.kernel",
                    (numerical_part[]){{"a", a, true}, {"b", c, true}}, 2, -0.3);
    check_ok(bb_numerical_object_add(a, b, c));
    numerical_check("configs/kernels/add.kernel",
                    (numerical_part[]){{"A", a, false}, {"B", b, false}, {"C", c, false}}, 3, 0.0);
    check_ok(bb_numerical_object_laplace(a, c));
    numerical_check("configs/kernels/laplace5.kernel",
                    (numerical_part[]){{"u", a, false}, {"v", c, false}}, 2, 0.0);
    check_ok(bb_numerical_object_norm(a, one));
    numerical_check("configs/kernels/l2norm.kernel",
                    (numerical_part[]){{"a", a, true}, {"norm", one, false}}, 2, 0.0);
    check_ok(bb_numerical_object_max(a, one));
    numerical_check("configs/kernels/max.kernel",
                    (numerical_part[]){{"a", a, true}, {"largest", one, false}}, 2, 0.0);
    check_ok(bb_numerical_object_multiply(a, x, y));
    numerical_check("configs/kernels/gemv.kernel",
                    (numerical_part[]){{"A", a, false}, {"b", x, false}, {"c", y, false}}, 3, 0.0);
    check_ok(bb_numerical_object_multiply_transposed(a, y, z));
    numerical_check("configs/kernels/gemv_transposed.kernel",
                    (numerical_part[]){{"A", a, false}, {"b", y, false}, {"c", z, false}}, 3, 0.0);
    bb_numerical_object *all[] = {a, b, c, x, y, z, one};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        bb_numerical_object_destroy(&all[i]);
    }
}

static void operations_give_the_bits_of_the_evaluator(void **state)
{
    const numerical_task *task = *state;
    numerical_check_all(task, BB_ELEMENT_SP);
    numerical_check_all(task, BB_ELEMENT_DP);
    const bb_index compiled = bb_kernel_context_readied(task->context);
    assert_int_equal(compiled, 18);
    numerical_check_all(task, BB_ELEMENT_DP);
    assert_int_equal(bb_kernel_context_readied(task->context), compiled);
}

static inline void numerical_check_traffic(const bb_numerical_object *object, bb_index uploads,
                                           bb_index downloads)
{
    const double bytes = (double)(bb_numerical_object_columns(object) *
                                  bb_numerical_object_rows(object) * (bb_index)sizeof(double));
    const bb_numerical_traffic traffic = bb_numerical_object_traffic(object);
    assert_int_equal(traffic.uploads, uploads);
    assert_int_equal(traffic.downloads, downloads);
    check_close(traffic.uploaded_bytes, bytes * (double)uploads, 1.0, 0.0);
    check_close(traffic.downloaded_bytes, bytes * (double)downloads, 1.0, 0.0);
}

static void nothing_crosses_twice(void **state)
{
    const numerical_task *task = *state;
    autoptr(bb_numerical_object) a = numerical_draw(task, BB_ELEMENT_DP, 50, 4, 1);
    autoptr(bb_numerical_object) b = numerical_make(task, BB_ELEMENT_DP, 50, 4);
    autoptr(bb_numerical_object) c = numerical_make(task, BB_ELEMENT_DP, 50, 4);
    void *elements = NULL;
    numerical_check_traffic(a, 0, 0); // a host write is uploaded at first use
    check_ok(bb_numerical_object_scale(a, 2.0, b));
    check_ok(bb_numerical_object_add(a, b, c));
    check_ok(bb_numerical_object_scale(c, 2.0, b));
    numerical_check_traffic(a, 1, 0); // once for two operations
    numerical_check_traffic(b, 0, 0); // computed, used and recomputed on the device
    numerical_check_traffic(c, 0, 0);
    const double *sum = numerical_read(b);
    assert_true(sum[7] == 6.0 * ((const double *)numerical_read(a))[7] && sum[7] != 0.0);
    (void)numerical_read(b);
    numerical_check_traffic(a, 1, 0); // the host copy is still valid
    numerical_check_traffic(b, 0, 1); // once for two reads
    check_ok(bb_numerical_object_scale(b, 2.0, c));
    numerical_check_traffic(b, 0, 1); // a read changes nothing
    check_ok(bb_numerical_object_host(b, BB_NUMERICAL_CHANGE, &elements));
    ((double *)elements)[7] = 5.0;
    check_ok(bb_numerical_object_scale(b, 2.0, c));
    numerical_check_traffic(b, 1, 1); // the device copy was stale
    assert_true(((const double *)numerical_read(c))[7] == 10.0);
    assert_true(((const double *)numerical_read(c))[8] ==
                2.0 * ((const double *)numerical_read(b))[8]);
    check_ok(bb_numerical_object_scale(a, 1.0, c));
    check_ok(bb_numerical_object_host(c, BB_NUMERICAL_OVERWRITE, &elements));
    numerical_check_traffic(c, 0, 1); // no download before an overwrite
    check_ok(bb_numerical_object_scale(a, 1.0, c));
    check_ok(bb_numerical_object_host(c, BB_NUMERICAL_CHANGE, &elements));
    numerical_check_traffic(c, 0, 2); // the host copy was stale
    assert_true(((double *)elements)[7] == ((const double *)numerical_read(a))[7]);
}

static void new_objects_are_zeros_that_do_not_cross(void **state)
{
    const numerical_task *task = *state;
    autoptr(bb_numerical_object) a = numerical_make(task, BB_ELEMENT_DP, 9, 1);
    autoptr(bb_numerical_object) b = numerical_make(task, BB_ELEMENT_DP, 9, 1);
    autoptr(bb_numerical_object) c = numerical_draw(task, BB_ELEMENT_DP, 9, 1, 3);
    assert_true(((const double *)numerical_read(a))[8] == 0.0);
    check_ok(bb_numerical_object_add(a, c, b)); // read before
    numerical_check_traffic(a, 0, 0);
    assert_memory_equal(numerical_read(b), numerical_read(c), 9 * sizeof(double));
    assert_true(((const double *)numerical_read(a))[8] == 0.0);
    numerical_check_traffic(a, 0, 0);
    bb_numerical_object_destroy(&a);
    a = numerical_make(task, BB_ELEMENT_DP, 9, 1);
    check_ok(bb_numerical_object_copy(a, b)); // not read
    numerical_check_traffic(a, 0, 0);
    assert_true(((const double *)numerical_read(b))[8] == 0.0);
}

static void what_does_not_go_together_is_refused(void **state)
{
    const numerical_task *task = *state;
    bb_numerical_object *foreign = NULL, *none = NULL;
    bb_numerical_object *a = numerical_draw(task, BB_ELEMENT_DP, 9, 4, 1);
    bb_numerical_object *b = numerical_draw(task, BB_ELEMENT_DP, 4, 9, 2);
    bb_numerical_object *single = numerical_make(task, BB_ELEMENT_SP, 9, 4);
    bb_numerical_object *x = numerical_make(task, BB_ELEMENT_DP, 9, 1);
    bb_numerical_object *y = numerical_make(task, BB_ELEMENT_DP, 4, 1);
    autoptr(bb_kernel_context) other = new_object(bb_kernel_context, task->device);
    check_ok(bb_numerical_object_matrix(other, BB_ELEMENT_DP, 9, 4, &foreign));
    check_fails(bb_numerical_object_copy(a, a), BB_INVALID, "operand 1 is also the result");
    check_fails(bb_numerical_object_add(foreign, a, a), BB_INVALID, "to another context");
    check_fails(bb_numerical_object_copy(a, b), BB_INVALID, "4 x 9, expected 9 x 4");
    check_fails(bb_numerical_object_add(a, b, foreign), BB_INVALID, "the second term is 4 x 9");
    check_fails(bb_numerical_object_add(a, a, b), BB_INVALID, "the sum is 4 x 9");
    check_fails(bb_numerical_object_scale(a, 1.0, single), BB_INVALID,
                "is DP, but the result is SP");
    check_fails(bb_numerical_object_copy(a, foreign), BB_INVALID, "to another context");
    check_fails(bb_numerical_object_multiply(a, y, y), BB_INVALID, "x of A x is 4 x 1");
    check_fails(bb_numerical_object_multiply(a, x, x), BB_INVALID, "y = A x is 9 x 1");
    check_fails(bb_numerical_object_multiply_transposed(a, x, x), BB_INVALID, "x of A^T x is 9");
    check_fails(bb_numerical_object_multiply_transposed(a, y, y), BB_INVALID, "y = A^T x is 4");
    check_fails(bb_numerical_object_norm(a, x), BB_INVALID, "9 x 1, expected 1 x 1");
    check_fails(bb_numerical_object_vector(other, BB_ELEMENT_B, 3, &none), BB_INVALID,
                "of type B, expected SP or DP");
    check_fails(bb_numerical_object_vector(other, BB_ELEMENT_SP, 0, &none), BB_INVALID, "0 x 1");
    check_fails(bb_numerical_object_matrix(other, BB_ELEMENT_SP, (bb_index)1 << 39, 3, &none),
                BB_INVALID, "expected 1 to 2^40");
    assert_null(none);
    numerical_check_traffic(a, 0, 0); // refused operations copy nothing
    bb_numerical_object *all[] = {a, b, single, x, y, foreign};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        bb_numerical_object_destroy(&all[i]);
    }
}

static inline int numerical_setup(void **state)
{
    numerical_task *task = *state;
    check_ok(bb_kernel_context_create(task->device, &task->context));
    return 0;
}

static inline int numerical_teardown(void **state)
{
    numerical_task *task = *state;
    bb_kernel_context_destroy(&task->context);
    return 0;
}

/// Test program of all cases on the first device of a kind; skipped without such a device.
static inline int numerical_cases_on(bb_device_kind kind)
{
    numerical_task task = {.device = NULL};
    void *start = &task;
    const int code = first_device_open(kind, &task.device);
    if (code != 0) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(operations_give_the_bits_of_the_evaluator,
                                                 numerical_setup, numerical_teardown, start),
        cmocka_unit_test_prestate_setup_teardown(nothing_crosses_twice, numerical_setup,
                                                 numerical_teardown, start),
        cmocka_unit_test_prestate_setup_teardown(new_objects_are_zeros_that_do_not_cross,
                                                 numerical_setup, numerical_teardown, start),
        cmocka_unit_test_prestate_setup_teardown(what_does_not_go_together_is_refused,
                                                 numerical_setup, numerical_teardown, start),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bb_device_close(&task.device);
    return failed;
}

#endif

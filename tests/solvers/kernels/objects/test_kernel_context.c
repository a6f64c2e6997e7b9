// SPDX-License-Identifier: Apache-2.0
//
// A context stores a kernel for each choice of types, and recompiles only for sizes that the stored
// source does not support.
#include "core/device/device.h"
#include "solvers/kernels/objects/numerical_object.h"
#include "tests/solvers/kernels/program_fixture.h"

enum { COLUMNS = 40, ROWS = 6 };

static bb_device *device;
static bb_kernel_context *context;

static int setup(void **state)
{
    (void)state;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &device));
    check_ok(bb_kernel_context_create(device, &context));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bb_kernel_context_destroy(&context);
    bb_device_close(&device);
    return 0;
}

// On the CPU a block is host memory.
TEST(mixed_products_are_the_evaluators, .setup_func = setup, .teardown_func = teardown)
{
    static float matrix[ROWS * COLUMNS], vector[COLUMNS];
    const bb_kernel_use use = {.file = "gemv_mixed.kernel",
                               .types = {{"STORED", "SP"}, {"FACTOR", "SP"}, {"SUM", "DP"}},
                               .type_count = 3};
    double product[3] = {0.0, 0.0, 0.0};
    for (int k = 0; k < ROWS * COLUMNS; ++k) {
        matrix[k] = 1.0F / (float)(k + 3);
        vector[k % COLUMNS] = 1.0F / (float)(k % COLUMNS + 7);
    }
    const bb_program_data sizes[] = {{COLUMNS, ROWS, NULL}, {COLUMNS, 1, NULL}, {3, 1, NULL}};
    const bb_scalar first = {{2.0, 0.0}, 2};
    void *blocks[] = {matrix, vector, product};
    assert_string_equal(bb_kernel_context_compiler(context), "");
    check_ok(bb_kernel_context_run(context, &use, sizes, &first, blocks));
    for (int i = 0; i < 3; ++i) {
        double expected = 0.0;
        for (int k = 0; k < COLUMNS; ++k) {
            const float factor = matrix[(i + 2) * COLUMNS + k] * vector[k];
            expected += (double)factor; // rounded to SP before it is summed in DP
        }
        check_close(product[i], expected, 1.0, 1e-15);
    }
    assert_true(bb_kernel_context_compiler(context)[0] != '\0');
    const bb_scalar beyond = {{4.0, 0.0}, 4};
    check_fails(bb_kernel_context_run(context, &use, sizes, &beyond, blocks), BB_INVALID,
                "beyond its edge");
}

// Other sizes whose points leave the grid in the same way as the first.
TEST(sizes_share_a_kernel, .setup_func = setup, .teardown_func = teardown)
{
    static double fine[ROWS * COLUMNS], product[ROWS * COLUMNS];
    const bb_kernel_use use = {.file = "laplace5.kernel", .types = {{"T", "DP"}}, .type_count = 1};
    const bb_program_data sizes[3][2] = {{{COLUMNS, ROWS, NULL}, {COLUMNS, ROWS, NULL}},
                                         {{COLUMNS, 1, NULL}, {COLUMNS, 1, NULL}},
                                         {{COLUMNS - 2, 3, NULL}, {COLUMNS - 2, 3, NULL}}};
    void *blocks[] = {fine, product};
    fill_array(fine, ROWS * COLUMNS, k, k % 7);
    for (int round = 0; round < 2; ++round) {
        for (int s = 0; s < 3; ++s) {
            check_ok(bb_kernel_context_run(context, &use, sizes[s], NULL, blocks));
            assert_true(product[1] == fine[0] + fine[2] - 4.0 * fine[1] +
                                          (s == 1 ? 0.0 : fine[1 + sizes[s][0].columns]));
        }
        assert_int_equal(bb_kernel_context_readied(context), 1);
    }
}

// Coarsens a fine grid to 4 x 3, also if the fine grid ends early; `compiled` kernels are expected.
static void check_coarse(bb_index columns, bb_index rows, bb_index compiled)
{
    static double fine[8 * 6];
    double coarse[4 * 3];
    const bb_kernel_use use = {.file = "coarsen_x.kernel", .types = {{"T", "DP"}}, .type_count = 1};
    const bb_program_data sizes[] = {{columns, rows, NULL}, {4, 3, NULL}};
    void *blocks[] = {fine, coarse};
    for (int k = 0; k < 8 * 6; ++k) {
        fine[k] = k + 1; // no zeros, so that a read beyond the edge is visible
    }
    check_ok(bb_kernel_context_run(context, &use, sizes, NULL, blocks));
    for (bb_index y = 0; y < 3; ++y) {
        for (bb_index x = 0; x < 4; ++x) {
            double sum = 0.0;
            for (bb_index row = 2 * y; row < 2 * y + 2; ++row) {
                sum += 2 * x + 1 < columns && row < rows ? fine[row * columns + 2 * x + 1] : 0.0;
            }
            assert_true(coarse[y * 4 + x] == 0.5 * sum);
        }
    }
    assert_int_equal(bb_kernel_context_readied(context), compiled);
}

// A source for accesses inside the grid does not support a grid that ends before them; a source for
// both does.
TEST(what_does_not_serve_is_compiled_again, .setup_func = setup, .teardown_func = teardown)
{
    check_coarse(8, 6, 1);
    check_coarse(8, 6, 1);
    check_coarse(7, 5, 2);
    check_coarse(8, 6, 2);
    check_coarse(7, 6, 2);
}

// Launches that are prepared together share one source. It is compiled when the first is queued,
// and they may be queued again.
TEST(launches_share_a_kernel, .setup_func = setup, .teardown_func = teardown)
{
    enum { COUNT = 5 };
    double a[COUNT] = {1, 2, 3, 4, 5}, b[COUNT] = {0}, c[COUNT] = {0};
    const bb_kernel_use use = {.file = "copy.kernel", .types = {{"T", "DP"}}, .type_count = 1};
    const bb_program_data sizes[2][2] = {{{COUNT, 1, NULL}, {COUNT, 1, NULL}},
                                         {{COUNT, 1, NULL}, {COUNT - 2, 1, NULL}}};
    void *blocks[2][2] = {{a, b}, {a, c}};
    bb_kernel_launch *launches[2];
    const bb_index compiled = bb_kernel_context_readied(context);
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_kernel_launch_create(context, &use, sizes[i], NULL, blocks[i], &launches[i]));
    }
    assert_int_equal(bb_kernel_context_readied(context), compiled);
    for (int round = 0; round < 2; ++round) {
        a[0] = 7.0 + round;
        check_ok(bb_kernel_launch_queue(launches[0]));
        check_ok(bb_kernel_launch_queue(launches[1]));
        assert_true(b[0] == a[0] && b[4] == 5.0 && c[0] == a[0] && c[3] == 0.0);
    }
    assert_int_equal(bb_kernel_context_readied(context), compiled + 1);
    assert_true(bb_binding_bytes(bb_kernel_launch_query(launches[0]).binding) ==
                10.0 * sizeof(double));
    bb_kernel_launch_destroy(&launches[0]);
    bb_kernel_launch_destroy(&launches[1]);
    check_fails(bb_kernel_launch_create(context, &use,
                                        (bb_program_data[]){{3, 1, NULL}, {COUNT, 1, NULL}}, NULL,
                                        blocks[0], &launches[0]),
                BB_INVALID, "beyond its edge");
}

// Answer of a test's chooser, and the calls it received.
typedef struct wishes {
    const char *variant; // NULL: the default
    int asked, told;
    bb_index columns; // of the first object, in the last query
    bb_choice failed, taken;
} wishes;

static bb_status choose(void *told, const bb_kernel_site *site, bb_choice *choice)
{
    wishes *said = told;
    ++said->asked;
    said->columns = site->data[0].columns;
    assert_string_equal(site->use->file, "l2norm.kernel");
    assert_string_equal(site->program->objects[0].name, "a");
    return said->variant == NULL ? BB_OK : bb_choice_read(said->variant, choice);
}

static void fall_back(void *told, const bb_kernel_site *site, const bb_choice *failed,
                      const bb_choice *taken)
{
    wishes *said = told;
    (void)site;
    ++said->told;
    said->failed = *failed;
    said->taken = *taken;
}

enum { NORM_ELEMENTS = 5000 };

// Norm of a vector, `rounds` times, in a context whose chooser requests a variant.
static float find_norm(wishes *said, int rounds)
{
    static float vector[NORM_ELEMENTS];
    float norm = 0.0F;
    const bb_kernel_use use = {.file = "l2norm.kernel", .types = {{"T", "SP"}}, .type_count = 1};
    const bb_program_data sizes[] = {{NORM_ELEMENTS, 1, NULL}, {1, 1, NULL}};
    const bb_program_data shorter[] = {{NORM_ELEMENTS - 1, 1, NULL}, {1, 1, NULL}};
    void *blocks[] = {vector, &norm};
    fill_array(vector, NORM_ELEMENTS, k, 1.0F / (float)(k % 97 + 3));
    autoptr(bb_kernel_context) made = new_object(bb_kernel_context, device);
    bb_kernel_context_set_chooser(made, &(bb_kernel_chooser){said, choose, fall_back});
    check_ok(bb_kernel_context_run(made, &use, shorter, NULL, blocks));
    for (int round = 0; round < rounds; ++round) {
        check_ok(bb_kernel_context_run(made, &use, sizes, NULL, blocks));
    }
    assert_int_equal(bb_kernel_context_readied(made), 1);
    return norm;
}

// Another order of sums gives another float; the chooser is called once per sizes.
TEST(a_chooser_says_which_variant_runs, .setup_func = setup, .teardown_func = teardown)
{
    wishes plain = {.variant = NULL};
    wishes ordered = {.variant = "group1x1-order32x1024"};
    const float norm = find_norm(&plain, 1);
    const float other = find_norm(&ordered, 3);
    assert_true(norm != other && fabsf(norm - other) < 1e-4F * norm);
    assert_int_equal(plain.asked, 2);
    assert_int_equal(ordered.asked, 2);
    assert_int_equal(ordered.columns, NORM_ELEMENTS);
    assert_int_equal(ordered.told, 0);
}

TEST(a_variant_that_fails_is_the_default, .setup_func = setup, .teardown_func = teardown)
{
    wishes plain = {.variant = NULL};
    wishes failing = {.variant = "group64x1"}; // the CPU has no groups
    const float norm = find_norm(&plain, 1);
    assert_true(find_norm(&failing, 2) == norm);
    assert_int_equal(failing.told, 2); // at each of two sizes
    assert_int_equal(failing.failed.group[0], 64);
    assert_int_equal(failing.taken.group[0], 1);
}

// Scales a vector: from creation to the copy on the host.
static bb_status scale_vector(void)
{
    bb_status status = BB_OK;
    autoptr(bb_kernel_context) context_of_test = NULL;
    autoptr(bb_numerical_object) a = NULL, *b = NULL;
    void *elements = NULL;
    BB_TRY(bb_kernel_context_create(device, &context_of_test));
    BB_TRY(bb_numerical_object_vector(context_of_test, BB_ELEMENT_SP, 9, &a));
    BB_TRY(bb_numerical_object_vector(context_of_test, BB_ELEMENT_SP, 9, &b));
    BB_TRY(bb_numerical_object_host(a, BB_NUMERICAL_CHANGE, &elements));
    BB_TRY(bb_numerical_object_scale(a, 2.0, b));
    BB_TRY(bb_numerical_object_host(b, BB_NUMERICAL_READ, &elements));
done:
    bb_numerical_object_destroy(&b);
    return status;
}

TEST(allocations_that_fail_leave_nothing, .setup_func = setup, .teardown_func = teardown)
{
    failing_allocation walk = {0};
    bb_status status = BB_OK;
    while (fail_next(&walk, status)) {
        status = scale_vector();
    }
    assert_true(walk.k > 20);
}

TEST(unknown_kernels_and_types_are_refused, .setup_func = setup, .teardown_func = teardown)
{
    double element = 1.0;
    void *blocks[] = {&element, &element};
    const bb_program_data sizes[] = {{1, 1, NULL}, {1, 1, NULL}};
    const bb_kernel_use unknown = {.file = "none.kernel", .type_count = 0};
    const bb_kernel_use untyped = {.file = "copy.kernel", .type_count = 0};
    check_fails(bb_kernel_context_run(context, &unknown, sizes, NULL, blocks), BB_INVALID,
                "there is no shipped kernel none.kernel");
    check_fails(bb_kernel_context_run(context, &untyped, sizes, NULL, blocks), BB_INVALID,
                "copy.kernel");
}

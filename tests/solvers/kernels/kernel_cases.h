// SPDX-License-Identifier: Apache-2.0
//
// Shipped kernels on a device give the bits of the evaluator: odd sizes, NaN, Inf and zeros of both
// signs in the data, canaries around every object.
#ifndef BB_TESTS_SOLVERS_KERNELS_KERNEL_CASES_H
#define BB_TESTS_SOLVERS_KERNELS_KERNEL_CASES_H

#include "core/random.h"
#include "core/thread.h"
#include "solvers/kernels/assembled_kernel.h"
#include "tests/first_device.h"
#include "tests/nightly.h"
#include "tests/solvers/kernels/program_fixture.h"

enum { CANARY_BYTES = 64, CANARY = 0x5a };

typedef struct extents {
    const char *object;
    bb_index columns, rows;
} extents;

typedef struct kernel_case {
    const char *file;
    extents objects[FIXTURE_OBJECTS];
    int64_t parameters[FIXTURE_PARAMETERS];
    const char *type; ///< NULL: SP or DP
} kernel_case;

/// Elements between canaries.
typedef struct guarded {
    unsigned char *block;
    size_t bytes;
} guarded;

static inline guarded guarded_create(size_t bytes)
{
    guarded memory = {malloc(bytes + 2 * CANARY_BYTES), bytes};
    assert_non_null(memory.block);
    memset(memory.block, CANARY, bytes + 2 * CANARY_BYTES);
    return memory;
}

static inline void guarded_check(const guarded *memory)
{
    for (size_t i = 0; i < CANARY_BYTES; ++i) {
        assert_int_equal(memory->block[i], CANARY);
        assert_int_equal(memory->block[CANARY_BYTES + memory->bytes + i], CANARY);
    }
}

static inline double draw(bb_index number, int object)
{
    return bb_random_normal(7, (bb_stream)0, ((uint64_t)object << 32) + (uint64_t)number);
}

static inline double special(bb_index number, int object, bool with_specials)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-310, 3e38};
    const double value = draw(number, object);
    return with_specials && number % 11 == 3 ? specials[(number / 11) % 7] : value;
}

static inline void fill(bb_element_type type, void *elements, bb_index count, int object,
                        bool specials)
{
    for (bb_index i = 0; i < count; ++i) {
        const bb_scalar value = {{special(i, object, specials), special(i + count, object, false)},
                                 (int64_t)(1000.0 * draw(i, object))};
        bb_evaluation_store(type, elements, i, value);
    }
}

// Any NaN equals any NaN.
static inline bool same_element(bb_element_type type, const void *a, const void *b, bb_index index)
{
    const bb_scalar x = bb_evaluation_load(type, a, index);
    const bb_scalar y = bb_evaluation_load(type, b, index);
    bool same = x.integer == y.integer;
    for (int k = 0; k < 2; ++k) {
        same = same && ((isnan(x.parts[k]) && isnan(y.parts[k])) ||
                        (x.parts[k] == y.parts[k] && signbit(x.parts[k]) == signbit(y.parts[k])));
    }
    return same;
}

static inline bool check_equal(const kernel_case *kernel, const bb_program *program,
                               const bb_program_data *got, const bb_program_data *expected)
{
    for (int i = 0; i < program->object_count; ++i) {
        const bb_element_type type = program->objects[i].type;
        for (bb_index k = 0; k < got[i].columns * got[i].rows; ++k) {
            if (!same_element(type, got[i].elements, expected[i].elements, k)) {
                const bb_scalar x = bb_evaluation_load(type, got[i].elements, k);
                const bb_scalar y = bb_evaluation_load(type, expected[i].elements, k);
                print_error("%s: %s[%td] is %.17g (%lld), evaluated %.17g (%lld)\n", kernel->file,
                            program->objects[i].name, k, x.parts[0], (long long)x.integer,
                            y.parts[0], (long long)y.integer);
                return false;
            }
        }
    }
    return true;
}

// Rows of 0 to 18 elements, an empty last row, and columns at any position.
static inline void fill_sparse(program_fixture *fixture)
{
    for (int i = 0; i < fixture->program.object_count; ++i) {
        const bb_index count = fixture->data[i].columns;
        int32_t *elements = fixture->data[i].elements;
        const bool starts = strcmp(fixture->program.objects[i].name, "row_start") == 0;
        int32_t begin = 0;
        for (bb_index k = 0; k < count && fixture->program.objects[i].type == BB_ELEMENT_INT32;
             ++k) {
            elements[k] = starts ? begin : (int32_t)((k * 7) % 50);
            begin += k + 2 < count ? (int32_t)(7 * k % 19) : 0;
        }
    }
}

/// Variants that a program may have: tiles of points, teams of lanes, loops; on the CPU loops only.
static const char *const variants[] = {
    "group32x4-points4-blocked",
    "group64x1-points4-blocked-split",
    "group32x2-blocked",
    "group128x1-split",
    "group16x2-points2-rows4-blocked",
    "group8x8-points8-rows2",
    "group16x8-blocked-split",
    "group64x2",
    "group1x32",
    "group8x16-blocked",
    "group4x32",
    "group256x1-points2-split",
    "group16x1-points16-blocked",
    "group32x4-order32x1024",
    "group8x4-blocked-order64x512-split",
    "group2x8-blocked-order16x4096",
    "group4x2-order16x512",
    "group8x4-points2-local",
    "group16x2-points2-rows4-blocked-local",
    "group64x1-points4-local",
    "tile16",
    "tile1000",
    "tile16-rows4",
    "tile64-order32x512",
    "tile1",
    "tile1-order16x1024",
};
enum { VARIANTS = sizeof variants / sizeof variants[0], BY_SIZES = -2, BY_PROGRAM = -1 };

/// The default variant for the program; on devices other than the CPU also for the sizes.
static inline bb_choice default_variant(bb_device_kind kind, program_fixture *fixture, int number)
{
    bb_choice choice = bb_choice_default(kind, &fixture->program);
    bb_binding sizes = {.program = NULL};
    if (number == BY_SIZES) {
        check_ok(
            bb_binding_create_sizes(&fixture->program, fixture->data, fixture->parameters, &sizes));
        choice = bb_choice_default_gpu(kind, &sizes);
        bb_binding_release(&sizes);
    }
    return choice;
}

static inline const char *variant_name(int number)
{
    return number >= 0 ? variants[number] : number == BY_SIZES ? "default by sizes" : "default";
}

/// Runs variant `number` (the default if negative) on the bound data, copied from memory[2], and
/// compares with the evaluator in the variant's order of sums. False: the program does not have the
/// variant.
static inline bool run_variant(bb_device *device, const kernel_case *kernel,
                               program_fixture *fixture, bb_program_data *compiled,
                               guarded memory[3][FIXTURE_OBJECTS], int number)
{
    bb_binding binding = {.program = NULL};
    bb_program ordered;
    bb_choice choice = default_variant(bb_device_kind_of(device), fixture, number);
    char why[160];
    if (number >= 0) {
        check_ok(bb_choice_read(variants[number], &choice));
        if (!bb_choice_is_legal(&choice, bb_device_kind_of(device), &fixture->program, why,
                                sizeof why)) {
            return false;
        }
    }
    for (int i = 0; i < fixture->program.object_count; ++i) {
        for (int k = 0; k < 2; ++k) {
            memcpy(memory[k][i].block, memory[2][i].block, memory[2][i].bytes + 2 * CANARY_BYTES);
        }
    }
    check_ok(bb_choice_apply(&choice, &fixture->program, &ordered));
    check_ok(bb_binding_create(&ordered, fixture->data, fixture->parameters, &fixture->problems,
                               &binding));
    fixture_check_sound(fixture);
    check_ok(bb_evaluation_run(&binding));
    bb_binding_release(&binding);
    bb_choice_release_program(&ordered);
    check_ok(bb_binding_create(&fixture->program, compiled, fixture->parameters, &fixture->problems,
                               &binding));
    autoptr(bb_assembled_kernel) assembled = NULL;
    check_ok(bb_assembled_kernel_create(device, &fixture->program, binding.is_inside,
                                        number != BY_PROGRAM ? &choice : NULL, &assembled));
    check_ok(bb_assembled_kernel_compute(assembled, &binding));
    bb_binding_release(&binding);
    if (!check_equal(kernel, &fixture->program, compiled, fixture->data)) {
        fail_msg("%s of %s", variant_name(number), kernel->file);
    }
    for (int i = 0; i < fixture->program.object_count; ++i) {
        guarded_check(&memory[0][i]);
        guarded_check(&memory[1][i]);
    }
    return true;
}

/// Runs every `stride`-th variant; returns the number that ran.
static inline int run_case(bb_device *device, const kernel_case *kernel, const char *type,
                           bool specials, int first, int stride)
{
    autocall(fixture_release) program_fixture fixture;
    guarded memory[3][FIXTURE_OBJECTS];
    bb_program_data compiled[FIXTURE_OBJECTS];
    int ran = 0;
    fixture_make_file(&fixture, kernel->file, "T", kernel->type != NULL ? kernel->type : type);
    const int count = fixture.program.object_count;
    for (int i = 0; i < count; ++i) {
        const bb_element_type element = fixture.program.objects[i].type;
        const extents *sizes = kernel->objects;
        while (strcmp(sizes->object, fixture.program.objects[i].name) != 0) {
            ++sizes;
        }
        const bb_index elements = sizes->columns * sizes->rows;
        for (int k = 0; k < 3; ++k) {
            memory[k][i] = guarded_create((size_t)elements * bb_element_type_row(element)->bytes);
        }
        fixture_bind(&fixture, sizes->object, sizes->columns, sizes->rows,
                     memory[0][i].block + CANARY_BYTES);
        fill(element, memory[0][i].block + CANARY_BYTES, elements, i, specials);
    }
    fill_sparse(&fixture);
    for (int i = 0; i < fixture.program.parameter_count; ++i) {
        fixture.parameters[i] =
            (bb_scalar){{(double)kernel->parameters[i], 0.0}, kernel->parameters[i]};
    }
    for (int i = 0; i < count; ++i) {
        compiled[i] = fixture.data[i];
        compiled[i].elements = memory[1][i].block + CANARY_BYTES;
        memcpy(memory[2][i].block, memory[0][i].block, memory[0][i].bytes + 2 * CANARY_BYTES);
    }
    ran += run_variant(device, kernel, &fixture, compiled, memory, BY_PROGRAM);
    if (bb_device_kind_of(device) != BB_DEVICE_CPU) {
        ran += run_variant(device, kernel, &fixture, compiled, memory, BY_SIZES);
    }
    for (int number = first % stride; number < VARIANTS; number += stride) {
        ran += run_variant(device, kernel, &fixture, compiled, memory, number);
    }
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < 3; ++k) {
            free(memory[k][i].block);
        }
    }
    return ran;
}

static const kernel_case kernels[] = {
    {"configs/kernels/add.kernel", {{"A", 37, 11}, {"B", 37, 11}, {"C", 37, 11}}, {0}, NULL},
    {"configs/kernels/laplace5.kernel", {{"u", 33, 17}, {"v", 33, 17}}, {0}, NULL},
    {"configs/kernels/laplace9.kernel", {{"u", 5001, 3}, {"v", 5001, 3}}, {0}, NULL},
    {"configs/kernels/gemv.kernel", {{"A", 1000, 7}, {"b", 1000, 1}, {"c", 7, 1}}, {0}, NULL},
    {"configs/kernels/gemv.kernel", {{"A", 20001, 2}, {"b", 20001, 1}, {"c", 2, 1}}, {0}, NULL},
    {"configs/kernels/gemv.kernel", {{"A", 300001, 2}, {"b", 300001, 1}, {"c", 2, 1}}, {0}, NULL},
    {"configs/kernels/gemv_transposed.kernel",
     {{"A", 700, 1300}, {"b", 1300, 1}, {"c", 700, 1}},
     {0},
     NULL},
    {"configs/kernels/gemm.kernel", {{"A", 33, 21}, {"B", 45, 33}, {"C", 45, 21}}, {0}, NULL},
    {"configs/kernels/gemm.kernel", {{"A", 19, 67}, {"B", 131, 19}, {"C", 131, 67}}, {0}, NULL},
    {"configs/kernels/gemm.kernel", {{"A", 70, 67}, {"B", 131, 70}, {"C", 131, 67}}, {0}, NULL},
    {"configs/kernels/l2norm.kernel", {{"a", 30011, 1}, {"norm", 1, 1}}, {0}, NULL},
    {"configs/kernels/l2norm.kernel", {{"a", 0, 1}, {"norm", 1, 1}}, {0}, NULL},
    {"configs/kernels/max.kernel", {{"a", 9001, 1}, {"largest", 1, 1}}, {0}, NULL},
    {"configs/kernels/spmv.kernel",
     {{"row_start", 101, 1}, {"column", 878, 1}, {"value", 878, 1}, {"x", 50, 1}, {"y", 100, 1}},
     {0},
     NULL},
    {"tests/solvers/kernels/cases/started_rows.xml",
     {{"row_start", 101, 1}, {"column", 878, 1}, {"value", 878, 1}, {"x", 50, 1}, {"y", 100, 1}},
     {0},
     NULL},
    {"configs/kernels/sweep.kernel",
     {{"u", 41, 23}, {"f", 41, 23}, {"wx", 41, 23}, {"wy", 41, 23}},
     {1},
     NULL},
    {"configs/kernels/gradient.kernel",
     {{"wrapped", 41, 23}, {"wx", 41, 23}, {"gx", 41, 23}},
     {1},
     NULL},
    {"configs/kernels/restrict.kernel",
     {{"u", 41, 23}, {"f", 41, 23}, {"wx", 41, 23}, {"wy", 41, 23}, {"coarse", 21, 12}},
     {0},
     NULL},
    {"configs/kernels/prolong.kernel", {{"u", 41, 23}, {"coarse", 21, 12}}, {0}, NULL},
    {"configs/kernels/coarsen_x.kernel", {{"wx", 41, 23}, {"coarse", 21, 12}}, {0}, NULL},
    {"tests/solvers/kernels/cases/complex.kernel",
     {{"a", 1003, 1}, {"b", 1003, 1}, {"c", 1003, 1}, {"s", 1, 1}},
     {0},
     "SP2"},
    {"tests/solvers/kernels/cases/complex.kernel",
     {{"a", 1003, 1}, {"b", 1003, 1}, {"c", 1003, 1}, {"s", 1, 1}},
     {0},
     "DP2"},
    {"configs/kernels/gemv.kernel", {{"A", 1000, 7}, {"b", 1000, 1}, {"c", 7, 1}}, {0}, "SP2"},
    {"tests/solvers/kernels/cases/pairs.kernel",
     {{"a", 8193, 1}, {"b", 8193, 1}, {"d", 8193, 1}, {"c", 8193, 1}},
     {0},
     NULL},
    {"tests/solvers/kernels/cases/after.kernel",
     {{"u", 301, 1}, {"d", 301, 1}, {"c", 301, 1}},
     {0},
     NULL},
    {"tests/solvers/kernels/cases/skips.kernel", {{"u", 37, 23}, {"v", 37, 23}}, {0}, NULL},
    {"tests/solvers/kernels/cases/accumulate.kernel",
     {{"A", 20001, 5}, {"b", 20001, 1}, {"c", 5, 1}},
     {0},
     NULL},
    {"configs/kernels/coarsen_y.kernel", {{"wy", 41, 23}, {"coarse", 21, 12}}, {0}, NULL},
    {"configs/kernels/congruent.kernel", {{"wrapped", 41, 23}, {"phi", 41, 23}}, {0}, NULL},
    {"configs/kernels/fill.kernel", {{"a", 1003, 1}}, {3}, NULL},
    {"configs/kernels/copy.kernel", {{"a", 1003, 1}, {"b", 1003, 1}}, {0}, NULL},
    {"configs/kernels/scale.kernel", {{"a", 1003, 1}, {"b", 1003, 1}}, {3}, NULL},
};

/// Every kernel once, in SP or DP, half of them with special values, with a third of its variants;
/// on OpenCL, whose compiler is slow, a fourth of the kernels.
static inline void run_cases(bb_device *device)
{
    const bool is_slow = bb_device_kind_of(device) == BB_DEVICE_OPENCL;
    const bb_index stride = is_slow ? nightly_or(1, 4) : 1;
    const int every = is_slow ? 3 : (int)nightly_or(1, 3);
    const bb_index count = sizeof kernels / sizeof kernels[0];
    int ran = 0, tried = 0;
    for (bb_index i = 0; i < count; i += stride) {
        ++tried;
        ran += run_case(device, &kernels[i], i % 3 == 0 ? "DP" : "SP", i % 2 == 0, (int)i, every);
    }
    print_message("%d variants of %d cases of %td\n", ran, tried, count);
}

static void shipped_kernels_give_the_bits_of_the_evaluator(void **state)
{
    run_cases(*state);
}

/// Test program of all cases on the first device of a kind; skipped without such a device.
static inline int run_cases_on(bb_device_kind kind)
{
    autoclose(bb_device) device = NULL;
    const int absent = first_device_open(kind, &device);
    if (absent != 0) {
        return absent;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(shipped_kernels_give_the_bits_of_the_evaluator, device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}

#endif

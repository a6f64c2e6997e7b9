// SPDX-License-Identifier: Apache-2.0
//
// Default GPU variants by the sizes of a launch. The number next to each row of benchmark data is
// its time over that of the fastest variant found by the tuner, on an H200 (docs/lab/kernels.md,
// 12).
#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/tuning/tuning.h"
#include "tests/solvers/kernels/manager_program.h"

// Sizes of a set, by object; elements are not needed.
static void set_sizes(program_fixture *fixture, const bb_benchmark_set *set)
{
    for (int i = 0; i < fixture->program.object_count; ++i) {
        const bb_benchmark_object *object =
            bb_kernel_manager_object(set, fixture->program.objects[i].name);
        assert_non_null(object);
        fixture->data[i] = (bb_program_data){object->columns, object->rows, NULL};
    }
}

static bb_choice default_of(program_fixture *fixture, bb_device_kind kind)
{
    autorelease(bb_binding) sizes = {.program = NULL};
    check_ok(bb_binding_create_sizes(&fixture->program, fixture->data, NULL, &sizes));
    const bb_choice choice = bb_choice_default_gpu(kind, &sizes);
    return choice;
}

static void check_variant(program_fixture *fixture, const char *name, const char *expected)
{
    char text[BB_CHOICE_TEXT_BYTES];
    const bb_choice choice = default_of(fixture, BB_DEVICE_CUDA);
    const bb_choice other = default_of(fixture, BB_DEVICE_OPENCL);
    bb_choice_write(&choice, text);
    if (strcmp(text, expected) != 0) {
        fail_msg("%s: %s, expected %s", name, text, expected);
    }
    assert_true(bb_choice_equal(&choice, &other));
}

// clang-format off
static const struct {
    const char *kernel, *type;
    const char *variants[3]; // of the sets seed, large and odd
} rows[] = {
    {"add", "SP", {"group32x8-points4", "group32x8-points4", "group32x8"}},                   // 1.08 1.00
    {"laplace5", "SP", {"group64x4-points4-blocked", "group64x4-points4-rows2-blocked", "group32x8"}}, // 1.05 1.00
    {"laplace9", "SP", {"group64x4-points4-blocked", "group64x4-points4-rows2-blocked", "group32x8"}}, // 1.00 1.06
    {"laplace9", "DP",
     {"group64x4-points2-rows2-blocked", "group64x4-points2-rows2-blocked", "group32x8"}},    // 1.03 1.06
    {"l2norm", "SP", {"group128x1-blocked", "group128x1-blocked", "group128x1-blocked"}},     // 1.00 1.00 1.06
    {"max", "DP", {"group128x1-blocked", "group128x1-blocked", "group128x1-blocked"}},        // 1.02 1.00 1.13
    {"gemv", "SP", {"group32x4-blocked", "group32x4-blocked", "group64x2-blocked-split"}},    // 1.00 1.10 1.00
    {"gemv", "DP", {"group32x4-blocked", "group32x4-blocked", "group64x2-blocked-split"}},    // 1.00 1.09
    {"gemv-transposed", "DP",
     {"group256x1-points2-split", "group256x1-points2-split", "group256x1-points2-split"}},   // 1.03 1.01 1.02
    {"gemv-mixed", "SP", {"group64x2-blocked-split", "group32x4-blocked", "group32x4-blocked"}},       // 1.00 1.04 1.00
    {"gemm", "SP",
     {"group16x16-points4-rows8-local", "group16x16-points4-rows8-local", "group16x8-points4-local"}}, // 1.03 1.13 1.03
    {"gemm", "DP",
     {"group16x16-points4-rows8-local", "group16x16-points4-rows8-local", "group16x8-points4-local"}}, // 1.00 1.12 1.00
    {"spmv", "SP", {"group4x32-blocked", "group4x32-blocked", "group1x128-blocked"}},         // 1.08 1.03 1.03
    {"spmv", "DP", {"group4x32-blocked", "group4x32-blocked", "group1x128-blocked"}},         // 1.02 1.00 1.03
};
// clang-format on

TEST(benchmark_data_have_their_variants)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const bb_kernel_manager *manager = manager_of(rows[i].kernel);
        autocall(fixture_release) program_fixture fixture;
        make_manager(&fixture, manager, rows[i].type);
        for (int set = 0; set < 3; ++set) {
            char name[80];
            (void)snprintf(name, sizeof name, "%s %s, set %s", rows[i].kernel, rows[i].type,
                           manager->sets[set].name);
            set_sizes(&fixture, &manager->sets[set]);
            check_variant(&fixture, name, rows[i].variants[set]);
        }
    }
}

static void check_sound(const bb_kernel_manager *manager, program_fixture *fixture,
                        bb_device_kind kind)
{
    const bb_candidate_wish wish = {.group_items = 0};
    char why[160] = "";
    autorelease(bb_candidates) list = new_struct(bb_candidates, kind, &fixture->program, &wish);
    for (int set = 0; set < BB_BENCHMARK_COUNT; ++set) {
        bool is_tried = set == BB_BENCHMARK_SMALL;
        set_sizes(fixture, &manager->sets[set]);
        const bb_choice choice = default_of(fixture, kind);
        for (int i = 0; i < list.count; ++i) {
            is_tried = is_tried || bb_choice_equal(&list.choices[i], &choice);
        }
        if (!bb_choice_is_legal(&choice, kind, &fixture->program, why, sizeof why) || !is_tried ||
            choice.order.lanes != 0) {
            fail_msg("%s, set %s: %s", manager->name, manager->sets[set].name,
                     is_tried ? why : "the tuner does not try it");
        }
    }
}

// Legal, in the kernel's order of sums, and among the variants that the tuner compares.
TEST(variants_are_sound)
{
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    for (int i = 0; i < count; ++i) {
        autocall(fixture_release) program_fixture fixture;
        make_manager(&fixture, &managers[i], i % 2 == 0 ? "SP" : "DP");
        check_sound(&managers[i], &fixture, BB_DEVICE_CUDA);
        check_sound(&managers[i], &fixture, BB_DEVICE_OPENCL);
    }
}

static void check_product(const char *type, bb_index columns, bb_index items, bb_index lines,
                          const char *expected)
{
    autocall(fixture_release) program_fixture fixture;
    make_manager(&fixture, manager_of("gemm"), type);
    fixture_bind(&fixture, "A", items, lines, NULL);
    fixture_bind(&fixture, "B", columns, items, NULL);
    fixture_bind(&fixture, "C", columns, lines, NULL);
    check_variant(&fixture, type, expected);
}

// Two products in one kernel need twice the boxes: in fp64 the same number of rows would need 52
// KiB.
TEST(boxes_of_two_products_fit_local_memory)
{
    static const char text[] =
        "kernel TWO (A, B, C, D, E: matrix T)\n"
        "for column in C.columns, row in C.rows\n"
        "  s = sum (k in A.columns) A[k, row] * B[column, k] - D[k, row] * E[column, k]\n"
        "  C[column, row] = s\n";
    static const bb_type_binding types[] = {{"T", "DP"}};
    static const char *const objects[] = {"A", "B", "C", "D", "E"};
    autocall(fixture_release) program_fixture fixture = {.data = {{0}}};
    check_ok(bb_notation_reader_read(text, (bb_index)strlen(text), "two.kernel", &fixture.problems,
                                     &fixture.description));
    check_ok(
        bb_program_create(&fixture.description, types, 1, &fixture.problems, &fixture.program));
    for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) {
        fixture_bind(&fixture, objects[i], 1024, 1024, NULL);
    }
    check_variant(&fixture, "two products", "group16x16-points4-rows4-local");
}

// Enough work-groups for all processors have priority; boxes of complex matrices fit local memory.
TEST(products_by_size)
{
    check_product("SP", 1024, 7, 1024, "group16x16-points4-rows8-local");
    check_product("SP", 1024, 7, 1023, "group16x8-points4-rows8-local");
    check_product("SP", 512, 4096, 512, "group16x8-points4-rows4-local");
    check_product("SP", 64, 64, 64, "group16x8-local");
    check_product("DP2", 4096, 64, 4096, "group16x16-points4-rows4-local");
}

static void check_product_by_vector(bb_index columns, bb_index lines, const char *expected)
{
    autocall(fixture_release) program_fixture fixture;
    make_manager(&fixture, manager_of("gemv"), "SP");
    fixture_bind(&fixture, "A", columns, lines, NULL);
    fixture_bind(&fixture, "b", columns, 1, NULL);
    fixture_bind(&fixture, "c", lines, 1, NULL);
    check_variant(&fixture, "gemv", expected);
}

// Chunks of 8192 columns become work-groups if 32 work-items per row do not fill the device (2^18
// work-items). If fewer work-items per row fill it, each adds 8 columns.
TEST(long_sums_are_split)
{
    check_product_by_vector(8192, 8, "group32x4-blocked");
    check_product_by_vector(8193, 8, "group64x2-blocked-split");
    check_product_by_vector(8193, 8191, "group64x2-blocked-split");
    check_product_by_vector(8193, 8192, "group32x4-blocked");
    check_product_by_vector(255, 16384, "group16x8-blocked");
    check_product_by_vector(255, 16383, "group32x4-blocked"); // few points
    check_product_by_vector(1, 65536, "group8x16-blocked");   // at most 16 lanes per work-item
    check_product_by_vector(0, 0, "group32x4-blocked");
}

// Fewer points per work-item if the GPU is not full: 2^20 work-items.
TEST(stencils_by_size)
{
    static const struct {
        bb_index side;
        const char *variant;
    } sides[] = {{8192, "group64x4-points4-rows2-blocked"},
                 {2897, "group64x4-points4-rows2-blocked"},
                 {2896, "group64x4-points4-blocked"},
                 {2047, "group64x4-points2-blocked"},
                 {1448, "group32x8"}};
    autocall(fixture_release) program_fixture fixture;
    make_manager(&fixture, manager_of("laplace5"), "SP");
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; ++i) {
        fixture_bind(&fixture, "u", sides[i].side, sides[i].side, NULL);
        fixture_bind(&fixture, "v", sides[i].side, sides[i].side, NULL);
        check_variant(&fixture, "laplace5", sides[i].variant);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// The products by hand, on numbers where each rounding shows.
#include "solvers/tile_product.h"
#include "tests/solvers/dense.h"

static float product_of(bb_variant variant, bb_index depth, float *a, float *b, float c,
                        bb_index accumulate_k)
{
    bb_tile_workspace workspace;
    bb_tile left = {.variant = BB_VARIANT_SP, .rows = 1, .columns = depth, .f32 = a};
    bb_tile right = {.variant = BB_VARIANT_SP, .rows = 1, .columns = depth, .f32 = b};
    bb_tile out = {.variant = variant, .rows = 1, .columns = 1, .f32 = &c};
    float a_operand[4], b_operand[4];
    check_ok(bb_tile_workspace_create(depth, accumulate_k, &workspace));
    bb_tile_convert(&left, bb_variant_describe(variant)->operand, a_operand);
    bb_tile_convert(&right, bb_variant_describe(variant)->operand, b_operand);
    bb_tile_product(a_operand, b_operand, depth, &out, &workspace);
    bb_tile_workspace_release(&workspace);
    return c;
}

// 1 + 2^-11 is halfway between two fp16 numbers and goes to the even one, 1.
static void operands_are_rounded(void **state)
{
    (void)state;
    float a[1] = {1.0F + 0x1p-11F};
    float b[1] = {1.0F};
    assert_true(product_of(BB_VARIANT_SP, 1, a, b, 0.0F, 4) == -(1.0F + 0x1p-11F));
    assert_true(product_of(BB_VARIANT_HP1, 1, a, b, 0.0F, 4) == -1.0F);
    assert_true(product_of(BB_VARIANT_TF32, 1, a, b, 0.0F, 4) == -1.0F);
    a[0] = 1.0F + 0x1p-8F; // bf16 ties to even
    assert_true(product_of(BB_VARIANT_BF16, 1, a, b, 0.0F, 4) == -1.0F);
}

// 2^-12 from 1: fp32 output keeps it, fp16 output does not.
static void output_is_rounded(void **state)
{
    (void)state;
    float a[1] = {0x1p-6F};
    float b[1] = {0x1p-6F};
    assert_true(product_of(BB_VARIANT_HP1, 1, a, b, 1.0F, 4) == 1.0F - 0x1p-12F);
    assert_true(product_of(BB_VARIANT_HP2, 1, a, b, 1.0F, 4) == 1.0F);
}

// 1 + 2^-11 + 2^-11: each half step alone ties to 1, so only a run of three sees both.
static void fp16_accumulator_is_rounded_every_run(void **state)
{
    (void)state;
    float a[3] = {1.0F, 0x1p-11F, 0x1p-11F};
    float b[3] = {1.0F, 1.0F, 1.0F};
    assert_true(product_of(BB_VARIANT_HP3, 3, a, b, 0.0F, 1) == -1.0F);
    assert_true(product_of(BB_VARIANT_HP3, 3, a, b, 0.0F, 2) == -1.0F);
    assert_true(product_of(BB_VARIANT_HP3, 3, a, b, 0.0F, 3) == -(1.0F + 0x1p-10F));
    assert_true(product_of(BB_VARIANT_HP2, 3, a, b, 0.0F, 1) == -(1.0F + 0x1p-10F));
}

static void fp16_accumulator_overflows_to_infinity(void **state)
{
    (void)state;
    float a[2] = {60000.0F, 60000.0F};
    float b[2] = {1.0F, 1.0F};
    assert_true(product_of(BB_VARIANT_HP3, 2, a, b, 0.0F, 4) == -INFINITY);
    assert_true(product_of(BB_VARIANT_HP1, 2, a, b, 0.0F, 4) == -120000.0F);
}

static void tiles_of_every_format_count_their_true_bytes(void **state)
{
    (void)state;
    bb_tile_plan plan = {.tile_size = 10, .arithmetic = BB_VARIANT_HP2};
    // 25 = 10 + 10 + 5: diagonal in fp32, the rest in fp16.
    size_t diagonal = 4 * (100 + 100 + 25);
    size_t below = 2 * (100 + 50 + 50);
    assert_int_equal(bb_tile_plan_bytes(&plan, 25), diagonal + below);
    plan.arithmetic = BB_VARIANT_DP;
    assert_int_equal(bb_tile_plan_bytes(&plan, 25), 8 * (225 + 200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_rounded),
        cmocka_unit_test(output_is_rounded),
        cmocka_unit_test(fp16_accumulator_is_rounded_every_run),
        cmocka_unit_test(fp16_accumulator_overflows_to_infinity),
        cmocka_unit_test(tiles_of_every_format_count_their_true_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

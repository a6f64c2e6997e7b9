// SPDX-License-Identifier: Apache-2.0
//
// Products by hand, with numbers that show each rounding.
#include "solvers/factor/tiles/tile_product.h"
#include "tests/solvers/dense.h"

static float product_of(bb_variant variant, bb_index depth, float *a, float *b, float c,
                        bb_index accumulate_k)
{
    autorelease(bb_tile_workspace) workspace;
    bb_tile row_tile = {
        .variant = BB_VARIANT_SP, .format = BB_FORMAT_FP32, .rows = 1, .columns = depth, .f32 = a};
    bb_tile column_tile = {
        .variant = BB_VARIANT_SP, .format = BB_FORMAT_FP32, .rows = 1, .columns = depth, .f32 = b};
    bb_tile out = {
        .variant = variant, .format = BB_FORMAT_FP32, .rows = 1, .columns = 1, .f32 = &c};
    float a_operand[8], b_operand[8];
    check_ok(bb_tile_workspace_create(depth, accumulate_k, false, &workspace));
    (void)bb_tile_convert(&row_tile, bb_tile_operand_of(variant), a_operand);
    (void)bb_tile_convert(&column_tile, bb_tile_operand_of(variant), b_operand);
    bb_tile_product(variant, a_operand, b_operand, depth, &out, &workspace);
    return c;
}

// 1 + 2^-11 is halfway between two fp16 numbers and rounds to the even one, 1.
TEST(operands_are_rounded)
{
    float a[1] = {1.0F + 0x1p-11F};
    float b[1] = {1.0F};
    assert_true(product_of(BB_VARIANT_SP, 1, a, b, 0.0F, 4) == -(1.0F + 0x1p-11F));
    assert_true(product_of(BB_VARIANT_HP1, 1, a, b, 0.0F, 4) == -1.0F);
    assert_true(product_of(BB_VARIANT_TF32, 1, a, b, 0.0F, 4) == -1.0F);
    a[0] = 1.0F + 0x1p-8F; // bf16 ties to even
    assert_true(product_of(BB_VARIANT_BF16, 1, a, b, 0.0F, 4) == -1.0F);
}

// 2^-12 above 1: fp32 output represents it, fp16 output does not.
TEST(output_is_rounded)
{
    float a[1] = {0x1p-6F};
    float b[1] = {0x1p-6F};
    assert_true(product_of(BB_VARIANT_HP1, 1, a, b, 1.0F, 4) == 1.0F - 0x1p-12F);
    assert_true(product_of(BB_VARIANT_HP2, 1, a, b, 1.0F, 4) == 1.0F);
}

// 1 + 2^-11 + 2^-11: each half-spacing addend alone ties to 1; only a run of three adds both.
TEST(fp16_accumulator_is_rounded_every_run)
{
    float a[3] = {1.0F, 0x1p-11F, 0x1p-11F};
    float b[3] = {1.0F, 1.0F, 1.0F};
    assert_true(product_of(BB_VARIANT_HP3, 3, a, b, 0.0F, 1) == -1.0F);
    assert_true(product_of(BB_VARIANT_HP3, 3, a, b, 0.0F, 2) == -1.0F);
    assert_true(product_of(BB_VARIANT_HP3, 3, a, b, 0.0F, 3) == -(1.0F + 0x1p-10F));
    assert_true(product_of(BB_VARIANT_HP2, 3, a, b, 0.0F, 1) == -(1.0F + 0x1p-10F));
}

TEST(fp16_accumulator_overflows_to_infinity)
{
    float a[2] = {60000.0F, 60000.0F};
    float b[2] = {1.0F, 1.0F};
    assert_true(product_of(BB_VARIANT_HP3, 2, a, b, 0.0F, 4) == -INFINITY);
    assert_true(product_of(BB_VARIANT_HP1, 2, a, b, 0.0F, 4) == -120000.0F);
}

// 1 + 2^-11 = 1 + 2^-11 1 in planes. For 1 + 2^-12 + 2^-23, hi = 1 and lo = 1/2 + 2^-12 ties to
// 1/2, so 2^-23 is lost. The product lo lo^T is omitted.
TEST(split_operands_keep_two_planes)
{
    float a[1] = {1.0F + 0x1p-11F};
    float b[1] = {1.0F};
    assert_true(product_of(BB_VARIANT_X3, 1, a, b, 0.0F, 4) == -(1.0F + 0x1p-11F));
    b[0] = 1.0F + 0x1p-11F;
    assert_true(product_of(BB_VARIANT_X3, 1, a, b, 0.0F, 4) == -(1.0F + 0x1p-10F));
    a[0] = 1.0F + 0x1p-12F + 0x1p-23F;
    b[0] = 1.0F;
    assert_true(product_of(BB_VARIANT_X3, 1, a, b, 0.0F, 4) == -(1.0F + 0x1p-12F));
}

// The planes represent a to 2^-23 |a|, and rounding to them again changes nothing.
TEST(planes_hold_23_bits)
{
    enum { N = 4096 };
    float values[N], first[N];
    bb_tile tile = {
        .variant = BB_VARIANT_X3, .format = BB_FORMAT_FP32, .rows = 1, .columns = N, .f32 = first};
    for (bb_index i = 0; i < N; ++i) {
        values[i] = (float)bb_random_normal(3, BB_STREAM_SELF_TEST, (uint64_t)i);
        first[i] = values[i];
    }
    bb_tile_round_to_planes(&tile);
    for (bb_index i = 0; i < N; ++i) {
        check_close(first[i], values[i], 0x1p-23, fabs(values[i]) + 0x1p-14);
        values[i] = first[i];
    }
    bb_tile_round_to_planes(&tile);
    assert_memory_equal(values, first, sizeof values);
}

// 448 / 3 = 149.3: the scale is 128, and 1.1 x 128 = 140.8 rounds to 144 with spacing 16.
TEST(fp8_operands_are_scaled_by_a_power_of_two)
{
    float a[2] = {3.0F, 1.1F};
    float b[2] = {0.0F, 1.0F};
    assert_true(product_of(BB_VARIANT_FP8, 2, a, b, 0.0F, 4) == -1.125F);
    a[0] = 3e-9F;
    a[1] = 1.1e-9F;
    float value = product_of(BB_VARIANT_FP8, 2, a, b, 0.0F, 4);
    check_relative(value, -1.1e-9F, 0x1p-4);
    a[0] = INFINITY; // clipped, and counted
    bb_tile tile = {.format = BB_FORMAT_FP32, .rows = 1, .columns = 2, .f32 = a};
    float copy[2];
    assert_int_equal(bb_tile_convert(&tile, BB_FORMAT_E4M3, copy), 1);
}

// The largest value maps to (224, 448], so nothing saturates, and values 2^15 below it keep three
// subnormal bits. 3.5 x 128 = 448; one ulp more uses scale 64; 1.75 x 256 = 448. At these scales
// the smallest subnormal, 2^-9, is 2^-16, 2^-15 and 2^-17.
TEST(fp8_scales_reach_the_top_of_the_format)
{
    const struct {
        float largest, kept, expected_kept;
    } cases[] = {
        {3.5F, 3.0F * 0x1p-16F, 3.0F * 0x1p-16F},
        {3.5F + 0x1p-22F, 3.0F * 0x1p-16F, 4.0F * 0x1p-16F}, // 1.5 steps tie to 2
        {1.75F, 3.0F * 0x1p-17F, 3.0F * 0x1p-17F},
        {1.75F + 0x1p-23F, 3.0F * 0x1p-17F, 4.0F * 0x1p-17F},
        {-3.5F * 0x1p-40F, 3.0F * 0x1p-56F, 3.0F * 0x1p-56F},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        float values[2] = {cases[k].largest, cases[k].kept};
        float copy[2];
        bb_tile tile = {.format = BB_FORMAT_FP32, .rows = 1, .columns = 2, .f32 = values};
        assert_int_equal(bb_tile_convert(&tile, BB_FORMAT_E4M3, copy), 0);
        check_relative(copy[0], cases[k].largest, 0x1p-4);
        assert_true(copy[1] == cases[k].expected_kept);
    }
}

TEST(tiles_of_every_format_count_their_true_bytes)
{
    bb_tile_plan plan = {.tile_size = 10, .arithmetic = BB_VARIANT_HP2};
    // 25 = 10 + 10 + 5: diagonal in fp32, the rest in fp16.
    size_t diagonal = 4 * (100 + 100 + 25);
    size_t below = 2 * (100 + 50 + 50);
    assert_int_equal(bb_tile_plan_bytes(&plan, 25), diagonal + below);
    plan.policy.diagonal = BB_POLICY_FOLLOW; // of the updates; the tile remains in fp32
    assert_int_equal(bb_tile_plan_bytes(&plan, 25), diagonal + below);
    plan.arithmetic = BB_VARIANT_X3; // two fp16 planes
    assert_int_equal(bb_tile_plan_bytes(&plan, 25), diagonal + 2 * below);
    plan.arithmetic = BB_VARIANT_DP;
    assert_int_equal(bb_tile_plan_bytes(&plan, 25), 8 * (225 + 200));
}

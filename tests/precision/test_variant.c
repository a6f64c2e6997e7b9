// SPDX-License-Identifier: Apache-2.0
#include "precision/variant.h"
#include "tests/check.h"

// Table I of the tomographic-reconstructor paper, and the order of the names.
TEST(variants_have_the_bits_of_the_table)
{
    const struct {
        bb_variant variant;
        const char *name;
        bb_format operand, accumulator, output;
    } rows[] = {
        {BB_VARIANT_DP, "dp", BB_FORMAT_FP64, BB_FORMAT_FP64, BB_FORMAT_FP64},
        {BB_VARIANT_SP, "sp", BB_FORMAT_FP32, BB_FORMAT_FP32, BB_FORMAT_FP32},
        {BB_VARIANT_HP1, "hp1", BB_FORMAT_FP16, BB_FORMAT_FP32, BB_FORMAT_FP32},
        {BB_VARIANT_HP2, "hp2", BB_FORMAT_FP16, BB_FORMAT_FP32, BB_FORMAT_FP16},
        {BB_VARIANT_HP3, "hp3", BB_FORMAT_FP16, BB_FORMAT_FP16, BB_FORMAT_FP16},
        {BB_VARIANT_X3, "x3", BB_FORMAT_FP16, BB_FORMAT_FP32, BB_FORMAT_FP32},
        {BB_VARIANT_FP8, "fp8", BB_FORMAT_E4M3, BB_FORMAT_FP32, BB_FORMAT_FP32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const bb_variant_info *info = bb_variant_describe(rows[i].variant);
        assert_string_equal(info->name, rows[i].name);
        assert_int_equal(info->operand, rows[i].operand);
        assert_int_equal(info->accumulator, rows[i].accumulator);
        assert_int_equal(info->output, rows[i].output);
    }
    for (int i = 0; i < BB_VARIANT_COUNT; ++i) {
        assert_string_equal(bb_variant_describe((bb_variant)i)->name, bb_variant_names[i]);
    }
    assert_null(bb_variant_names[BB_VARIANT_COUNT]);
}

// Cost of a variant by the products that actually run: fp8's run in bf16, x3 needs three of hp1's.
TEST(what_runs_is_what_is_priced)
{
    double shares[BB_VARIANT_COUNT] = {0.0};
    assert_true(bb_variant_describe(BB_VARIANT_FP8)->rate ==
                bb_variant_describe(BB_VARIANT_BF16)->rate);
    assert_true(3.0 * bb_variant_describe(BB_VARIANT_X3)->rate <
                bb_variant_describe(BB_VARIANT_HP1)->rate);
    shares[BB_VARIANT_SP] = 0.25;
    shares[BB_VARIANT_HP1] = 0.75;
    check_relative(bb_variant_relative_cost(shares), 0.25 + 0.75 * 53.0 / 714.0, 1e-15);
}

// The storage of a row's panels on a device matches its formats, and the chain of fallbacks ends in
// dp.
TEST(panels_fit_the_formats)
{
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_variant_info *info = bb_variant_describe((bb_variant)v);
        const bool wide = info->output == BB_FORMAT_FP64;
        const bool half = info->operand == BB_FORMAT_FP16;
        assert_int_equal(info->panels == BB_VARIANT_PANELS_FP64, wide);
        assert_int_equal(info->panels == BB_VARIANT_PANELS_HALVES, half);
        assert_int_equal(info->panels == BB_VARIANT_PANELS_NARROWED, info->rounds && !half);
        assert_true(wide || half || info->output == BB_FORMAT_FP32);
        assert_int_equal(info->rounds, half || info->operand == BB_FORMAT_TF32 ||
                                           info->operand == BB_FORMAT_BF16 ||
                                           info->operand == BB_FORMAT_E4M3);
        assert_int_equal(bb_variant_mixes((bb_variant)v), half || v == BB_VARIANT_SP);
        assert_int_equal(bb_variant_describe(bb_variant_describe(info->next)->next)->next,
                         BB_VARIANT_DP);
        assert_int_equal(info->next == (bb_variant)v, wide);
    }
}

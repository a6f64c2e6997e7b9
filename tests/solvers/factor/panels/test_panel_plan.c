// SPDX-License-Identifier: Apache-2.0
//
// Memory plans of factorizations by panels, without a GPU. The 21.06 and 11.50 GB of n = 98,304 in
// panels of 1024 are 21.45 and 11.89 GB less 94 of the 96 inverses; an H200 allocated 21.46 and
// 11.89 GB (docs/lab/performance.md).
#include "solvers/factor/panels/panel_plan.h"
#include "tests/check.h"

static bb_panel_plan plan_of(bb_index n, bb_index block, bb_variant arithmetic)
{
    return (bb_panel_plan){.n = n, .block = block, .arithmetic = arithmetic};
}

TEST(the_figures_of_the_benchmarks)
{
    bb_panel_plan plan = plan_of(98304, 1024, BB_VARIANT_HP1);
    assert_int_equal((bb_index)bb_panel_plan_need(&plan, 1).device_bytes, 21059060240);
    assert_int_equal((bb_index)bb_panel_plan_factor_bytes(&plan), 19528679424);
    plan.diagonal_follows = true;
    assert_int_equal((bb_index)bb_panel_plan_need(&plan, 1).device_bytes, 11496047120);
    assert_int_equal((bb_index)bb_panel_plan_factor_bytes(&plan), 9965666304);
    plan = plan_of(98304, 1024, BB_VARIANT_X3);
    assert_int_equal((bb_index)bb_panel_plan_need(&plan, 1).device_bytes, 21059060240);
}

// `sides` rows: planes of all columns, one fp32 panel, and a scale.
TEST(right_hand_sides_are_shared_by_the_gpus)
{
    bb_panel_plan plan = plan_of(8192, 512, BB_VARIANT_X3);
    const double alone = bb_panel_plan_need(&plan, 1).device_bytes;
    const double shared = bb_panel_plan_need(&plan, 4).device_bytes;
    plan.sides = 1000;
    check_close(bb_panel_plan_need(&plan, 1).device_bytes - alone,
                1000.0 * (2.0 * 2.0 * 8192.0 + 4.0 * 512.0 + 4.0), 0.5, 1.0);
    // A third guest row in two planes, and two blocks to substitute with.
    check_close(bb_panel_plan_need(&plan, 4).device_bytes - shared,
                250.0 * (2.0 * 2.0 * 8192.0 + 4.0 * 512.0 + 4.0) + 4.0 * 512.0 * 8192.0 +
                    2.0 * 4.0 * 512.0 * 512.0,
                0.5, 1.0);
    // Rows are padded with zeros to a multiple of 128.
    plan.sides = 5;
    check_close(bb_panel_plan_need(&plan, 1).device_bytes - alone,
                128.0 * (2.0 * 2.0 * 8192.0 + 4.0 * 512.0 + 4.0), 0.5, 1.0);
}

// 99 block rows: 50 on one GPU, 49 on the other. Two panels in work, split planes, half of the
// diagonal blocks and their scale; guests: two rows in one plane and two inverses.
TEST(block_rows_are_shared_by_the_gpus)
{
    const double block = 1024.0 * 1024.0;
    const bb_panel_plan plan = plan_of(100368, 1024, BB_VARIANT_HP1);
    const double one = bb_panel_plan_need(&plan, 1).device_bytes;
    const double two = bb_panel_plan_need(&plan, 2).device_bytes;
    check_close(one - two,
                4.0 * block * (4900.0 - 2450.0) + 49.0 * (block * (4.0 + 8.0 + 4.0) + 4096.0) -
                    2.0 * 99.0 * 2.0 * block - 2.0 * 4.0 * block,
                0.5, 1.0);
    assert_true(two < 0.55 * one);
    // As many GPUs as block rows, and more: no part has a negative size.
    const bb_panel_plan small = plan_of(700, 256, BB_VARIANT_SP);
    assert_true(bb_panel_plan_need(&small, 8).device_bytes > 2e8);
}

// fp16 throughout for n = 300,000 on two GPUs of 80 GB, with 4000 rows of B: 90 GB of L in total.
TEST(a_triangle_too_large_for_one_is_shared)
{
    bb_panel_plan plan = plan_of(300000, 1024, BB_VARIANT_HP1);
    plan.diagonal_follows = true;
    plan.sweeps = BB_POLICY_SWEEPS_FOLLOW;
    plan.sides = 4000;
    assert_true(bb_panel_plan_factor_bytes(&plan) > 90e9);
    assert_true(bb_panel_plan_need(&plan, 1).device_bytes > 95e9);
    assert_true(bb_panel_plan_need(&plan, 2).device_bytes < 55e9);
}

// L of 80 GB in two planes in host memory. On the GPU: 16 panels in work, the strip, 16 guest rows
// in two planes, two chunks of 4 block rows, and one panel's buffers.
TEST(a_swapped_triangle_leaves_the_gpu)
{
    const double blocks = 196.0; // of 1024 rows
    const double block = 1024.0 * 1024.0;
    bb_panel_plan plan = plan_of(200000, 1024, BB_VARIANT_HP1);
    assert_true(bb_panel_plan_need(&plan, 1).device_bytes > 80e9);
    assert_true(bb_panel_plan_need(&plan, 1).host_bytes == 0.0);
    const double panel = bb_panel_plan_need(&plan, 1).device_bytes -
                         2.0 * 2.0 * block * blocks * (blocks - 1.0) / 2.0 -
                         2.0 * 4.0 * block * blocks;
    plan.swapped = true;
    check_close(bb_panel_plan_need(&plan, 1).device_bytes,
                panel + block * blocks * (16.0 * (4.0 + 4.0 + 4.0) + 2.0 * 4.0 * 2.0), 0.5, 1.0);
    check_close(bb_panel_plan_need(&plan, 1).host_bytes,
                2.0 * 2.0 * block * blocks * (blocks - 1.0) / 2.0, 0.5, 1.0);
    assert_true(bb_panel_plan_need(&plan, 1).device_bytes < 60e9);
}

// L goes to host memory if one GPU cannot hold it and swapping needs less GPU memory.
TEST(a_limit_swaps_what_can_be)
{
    bb_panel_plan plan = plan_of(200000, 1024, BB_VARIANT_HP1);
    bb_panel_plan_place(&plan, 1, 0.0);
    assert_false(plan.swapped);
    bb_panel_plan_place(&plan, 1, bb_panel_plan_need(&plan, 1).device_bytes);
    assert_false(plan.swapped);
    bb_panel_plan_place(&plan, 2, 70e9);
    assert_false(plan.swapped);
    bb_panel_plan_place(&plan, 1, 70e9);
    assert_true(plan.swapped);
    plan.swapped = false;
    bb_panel_plan_place(&plan, 1, 30e9); // not enough, but less
    assert_true(plan.swapped);
    plan = plan_of(50000, 1024, BB_VARIANT_HP1); // panels in work are larger than L
    bb_panel_plan_place(&plan, 1, 1e9);
    assert_false(plan.swapped);
    plan = plan_of(200000, 1024, BB_VARIANT_SP);
    bb_panel_plan_place(&plan, 1, 70e9);
    assert_false(plan.swapped);
}

TEST(a_host_without_room_is_told)
{
    bb_panel_plan plan = plan_of(200000, 1024, BB_VARIANT_HP1);
    check_ok(bb_panel_plan_check_host(&plan, 0.0)); // L is on the GPU
    plan.swapped = true;
    const double needed = bb_panel_plan_need(&plan, 1).host_bytes;
    check_ok(bb_panel_plan_check_host(&plan, needed));
    check_fails(bb_panel_plan_check_host(&plan, 0.5 * needed), BB_MEMORY,
                "L of n = 200000 needs 80.2 GB of pinned memory, but this machine has "
                "40.1 GB");
}

TEST(what_cannot_be_swapped_is_refused)
{
    bb_panel_arithmetic arithmetic;
    bb_panel_plan plan = plan_of(10000, 1024, BB_VARIANT_SP);
    plan.swapped = true;
    assert_int_equal(bb_panel_arithmetic_of(&plan, &arithmetic), BB_UNSUPPORTED);
    assert_non_null(strstr(bb_status_message(), "L of sp in host memory"));
    plan = plan_of(10000, 640, BB_VARIANT_HP1);
    plan.swapped = true;
    check_fails(bb_panel_arithmetic_of(&plan, &arithmetic), BB_UNSUPPORTED, "panels of 640");
    static const bb_index wrong[] = {-64, 3, 100, 515};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        plan = plan_of(3000, 128, BB_VARIANT_HP1);
        plan.run = wrong[i];
        assert_int_equal(bb_panel_arithmetic_of(&plan, &arithmetic), BB_INVALID);
    }
    plan.run = 576; // fewer than four chunks
    plan.swapped = true;
    assert_int_equal(bb_panel_arithmetic_of(&plan, &arithmetic), BB_UNSUPPORTED);
}

// Sweeps in one product keep all inverses; others keep two.
TEST(inverses_are_kept_for_sweeps)
{
    bb_panel_plan plan = plan_of(8192, 512, BB_VARIANT_HP1);
    const double without = bb_panel_plan_need(&plan, 1).device_bytes;
    plan.sides = 1000;
    check_close(bb_panel_plan_need(&plan, 1).device_bytes - without,
                1000.0 * (2.0 * 2.0 * 8192.0 + 4.0 * 512.0 + 4.0) + 14.0 * 4.0 * 512.0 * 512.0, 0.5,
                1.0);
}

TEST(a_wide_format_keeps_one_array)
{
    const bb_panel_plan dp = plan_of(4096, 256, BB_VARIANT_DP);
    const bb_panel_plan sp = plan_of(4096, 256, BB_VARIANT_SP);
    const bb_panel_plan tf32 = plan_of(4096, 256, BB_VARIANT_TF32);
    check_close(bb_panel_plan_factor_bytes(&dp), 2.0 * bb_panel_plan_factor_bytes(&sp), 0.5, 1.0);
    check_close(bb_panel_plan_need(&tf32, 1).device_bytes, bb_panel_plan_need(&sp, 1).device_bytes,
                0.5, 1.0);
}

// Rows of B keep their size, in two planes; a block row of L needs two more planes.
TEST(split_sweeps_keep_planes_of_a_block_row)
{
    bb_panel_plan plan = plan_of(4096, 256, BB_VARIANT_TF32);
    plan.sides = 300;
    const double without = bb_panel_plan_need(&plan, 1).device_bytes;
    plan.unit_diagonal = true;
    check_close(bb_panel_plan_need(&plan, 1).device_bytes - without,
                300.0 * 4.0 + 2.0 * 2.0 * 256.0 * 4096.0, 0.5, 1.0);
}

TEST(a_map_keeps_both_planes)
{
    unsigned char variants[16];
    memset(variants, BB_VARIANT_X3, sizeof variants);
    bb_panel_plan plan = plan_of(1024, 256, BB_VARIANT_HP1);
    plan.diagonal_follows = true;
    const double one = bb_panel_plan_factor_bytes(&plan);
    plan.variants = variants;
    check_close(bb_panel_plan_factor_bytes(&plan) - one, 1024.0 * 768.0, 0.5, 1.0);
    plan.variants = NULL;
    plan.sides = 1; // backward sweep with three products
    check_close(bb_panel_plan_factor_bytes(&plan) - one, 1024.0 * 768.0, 0.5, 1.0);
    plan.sweeps = BB_POLICY_SWEEPS_FOLLOW;
    check_close(bb_panel_plan_factor_bytes(&plan), one, 0.5, 1.0);
}

// fp16 tiles next to the panels, without a second plane; bf16 operands next to L.
TEST(further_variants_keep_further_arrays)
{
    const double plane = 3.0 * 2.0 * 512.0 * 512.0; // six blocks of 512 x 512, folded
    const bb_panel_plan hp1 = plan_of(2048, 512, BB_VARIANT_HP1);
    const bb_panel_plan hp2 = plan_of(2048, 512, BB_VARIANT_HP2);
    const bb_panel_plan sp = plan_of(2048, 512, BB_VARIANT_SP);
    const bb_panel_plan bf16 = plan_of(2048, 512, BB_VARIANT_BF16);
    const bb_panel_plan fp8 = plan_of(2048, 512, BB_VARIANT_FP8);
    check_close(bb_panel_plan_need(&hp2, 1).device_bytes - bb_panel_plan_need(&hp1, 1).device_bytes,
                2.0 * 2048.0 * 512 * 2.0, 0.5, 1.0);
    check_close(bb_panel_plan_factor_bytes(&hp1) - bb_panel_plan_factor_bytes(&hp2), 2.0 * plane,
                0.5, 1.0);
    check_close(bb_panel_plan_need(&bf16, 1).device_bytes - bb_panel_plan_need(&sp, 1).device_bytes,
                2.0 * plane, 0.5, 1.0);
    check_close(bb_panel_plan_factor_bytes(&bf16), bb_panel_plan_factor_bytes(&sp), 0.5, 1.0);
    check_close(bb_panel_plan_need(&fp8, 1).device_bytes -
                    bb_panel_plan_need(&bf16, 1).device_bytes,
                4.0 * 4.0, 0.5, 1.0);
}

// One block of six in fp16 work: the tiles of its panels, and one plane less in the storage of L.
TEST(a_mixture_keeps_what_its_blocks_need)
{
    unsigned char variants[16];
    const double block = 512.0 * 512.0;
    bb_panel_plan mixed = plan_of(2048, 512, BB_VARIANT_HP1);
    const bb_panel_plan hp1 = mixed;
    const bb_panel_plan hp2 = plan_of(2048, 512, BB_VARIANT_HP2);
    memset(variants, BB_VARIANT_HP1, sizeof variants);
    mixed.variants = variants;
    check_close(bb_panel_plan_need(&mixed, 1).device_bytes,
                bb_panel_plan_need(&hp1, 1).device_bytes, 0.5, 1.0);
    variants[3 * 4 + 0] = BB_VARIANT_HP2;
    check_close(bb_panel_plan_need(&mixed, 1).device_bytes,
                bb_panel_plan_need(&hp2, 1).device_bytes, 0.5, 1.0);
    check_close(bb_panel_plan_factor_bytes(&hp1) - bb_panel_plan_factor_bytes(&mixed), 2.0 * block,
                0.5, 1.0);
    // A diagonal of hp2 next to blocks of other variants.
    variants[3 * 4 + 0] = BB_VARIANT_X3;
    mixed.arithmetic = BB_VARIANT_HP2;
    mixed.diagonal_follows = true;
    check_close(bb_panel_plan_need(&mixed, 1).device_bytes -
                    bb_panel_plan_need(&hp1, 1).device_bytes,
                2.0 * 2.0 * block, 0.5, 1.0);
}

TEST(what_cannot_be_planned_takes_nothing)
{
    bb_panel_arithmetic arithmetic;
    const bb_panel_plan odd = plan_of(1024, 100, BB_VARIANT_HP1);
    check_fails(bb_panel_arithmetic_of(&odd, &arithmetic), BB_INVALID, "multiple of 128");
    check_close(bb_panel_plan_need(&odd, 1).device_bytes, 0.0, 0.0, 1.0);
    check_close(bb_panel_plan_factor_bytes(&odd), 0.0, 0.0, 1.0);
    const unsigned char variants[16] = {[2 * 4 + 1] = BB_VARIANT_SP};
    bb_panel_plan mixed = plan_of(1024, 256, BB_VARIANT_HP1);
    mixed.variants = variants;
    check_fails(bb_panel_arithmetic_of(&mixed, &arithmetic), BB_INVALID,
                "cannot be mixed with hp1; use hp1, hp2, hp3 and x3 only");
    bb_status_clear();
}

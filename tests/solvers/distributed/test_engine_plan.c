// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/engine.h"
#include "tests/check.h"

enum { TILE = 64, N = 4 * TILE, TILE_BYTES = TILE * TILE * 4, SIDES = 100 };

static bb_engine_plan plan_of(int rows, int columns, bb_wire wire, bb_variant variant, bb_index n)
{
    bb_engine_plan out;
    const bb_engine_config config = {.grid = {rows, columns}, .wire = wire, .workers = 1};
    const bb_tile_plan plan = {
        .tile_size = TILE, .arithmetic = variant, .policy = {.diagonal = BB_POLICY_FOLLOW}};
    check_ok(bb_engine_plan_make(&config, &plan, n, SIDES, 1, &variant, &out));
    return out;
}

TEST(one_process_sends_nothing)
{
    const bb_engine_plan one = plan_of(1, 1, BB_WIRE_FOLLOW, BB_VARIANT_SP, N);
    assert_true(one.factor_bytes == 0.0 && one.sweep_bytes == 0.0);
    assert_true(one.tile_bytes == 10.0 * TILE_BYTES);
    assert_true(one.host_bytes > one.tile_bytes + 10 * 4096.0);
    assert_true(one.seconds > 0.0);
}

// Four tile rows on 2 x 2: (0, 0) has (0,0) (2,0) (2,2); (0, 1) (2,1); (1, 0) (1,0) (3,0) (3,2);
// (1, 1) (1,1) (3,1) (3,3).
TEST(the_fullest_process_counts)
{
    const bb_engine_plan four = plan_of(2, 2, BB_WIRE_FOLLOW, BB_VARIANT_SP, N);
    assert_true(four.tile_bytes == 3.0 * TILE_BYTES);
    // Process (0, 1) owns one of ten tiles and receives the other nine, twice.
    assert_true(four.sweep_bytes == 18.0 * TILE_BYTES);
    assert_true(four.factor_bytes > 0.0);
    const bb_engine_plan wide = plan_of(2, 2, BB_WIRE_FOLLOW, BB_VARIANT_DP, N);
    assert_true(wide.tile_bytes == 6.0 * TILE_BYTES);
    const bb_engine_plan half = plan_of(2, 2, BB_WIRE_FOLLOW, BB_VARIANT_HP2, N);
    assert_true(half.tile_bytes == 3.0 * TILE_BYTES); // stored in floats
    assert_true(half.sweep_bytes < 0.75 * four.sweep_bytes);
}

// With diagonal_follows, fp16 messages have at most 0.57 of the bytes of fp32 messages.
TEST(a_wire_that_follows_is_narrow)
{
    enum { LARGE = 48 * TILE };
    const bb_engine_plan narrow = plan_of(2, 2, BB_WIRE_FOLLOW, BB_VARIANT_HP1, LARGE);
    const bb_engine_plan wide = plan_of(2, 2, BB_WIRE_FP32, BB_VARIANT_HP1, LARGE);
    assert_true(narrow.factor_bytes <= 0.57 * wide.factor_bytes);
    assert_true(narrow.factor_bytes >= 0.5 * wide.factor_bytes);
}

// Processes share the work; a slow wire and the submission of tasks limit the speedup.
TEST(time_falls_with_processes)
{
    enum { LARGE = 32 * TILE };
    const bb_engine_plan one = plan_of(1, 1, BB_WIRE_FOLLOW, BB_VARIANT_SP, LARGE);
    const bb_engine_plan four = plan_of(2, 2, BB_WIRE_FOLLOW, BB_VARIANT_SP, LARGE);
    const double flops_s = one.seconds;
    const double tasks_s = 24e-6 * 32.0 * 33.0 * 37.0 / 6.0;
    assert_true(four.seconds >= tasks_s + four.factor_bytes / 4.0 / BB_ENGINE_PLAN_WIRE_RATE);
    assert_true(four.seconds <
                tasks_s + flops_s +
                    (four.factor_bytes + four.sweep_bytes) / BB_ENGINE_PLAN_WIRE_RATE);
}

// The choices of a rule are unknown in advance: the plan is an upper bound.
TEST(rules_are_planned_by_their_widest_variant)
{
    bb_engine_plan found;
    const bb_engine_config config = {.grid = {2, 2}, .workers = 1};
    const bb_tile_plan plan = {.tile_size = TILE,
                               .arithmetic = BB_VARIANT_HP2,
                               .policy = {.kind = BB_POLICY_PRODUCT,
                                          .inside = BB_VARIANT_DP,
                                          .tolerance = 1e-5,
                                          .diagonal = BB_POLICY_FOLLOW}};
    const bb_variant variants[] = {BB_VARIANT_HP2, BB_VARIANT_DP};
    check_ok(bb_engine_plan_make(&config, &plan, N, SIDES, 2, variants, &found));
    const bb_engine_plan wide = plan_of(2, 2, BB_WIRE_FOLLOW, BB_VARIANT_DP, N);
    assert_true(found.tile_bytes == wide.tile_bytes);
    assert_true(found.factor_bytes == wide.factor_bytes);
}

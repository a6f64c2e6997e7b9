// SPDX-License-Identifier: Apache-2.0
#include "precision/policy.h"
#include "tests/check.h"

TEST(uniform_is_the_pipelines_own)
{
    bb_policy_config policy = {.kind = BB_POLICY_UNIFORM, .width = 5, .inside = BB_VARIANT_DP};
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 4, 4), BB_VARIANT_HP2);
}

TEST(band_counts_tiles_from_the_diagonal)
{
    bb_policy_config policy = {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_SP};
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 4, 4), BB_VARIANT_SP);
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 5, 4), BB_VARIANT_SP);
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 6, 4), BB_VARIANT_HP2);
    policy.width = 0;
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 4, 4), BB_VARIANT_HP2);
}

// Figure 3 of Doucet et al.: sp, hp1 and hp2 by the distance from the diagonal, with widths 2
// and 4.
TEST(three_zones_count_tiles_from_the_diagonal)
{
    bb_index widths[] = {2, 4};
    int zones[] = {BB_VARIANT_SP, BB_VARIANT_HP1, BB_VARIANT_HP2};
    static const bb_variant expected[] = {BB_VARIANT_SP,  BB_VARIANT_SP,  BB_VARIANT_HP1,
                                          BB_VARIANT_HP1, BB_VARIANT_HP2, BB_VARIANT_HP2};
    bb_policy_config policy = {
        .kind = BB_POLICY_THREE_ZONES, .widths = {widths, 2}, .zones = {zones, 3}};
    bb_variant given[BB_VARIANT_COUNT];
    for (bb_index distance = 0; distance < 6; ++distance) {
        assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 3 + distance, 3),
                         expected[distance]);
    }
    assert_int_equal(bb_policy_variants(&policy, BB_VARIANT_HP2, given), 3);
    assert_int_equal(given[0], BB_VARIANT_SP);
    assert_int_equal(given[1], BB_VARIANT_HP1);
    assert_int_equal(given[2], BB_VARIANT_HP2);
    check_ok(bb_policy_check(&policy, BB_VARIANT_HP2));
    check_fails(bb_policy_check(&policy, BB_VARIANT_HP3), BB_INVALID,
                "the last zone is hp2, expected the pipeline's arithmetic, hp3");
    widths[1] = 2;
    check_fails(bb_policy_check(&policy, BB_VARIANT_HP2), BB_INVALID, "widths 2 and 2");
    policy.zones.count = 2;
    check_fails(bb_policy_check(&policy, BB_VARIANT_HP2), BB_INVALID, "2 widths and 2 zones");
}

// Three tile rows: ||A||_F^2 = 3 + 2 (0.01 + 0.0004 + 0.09).
static const double norms[6] = {1.0, 0.1, 1.0, 0.02, 0.3, 1.0};
static const bb_policy_facts facts = {.tile_rows = 3,
                                      .tile_size = 4,
                                      .tile_norms = norms,
                                      .norm = 1.788854381999832,
                                      .noise_floor = 0.01};

static bb_policy_config rule(bb_policy_kind kind)
{
    return (bb_policy_config){
        .kind = kind, .inside = BB_VARIANT_X3, .tolerance = NAN, .noise_share = 0.5};
}

// u = 2^-11: a tile is small up to eps ||A|| / (3 u) = 0.122 with eps = 1e-4.
TEST(tile_norms_choose_by_the_rule)
{
    double shares[BB_VARIANT_COUNT];
    bb_policy_config policy = rule(BB_POLICY_TILE_NORM);
    policy.tolerance = 1e-4;
    autoptr(bb_policy_map) map = new_object(bb_policy_map, &policy, BB_VARIANT_HP1, &facts);
    assert_int_equal(bb_policy_map_at(map, 0, 0), BB_VARIANT_SP);
    assert_int_equal(bb_policy_map_at(map, 1, 0), BB_VARIANT_HP1);
    assert_int_equal(bb_policy_map_at(map, 2, 0), BB_VARIANT_HP1);
    assert_int_equal(bb_policy_map_at(map, 2, 1), BB_VARIANT_X3);
    bb_policy_map_shares(map, shares);
    check_close(shares[BB_VARIANT_SP], 0.5, 1e-15, 1.0);
    check_close(shares[BB_VARIANT_HP1], 1.0 / 3.0, 1e-15, 1.0);
    check_close(shares[BB_VARIANT_X3], 1.0 / 6.0, 1e-15, 1.0);
    assert_true(map->product_bound == 0.0);
    bb_policy_map_destroy(&map);
    policy.diagonal = BB_POLICY_FOLLOW;
    policy.tolerance = 1.0; // everything is small
    check_ok(bb_policy_map_create(&policy, BB_VARIANT_HP1, &facts, &map));
    assert_int_equal(bb_policy_map_at(map, 0, 0), BB_VARIANT_HP1);
}

// eps ||A|| = c lambda = 0.005, over 3^2 tiles, or sqrt(4 3) times that.
TEST(products_have_the_bound_of_the_noise_floor)
{
    bb_policy_config policy = rule(BB_POLICY_PRODUCT);
    autoptr(bb_policy_map) map = new_object(bb_policy_map, &policy, BB_VARIANT_HP1, &facts);
    check_relative(map->tolerance, 0.005 / facts.norm, 1e-14);
    check_relative(map->product_bound, 0.005 / 9.0, 1e-14);
    assert_int_equal(map->product_variant, BB_VARIANT_HP1);
    assert_int_equal(bb_policy_map_at(map, 2, 0), BB_VARIANT_X3);
    bb_policy_map_destroy(&map);
    policy.rounding = BB_POLICY_RANDOM;
    check_ok(bb_policy_map_create(&policy, BB_VARIANT_HP1, &facts, &map));
    check_relative(map->product_bound, 0.005 / 9.0 * sqrt(12.0), 1e-14);
}

TEST(tables_are_taken_tile_by_tile)
{
    const bb_variant table[6] = {BB_VARIANT_HP1, BB_VARIANT_FP8, BB_VARIANT_DP,
                                 BB_VARIANT_HP2, BB_VARIANT_X3,  BB_VARIANT_HP3};
    bb_policy_facts with_table = facts;
    bb_policy_config policy = rule(BB_POLICY_TABLE);
    with_table.table = table;
    autoptr(bb_policy_map) map = new_object(bb_policy_map, &policy, BB_VARIANT_HP1, &with_table);
    assert_int_equal(bb_policy_map_at(map, 0, 0), BB_VARIANT_SP);
    assert_int_equal(bb_policy_map_at(map, 1, 0), BB_VARIANT_FP8);
    assert_int_equal(bb_policy_map_at(map, 1, 1), BB_VARIANT_DP);
    assert_int_equal(bb_policy_map_at(map, 2, 1), BB_VARIANT_X3);
}

TEST(what_cannot_be_resolved_is_refused)
{
    bb_policy_map *map = NULL;
    bb_policy_facts unknown = facts;
    bb_policy_config policy = rule(BB_POLICY_TILE_NORM);
    unknown.noise_floor = NAN;
    check_fails(bb_policy_map_create(&policy, BB_VARIANT_HP1, &unknown, &map), BB_INVALID,
                "policy tile_norm: the noise floor of the matrix is unknown");
    policy = rule(BB_POLICY_PRODUCT);
    check_fails(bb_policy_map_create(&policy, BB_VARIANT_HP2, &facts, &map), BB_INVALID,
                "policy product: hp2 with inside x3");
    assert_null(map);
}

// Bytes are planned before norms are known: with the wider of the two.
TEST(plans_take_the_wider_variant)
{
    bb_policy_config policy = rule(BB_POLICY_TILE_NORM);
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP2, 3, 1), BB_VARIANT_X3);
    assert_int_equal(bb_policy_variant(&policy, BB_VARIANT_HP1, 3, 1), BB_VARIANT_HP1);
}

static bool has_key(const char *name)
{
    bb_index k = 0;
    while (k < bb_policy_schema.key_count && strcmp(bb_policy_schema.keys[k].name, name) != 0) {
        ++k;
    }
    return k < bb_policy_schema.key_count;
}

// A misspelled key in a row would be rejected everywhere, and a key in no row accepted everywhere.
TEST(rows_have_the_keys_of_the_schema)
{
    for (int kind = 0; kind < (int)BB_POLICY_COUNT; ++kind) {
        const bb_policy_config policy = {.kind = kind};
        const bb_policy_row *row = bb_policy_describe(&policy);
        assert_string_equal(row->name, bb_policy_kind_names[kind]);
        assert_non_null(row->variant);
        for (int k = 0; k < BB_POLICY_KEYS; ++k) {
            assert_true(row->keys[k] == NULL || has_key(row->keys[k]));
            assert_true(row->required[k] == NULL || has_key(row->required[k]));
        }
    }
    assert_null(bb_policy_kind_names[BB_POLICY_COUNT]);
    for (bb_index k = 0; k < bb_policy_schema.key_count; ++k) {
        const char *key = bb_policy_schema.keys[k].name;
        bool is_held = strcmp(key, "kind") == 0 || strcmp(key, "diagonal") == 0;
        for (int kind = 0; kind < (int)BB_POLICY_COUNT; ++kind) {
            is_held = is_held || bb_policy_uses_key((bb_policy_kind)kind, key) ||
                      bb_policy_requires((bb_policy_kind)kind, key);
        }
        assert_true(is_held);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Rows of the policies that choose between a pipeline's variant and `inside`, and of uniform and
// table. The rules are in policy.h.
#include "precision/policy.h"

#include <math.h>

static bb_index place_of(bb_index row, bb_index column)
{
    return row * (row + 1) / 2 + column;
}

static int own_alone(const bb_policy_config *policy, bb_variant arithmetic,
                     bb_variant out[BB_VARIANT_COUNT])
{
    (void)policy;
    out[0] = arithmetic;
    return 1;
}

static int inside_and_own(const bb_policy_config *policy, bb_variant arithmetic,
                          bb_variant out[BB_VARIANT_COUNT])
{
    out[0] = (bb_variant)policy->inside;
    out[1] = arithmetic;
    return 2;
}

static bb_variant uniform(const bb_policy_question *question, bb_index row, bb_index column)
{
    (void)row;
    (void)column;
    return question->arithmetic;
}

const bb_policy_row bb_policy_row_uniform = {
    .name = "uniform",
    .is_uniform = true,
    .is_found = true,
    .variant = uniform,
    .variants = own_alone,
};

static bb_variant band(const bb_policy_question *question, bb_index row, bb_index column)
{
    bb_index distance = row > column ? row - column : column - row;
    return distance < question->policy->width ? (bb_variant)question->policy->inside
                                              : question->arithmetic;
}

const bb_policy_row bb_policy_row_band = {
    .name = "band",
    .keys = {"width", "inside"},
    .variant = band,
    .variants = inside_and_own,
};

static bb_variant table(const bb_policy_question *question, bb_index row, bb_index column)
{
    return question->facts->table[place_of(row, column)];
}

const bb_policy_row bb_policy_row_table = {
    .name = "table",
    .required = {"table"},
    .by_table = true,
    .variant = table,
    .variants = inside_and_own,
};

static bb_variant tile_norm(const bb_policy_question *question, bb_index row, bb_index column)
{
    const bb_policy_facts *facts = question->facts;
    double roundoff = bb_variant_unit_roundoff(question->arithmetic);
    double limit = question->tolerance * facts->norm / ((double)facts->tile_rows * roundoff);
    bool small = facts->tile_norms[place_of(row, column)] <= limit;
    return small ? question->arithmetic : (bb_variant)question->policy->inside;
}

const bb_policy_row bb_policy_row_tile_norm = {
    .name = "tile_norm",
    .keys = {"inside", "tolerance", "noise_share"},
    .is_found = true,
    .by_tolerance = true,
    .by_tile_norms = true,
    .variant = tile_norm,
    .variants = inside_and_own,
};

// A tile is stored as its widest products require.
static bb_variant product(const bb_policy_question *question, bb_index row, bb_index column)
{
    (void)row;
    (void)column;
    return (bb_variant)question->policy->inside;
}

static double product_bound(const bb_policy_question *question)
{
    double tiles = (double)question->facts->tile_rows;
    double bound = question->tolerance * question->facts->norm / (tiles * tiles);
    bool random = question->policy->rounding == (int)BB_POLICY_RANDOM;
    return random ? bound * sqrt(tiles * (double)question->facts->tile_size) : bound;
}

static bb_status check_product(const bb_policy_config *policy, bb_variant arithmetic)
{
    bb_status status = BB_OK;
    BB_REQUIRE(
        bb_policy_products_fit(policy, arithmetic), BB_INVALID,
        "policy product: %s with inside %s is not supported; choose two of sp, tf32, bf16, hp1, x3 "
        "and fp8",
        bb_variant_names[arithmetic], bb_variant_names[policy->inside]);
done:
    return status;
}

const bb_policy_row bb_policy_row_product = {
    .name = "product",
    .keys = {"inside", "tolerance", "noise_share", "rounding"},
    .is_found = true,
    .by_tolerance = true,
    .missing = {[BB_DEVICE_CUDA] = "policy product chooses per product, on the cpu only"},
    .variant = product,
    .product_bound = product_bound,
    .variants = inside_and_own,
    .check = check_product,
};

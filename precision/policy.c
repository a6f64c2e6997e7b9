// SPDX-License-Identifier: Apache-2.0
#include "precision/policy.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

const char *const bb_policy_follow_names[] = {"sp", "follow", NULL};
const char *const bb_policy_sweeps_names[] = {"sp", "forward", "follow", "light", NULL};

static bb_index place_of(bb_index row, bb_index column)
{
    return row * (row + 1) / 2 + column;
}

const char *const bb_policy_rounding_names[] = {"worst", "random", NULL};

#define NAME_OF(id, name, phrase) #name,
const char *const bb_policy_kind_names[] = {BB_POLICIES(NAME_OF) NULL};

#define ROW_OF(id, name, phrase) &bb_policy_row_##name,
static const bb_policy_row *const rows[] = {BB_POLICIES(ROW_OF)};

const bb_policy_row *bb_policy_describe(const bb_policy_config *policy)
{
    return rows[policy->kind];
}

static bool is_listed(const char *const keys[BB_POLICY_KEYS], const char *key)
{
    int k = 0;
    while (k < BB_POLICY_KEYS && keys[k] != NULL && strcmp(keys[k], key) != 0) {
        ++k;
    }
    return k < BB_POLICY_KEYS && keys[k] != NULL;
}

bool bb_policy_uses_key(bb_policy_kind kind, const char *key)
{
    return is_listed(rows[kind]->keys, key);
}

bool bb_policy_requires(bb_policy_kind kind, const char *key)
{
    return is_listed(rows[kind]->required, key);
}

int bb_policy_variants(const bb_policy_config *policy, bb_variant arithmetic,
                       bb_variant out[BB_VARIANT_COUNT])
{
    return bb_policy_describe(policy)->variants(policy, arithmetic, out);
}

bb_status bb_policy_check(const bb_policy_config *policy, bb_variant arithmetic)
{
    const bb_policy_row *row = bb_policy_describe(policy);
    return row->check != NULL ? row->check(policy, arithmetic) : BB_OK;
}

bool bb_policy_products_fit(const bb_policy_config *policy, bb_variant arithmetic)
{
    bool mixed = bb_policy_describe(policy)->product_bound != NULL;
    return !mixed || (bb_variant_describe(arithmetic)->output == BB_FORMAT_FP32 &&
                      bb_variant_describe((bb_variant)policy->inside)->output == BB_FORMAT_FP32);
}

static bb_status find_tolerance(const bb_policy_config *policy, const bb_policy_facts *facts,
                                double *out)
{
    bb_status status = BB_OK;
    const bb_policy_row *row = bb_policy_describe(policy);
    *out = NAN;
    if (row->by_tolerance) {
        bool given = !isnan(policy->tolerance);
        BB_REQUIRE(
            given || facts->noise_floor > 0.0, BB_INVALID,
            "policy %s: the noise floor of the matrix is unknown, so a tolerance is required",
            row->name);
        *out = given ? policy->tolerance : policy->noise_share * facts->noise_floor / facts->norm;
    }
done:
    return status;
}

bb_status bb_policy_map_create(const bb_policy_config *policy, bb_variant arithmetic,
                               const bb_policy_facts *facts, bb_policy_map **out)
{
    bb_status status = BB_OK;
    bb_policy_map *map = NULL;
    const bb_policy_row *rule = bb_policy_describe(policy);
    bb_policy_question question = {.policy = policy, .arithmetic = arithmetic, .facts = facts};
    bool follows = policy->diagonal == (int)BB_POLICY_FOLLOW;
    *out = NULL;
    BB_REQUIRE((!rule->by_table || facts->table != NULL) &&
                   (!rule->by_tile_norms || facts->tile_norms != NULL),
               BB_INTERNAL, "policy %s: a required input is missing", rule->name);
    BB_TRY(bb_policy_check(policy, arithmetic));
    BB_TRY(find_tolerance(policy, facts, &question.tolerance));
    BB_TRY(BB_ZEROED(1, &map));
    *map = (bb_policy_map){.tile_rows = facts->tile_rows,
                           .tolerance = question.tolerance,
                           .product_variant = arithmetic,
                           .diagonal_follows = follows};
    BB_TRY(BB_ALLOCATE(place_of(facts->tile_rows, 0), &map->variants));
    for (bb_index row = 0; row < facts->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bb_variant variant = rule->variant(&question, row, column);
            bool apart = row == column && !follows;
            map->variants[place_of(row, column)] =
                apart ? bb_variant_on_diagonal(variant) : variant;
        }
    }
    if (rule->product_bound != NULL) {
        map->product_bound = rule->product_bound(&question);
    }
    *out = map;
    map = NULL;
done:
    bb_policy_map_destroy(&map);
    return status;
}

void bb_policy_map_destroy(bb_policy_map **map)
{
    if (*map != NULL) {
        BB_RELEASE(&(*map)->variants);
        BB_RELEASE(map);
    }
}

bb_variant bb_policy_map_at(const bb_policy_map *map, bb_index row, bb_index column)
{
    return map->variants[place_of(row, column)];
}

void bb_policy_map_shares(const bb_policy_map *map, double out[BB_VARIANT_COUNT])
{
    bb_index count = place_of(map->tile_rows, 0);
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        out[v] = 0.0;
    }
    for (bb_index t = 0; t < count; ++t) {
        out[map->variants[t]] += 1.0 / (double)count;
    }
}

static int stored_bytes(bb_variant variant)
{
    return bb_format_describe(bb_variant_describe(variant)->output)->bytes;
}

bb_variant bb_policy_variant(const bb_policy_config *policy, bb_variant arithmetic, bb_index row,
                             bb_index column)
{
    const bb_policy_row *rule = bb_policy_describe(policy);
    const bb_policy_question question = {.policy = policy, .arithmetic = arithmetic};
    if (!rule->by_tolerance && !rule->by_table) {
        return rule->variant(&question, row, column);
    }
    bb_variant given[BB_VARIANT_COUNT];
    bb_variant widest = arithmetic;
    const int count = bb_policy_variants(policy, arithmetic, given);
    for (int v = 0; v < count; ++v) {
        widest = stored_bytes(given[v]) > stored_bytes(widest) ? given[v] : widest;
    }
    return widest;
}

#define PHRASE_OF(id, name, phrase) "; " #name ": " phrase

// clang-format off
static const bb_key keys[] = {
    {.name = "kind", .kind = BB_KEY_CHOICE, .choices = bb_policy_kind_names,
     .offset = offsetof(bb_policy_config, kind), .default_text = "uniform",
     .meaning = "Variant of a tile" BB_POLICIES(PHRASE_OF) "."},
    {.name = "width", .kind = BB_KEY_INTEGER, .unit = "tiles", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_policy_config, width), .default_text = "1",
     .meaning = "Band: tiles with |row - column| < width use `inside`; 1 is the "
     "diagonal."},
    {.name = "inside", .kind = BB_KEY_CHOICE, .choices = bb_variant_names,
     .offset = offsetof(bb_policy_config, inside), .default_text = "sp",
     .meaning = "Arithmetic within the band, or where a rule's bound is exceeded."},
    {.name = "diagonal", .kind = BB_KEY_CHOICE, .choices = bb_policy_follow_names,
     .offset = offsetof(bb_policy_config, diagonal), .default_text = "sp",
     .meaning = "Updates of diagonal tiles: fp32, or the variant of the policy; potrf "
     "stays fp32."},
    {.name = "table", .kind = BB_KEY_PATH, .optional = true,
     .offset = offsetof(bb_policy_config, table),
     .meaning = "Table: file with a variant per tile, relative to the file that names it."},
    {.name = "tolerance", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_policy_config, tolerance),
     .meaning = "Rules: bound on ||dA|| / ||A|| of the scaled matrix; unset: from the noise "
                "floor."},
    {.name = "noise_share", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 100.0,
     .exclusive_minimum = true, .default_text = "0.5",
     .offset = offsetof(bb_policy_config, noise_share),
     .meaning = "Rules without a tolerance: ||dA|| relative to the smallest eigenvalue due to "
                "noise."},
    {.name = "rounding", .kind = BB_KEY_CHOICE, .choices = bb_policy_rounding_names,
     .offset = offsetof(bb_policy_config, rounding), .default_text = "worst",
     .meaning = "Product: errors add up linearly (worst), or as independent ones."},
    {.name = "widths", .kind = BB_KEY_INTEGERS, .unit = "tiles", .minimum = 1.0, .maximum = 1e6,
     .optional = true, .offset = offsetof(bb_policy_config, widths),
     .meaning = "Three zones: two distances |row - column|; the first zone ends before the first "
                "one, the second before the second."},
    {.name = "zones", .kind = BB_KEY_CHOICES, .choices = bb_variant_names, .optional = true,
     .offset = offsetof(bb_policy_config, zones),
     .meaning = "Three zones: their variants from the diagonal outward, the last being the "
                "pipeline's own."},
};
// clang-format on
const bb_schema bb_policy_schema = BB_SCHEMA("policy", bb_policy_config, keys);

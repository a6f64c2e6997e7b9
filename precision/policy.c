// SPDX-License-Identifier: Apache-2.0
#include "precision/policy.h"

#include "core/memory.h"

#include <math.h>

const char *const bb_policy_follow_names[] = {"sp", "follow", NULL};
const char *const bb_policy_sweeps_names[] = {"sp", "forward", "follow", "light", NULL};

// What a rule looks at.
typedef struct question {
    const bb_policy_config *policy;
    bb_variant arithmetic; // of the pipeline
    const bb_policy_facts *facts;
    double tolerance;
} question;

static bb_index place_of(bb_index row, bb_index column)
{
    return row * (row + 1) / 2 + column;
}

static bb_variant uniform(const question *of, bb_index row, bb_index column)
{
    (void)row;
    (void)column;
    return of->arithmetic;
}

static bb_variant band(const question *of, bb_index row, bb_index column)
{
    bb_index distance = row > column ? row - column : column - row;
    return distance < of->policy->width ? (bb_variant)of->policy->inside : of->arithmetic;
}

static bb_variant table(const question *of, bb_index row, bb_index column)
{
    return of->facts->table[place_of(row, column)];
}

static bb_variant tile_norm(const question *of, bb_index row, bb_index column)
{
    double roundoff = bb_variant_unit_roundoff(of->arithmetic);
    double most = of->tolerance * of->facts->norm / ((double)of->facts->tile_rows * roundoff);
    bool small = of->facts->tile_norms[place_of(row, column)] <= most;
    return small ? of->arithmetic : (bb_variant)of->policy->inside;
}

// The tile is kept as its widest products need it.
static bb_variant product(const question *of, bb_index row, bb_index column)
{
    (void)row;
    (void)column;
    return (bb_variant)of->policy->inside;
}

static double product_bound(const question *of)
{
    double tiles = (double)of->facts->tile_rows;
    double bound = of->tolerance * of->facts->norm / (tiles * tiles);
    bool random = of->policy->rounding == (int)BB_POLICY_RANDOM;
    return random ? bound * sqrt(tiles * (double)of->facts->tile_size) : bound;
}

const char *const bb_policy_kind_names[] = {"uniform", "band",    "table", "tile_norm",
                                            "product", "promise", NULL};
static const char *const rounding_names[] = {"worst", "random", NULL};
static const char *const over_names[] = {"all", "first", NULL};

// One row a policy, in the order of the names: to add one, write its function, its row and its
// name here. bb_policy_kind needs a name only where other code asks for the kind.
static const struct {
    bb_variant (*variant)(const question *of, bb_index row, bb_index column);
    double (*product_bound)(const question *of); // NULL: products are as their tile
    bool by_tolerance, by_tile_norms, by_table;
} rules[] = {
    [BB_POLICY_UNIFORM] = {.variant = uniform   },
    [BB_POLICY_BAND] = {.variant = band      },
    [BB_POLICY_TABLE] = {.variant = table,      .by_table = true},
    [BB_POLICY_TILE_NORM] = {.variant = tile_norm,                     .by_tolerance = true, .by_tile_norms = true},
    [BB_POLICY_PRODUCT] = {.variant = product,
                           .product_bound = product_bound,
                           .by_tolerance = true},
    [BB_POLICY_PROMISE] = {.variant = NULL                    },
};

bool bb_policy_needs_tile_norms(const bb_policy_config *policy)
{
    return rules[policy->kind].by_tile_norms;
}

bool bb_policy_needs_norm(const bb_policy_config *policy)
{
    return rules[policy->kind].by_tolerance;
}

bool bb_policy_products_fit(const bb_policy_config *policy, bb_variant arithmetic)
{
    bool mixed = rules[policy->kind].product_bound != NULL;
    return !mixed || (bb_variant_describe(arithmetic)->output == BB_FORMAT_FP32 &&
                      bb_variant_describe((bb_variant)policy->inside)->output == BB_FORMAT_FP32);
}

static bb_status find_tolerance(const bb_policy_config *policy, const bb_policy_facts *facts,
                                double *out)
{
    bb_status status = BB_OK;
    *out = NAN;
    if (rules[policy->kind].by_tolerance) {
        bool given = !isnan(policy->tolerance);
        BB_REQUIRE(given || facts->noise_floor > 0.0, BB_INVALID,
                   "policy %s: expected a tolerance, as the noise floor of the matrix is unknown",
                   bb_policy_kind_names[policy->kind]);
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
    question of = {.policy = policy, .arithmetic = arithmetic, .facts = facts};
    bool follows = policy->diagonal == (int)BB_POLICY_FOLLOW;
    *out = NULL;
    BB_REQUIRE(rules[policy->kind].variant != NULL, BB_INVALID,
               "policy %s has no map of its own, expected one of those that it chooses from",
               bb_policy_kind_names[policy->kind]);
    BB_REQUIRE((!rules[policy->kind].by_table || facts->table != NULL) &&
                   (!rules[policy->kind].by_tile_norms || facts->tile_norms != NULL),
               BB_INTERNAL, "policy %s: a fact that it needs is missing",
               bb_policy_kind_names[policy->kind]);
    BB_REQUIRE(bb_policy_products_fit(policy, arithmetic), BB_INVALID,
               "policy %s of %s inside %s: expected two of sp, tf32, bf16, hp1, x3 and fp8",
               bb_policy_kind_names[policy->kind], bb_variant_names[arithmetic],
               bb_variant_names[policy->inside]);
    BB_TRY(find_tolerance(policy, facts, &of.tolerance));
    BB_TRY(BB_ZEROED(1, &map));
    *map = (bb_policy_map){.tile_rows = facts->tile_rows,
                           .tolerance = of.tolerance,
                           .product_variant = arithmetic,
                           .diagonal_follows = follows};
    BB_TRY(BB_ALLOCATE(place_of(facts->tile_rows, 0), &map->variants));
    for (bb_index row = 0; row < facts->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bb_variant variant = rules[policy->kind].variant(&of, row, column);
            bool single = row == column && variant != BB_VARIANT_DP && !follows;
            map->variants[place_of(row, column)] = single ? BB_VARIANT_SP : variant;
        }
    }
    if (rules[policy->kind].product_bound != NULL) {
        map->product_bound = rules[policy->kind].product_bound(&of);
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

bb_variant bb_policy_variant(const bb_policy_config *policy, bb_variant arithmetic, bb_index row,
                             bb_index column)
{
    const question of = {.policy = policy, .arithmetic = arithmetic};
    bool unknown = rules[policy->kind].variant == NULL || rules[policy->kind].by_tolerance ||
                   rules[policy->kind].by_table;
    if (!unknown) {
        return rules[policy->kind].variant(&of, row, column);
    }
    bb_variant inside = (bb_variant)policy->inside;
    int own_bytes = bb_format_describe(bb_variant_describe(arithmetic)->output)->bytes;
    int inside_bytes = bb_format_describe(bb_variant_describe(inside)->output)->bytes;
    return inside_bytes > own_bytes ? inside : arithmetic;
}

// clang-format off
static const bb_key keys[] = {
    {.name = "kind", .kind = BB_KEY_CHOICE, .choices = bb_policy_kind_names,
     .offset = offsetof(bb_policy_config, kind), .default_text = "uniform",
     .meaning = "uniform: one arithmetic everywhere; band: another near the diagonal; table: a "
                "file; tile_norm, product: by a bound; promise: the cheapest that keeps a price."},
    {.name = "width", .kind = BB_KEY_INTEGER, .unit = "tiles", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_policy_config, width), .default_text = "1",
     .meaning = "Band: tiles with |row - column| < width take `inside`; 1 is the diagonal."},
    {.name = "inside", .kind = BB_KEY_CHOICE, .choices = bb_variant_names,
     .offset = offsetof(bb_policy_config, inside), .default_text = "sp",
     .meaning = "Arithmetic within the band, or where the bound of a rule is exceeded."},
    {.name = "diagonal", .kind = BB_KEY_CHOICE, .choices = bb_policy_follow_names,
     .offset = offsetof(bb_policy_config, diagonal), .default_text = "sp",
     .meaning = "Updates of diagonal tiles: in fp32, or as the policy says; potrf stays fp32."},
    {.name = "table", .kind = BB_KEY_PATH, .optional = true,
     .offset = offsetof(bb_policy_config, table),
     .meaning = "Table: file of a variant a tile, relative to the file that names it."},
    {.name = "tolerance", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_policy_config, tolerance),
     .meaning = "Rules: bound on ||dA|| / ||A|| of the scaled matrix; unset: by the noise floor."},
    {.name = "noise_share", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 100.0,
     .exclusive_minimum = true, .default_text = "0.5",
     .offset = offsetof(bb_policy_config, noise_share),
     .meaning = "Rules without a tolerance: ||dA|| over the least eigenvalue that noise gives."},
    {.name = "rounding", .kind = BB_KEY_CHOICE, .choices = rounding_names,
     .offset = offsetof(bb_policy_config, rounding), .default_text = "worst",
     .meaning = "Product: errors add up, or as independent ones do."},
    {.name = "strehl_loss", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_policy_config, strehl_loss),
     .meaning = "Promise: the largest loss of Strehl ratio against the reference."},
    {.name = "over", .kind = BB_KEY_CHOICE, .choices = over_names, .default_text = "all",
     .offset = offsetof(bb_policy_config, over),
     .meaning = "Promise: for all targets and wavelengths, or for the first ones."},
    {.name = "variants", .kind = BB_KEY_CHOICES, .choices = bb_variant_names, .optional = true,
     .offset = offsetof(bb_policy_config, variants),
     .meaning = "Promise: what it may use throughout or mix; unset: the pipeline's arithmetic, "
                "and inside and all from it to dp in cost, the most precise of each cost."},
};
// clang-format on
const bb_schema bb_policy_schema = BB_SCHEMA("policy", bb_policy_config, keys);

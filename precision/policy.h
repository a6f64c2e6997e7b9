// SPDX-License-Identifier: Apache-2.0
//
// Policies: the variant for updates of each tile of a symmetric matrix being factored. A policy is
// a row: a function of the tile's position, the norms of the tiles and the noise floor, and its
// properties. It is resolved once to a map, which every engine uses.
//
// With NT tile rows, u the unit roundoff of the pipeline's variant and eps the tolerance:
//   tile_norm  the pipeline's variant where ||A_ij||_F <= eps ||A||_F / (NT u), `inside` elsewhere:
//              then ||dA||_F <= eps ||A||_F for the rounding of A's tiles (Higham and Mary, Acta
//              Numerica 2022), not for that of the products;
//   product    the pipeline's variant for each product with 2 u ||L_ik||_F ||L_jk||_F <= tau,
//              `inside` for the others, tau = eps ||A||_F / NT^2: then the rounding of the operands
//              adds up to at most eps ||A||_F. `rounding: random` treats the errors of a product's
//              nb columns and of a tile's NT products as independent: tau grows by sqrt(nb NT).
// Without a tolerance, eps = c lambda / ||A||_F with lambda a lower bound of the smallest
// eigenvalue (the noise floor) and c the key noise_share: with c < 1, A + dA is positive definite.
#ifndef BB_PRECISION_POLICY_H
#define BB_PRECISION_POLICY_H

#include "core/device/device.h"
#include "core/schema.h"
#include "precision/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

// The policies, one per line: the row `bb_policy_row_<name>` is in its own file or in
// policy_rules.c. The phrase is for the key `kind`.
// clang-format off
#define BB_POLICIES(row)                                                                           \
    row(UNIFORM,   uniform,   "one arithmetic everywhere")                                         \
    row(BAND,      band,      "another near the diagonal")                                         \
    row(TABLE,     table,     "from a file")                                                       \
    row(TILE_NORM, tile_norm, "by a bound on its norm")                                            \
    row(PRODUCT,   product,   "product by product, by a bound")                                    \
    row(THREE_ZONES, three_zones, "by its distance from the diagonal")
// clang-format on

#define BB_POLICY_OF_ROW(id, ...) BB_POLICY_##id,
typedef enum bb_policy_kind { BB_POLICIES(BB_POLICY_OF_ROW) BB_POLICY_COUNT } bb_policy_kind;
#undef BB_POLICY_OF_ROW

/// NULL-terminated names in the order of the enum.
extern const char *const bb_policy_kind_names[];

/// Whether operations that Doucet et al. perform in fp32 use the policy's variants.
typedef enum bb_policy_follow {
    BB_POLICY_FOLLOW_SP, ///< fp32, or fp64 if the variant is dp
    BB_POLICY_FOLLOW,    ///< the policy's variant
} bb_policy_follow;

/// "sp", "follow", NULL.
extern const char *const bb_policy_follow_names[];

/// Sweeps of a solve whose products use the policy's variants; the others use fp32.
typedef enum bb_policy_sweeps {
    BB_POLICY_SWEEPS_SP,      ///< neither
    BB_POLICY_SWEEPS_FORWARD, ///< the forward sweep
    BB_POLICY_SWEEPS_FOLLOW,  ///< both
    BB_POLICY_SWEEPS_LIGHT,   ///< both, with the light tiles of the factor
} bb_policy_sweeps;

/// "sp", "forward", "follow", "light", NULL.
extern const char *const bb_policy_sweeps_names[];

typedef enum bb_policy_rounding { BB_POLICY_WORST, BB_POLICY_RANDOM } bb_policy_rounding;

/// "worst", "random", NULL.
extern const char *const bb_policy_rounding_names[];

/// The keys under `policy:` of a pipeline.
typedef struct bb_policy_config {
    int kind;           ///< bb_policy_kind
    bb_index width;     ///< in tiles; 1 is the diagonal only
    int inside;         ///< bb_variant used where the pipeline's own is insufficient
    int diagonal;       ///< bb_policy_follow: for updates of diagonal tiles
    const char *table;  ///< path of the table's file, or NULL
    double tolerance;   ///< eps; NaN: from the noise floor
    double noise_share; ///< c
    int rounding;       ///< bb_policy_rounding
    bb_list widths;     ///< of bb_index: in tiles, ends of the first two of three zones
    bb_list zones;      ///< of bb_variant as int: three, from the diagonal outward
} bb_policy_config;

extern const bb_schema bb_policy_schema;

/// Inputs of a rule in addition to the tile's position.
typedef struct bb_policy_facts {
    bb_index tile_rows, tile_size;
    const double *tile_norms; ///< [tile_rows (tile_rows + 1) / 2] of A's lower tiles, or NULL
    double norm;              ///< ||A||_F
    double noise_floor;       ///< lower bound of A's smallest eigenvalue, NaN if unknown
    const bb_variant *table;  ///< [tile_rows (tile_rows + 1) / 2] from the file, or NULL
} bb_policy_facts;

/// Arguments of a rule.
typedef struct bb_policy_question {
    const bb_policy_config *policy;
    bb_variant arithmetic;        ///< of the pipeline
    const bb_policy_facts *facts; ///< facts of the matrix; NULL if the rule needs none
    double tolerance;             ///< eps, if the rule uses one
} bb_policy_question;

enum { BB_POLICY_KEYS = 4 };

/// Description of a policy.
typedef struct bb_policy_row {
    const char *name;
    const char *keys[BB_POLICY_KEYS];           ///< optional keys of this policy, then NULL
    const char *required[BB_POLICY_KEYS];       ///< required keys that no other policy may have
    bool is_uniform;                            ///< one variant everywhere
    bool is_found;                              ///< tried by a search
    bool by_tolerance, by_tile_norms, by_table; ///< required facts
    const char *missing[BB_DEVICE_KIND_COUNT];  ///< reason if a device lacks it, else NULL
    /// Returns the variant of tile (row, column), row >= column.
    bb_variant (*variant)(const bb_policy_question *question, bb_index row, bb_index column);
    /// Bound of bb_policy_map; NULL: products use their tile's variant.
    double (*product_bound)(const bb_policy_question *question);
    /// Variants that tiles may get, the pipeline's own last; returns their number. The first are
    /// those nearest to the diagonal, where applicable.
    int (*variants)(const bb_policy_config *policy, bb_variant arithmetic,
                    bb_variant out[BB_VARIANT_COUNT]);
    /// Checks rules across its keys; NULL: none. Errors: BB_INVALID with a sentence.
    bb_status (*check)(const bb_policy_config *policy, bb_variant arithmetic);
} bb_policy_row;

#define BB_POLICY_ROW(id, name, ...) extern const bb_policy_row bb_policy_row_##name;
BB_POLICIES(BB_POLICY_ROW)
#undef BB_POLICY_ROW

const bb_policy_row *bb_policy_describe(const bb_policy_config *policy);

/// Returns whether a kind of policy supports a key that not all support, or requires it.
bool bb_policy_uses_key(bb_policy_kind kind, const char *key);
bool bb_policy_requires(bb_policy_kind kind, const char *key);

/// Returns the result of bb_policy_row.variants of its row.
int bb_policy_variants(const bb_policy_config *policy, bb_variant arithmetic,
                       bb_variant out[BB_VARIANT_COUNT]);

/// Checks rules across a policy's keys. Errors: BB_INVALID with a sentence.
BB_CHECKED bb_status bb_policy_check(const bb_policy_config *policy, bb_variant arithmetic);

/// A resolved policy. Owned by the caller.
typedef struct bb_policy_map {
    bb_index tile_rows;
    bb_variant *variants; ///< [tile_rows (tile_rows + 1) / 2], row by row: for products into it
    double tolerance;     ///< eps in use, NaN if there is none
    /// Product (i, j, k) into an off-diagonal or following tile uses `product_variant` if 2 u
    /// ||L_ik|| ||L_jk|| <= product_bound with its u, and variants[(i, j)] otherwise; 0: never.
    double product_bound;
    bb_variant product_variant;
    bool diagonal_follows; ///< variants and product_bound apply to diagonal tiles too
} bb_policy_map;

/// Returns whether one tile format serves both variants that a policy chooses from per product:
/// their output is fp32. True for policies that do not choose per product.
bool bb_policy_products_fit(const bb_policy_config *policy, bb_variant arithmetic);

/// Resolves a policy, with `arithmetic` the pipeline's own variant. Errors: BB_INVALID (neither
/// tolerance nor noise floor, a rule of bb_policy_check), BB_INTERNAL (a missing input), BB_MEMORY.
BB_CHECKED bb_status bb_policy_map_create(const bb_policy_config *policy, bb_variant arithmetic,
                                          const bb_policy_facts *facts, bb_policy_map **out);
void bb_policy_map_destroy(bb_policy_map **map);

/// Returns the variant of tile (row, column), row >= column.
bb_variant bb_policy_map_at(const bb_policy_map *map, bb_index row, bb_index column);

/// Computes the fraction of the lower tiles with each variant, by number: out [BB_VARIANT_COUNT].
void bb_policy_map_shares(const bb_policy_map *map, double out[BB_VARIANT_COUNT]);

/// Returns the variant of tile (row, column) before any facts are known: if the policy needs some,
/// the one with the widest storage among its choices.
bb_variant bb_policy_variant(const bb_policy_config *policy, bb_variant arithmetic, bb_index row,
                             bb_index column);

#ifdef __cplusplus
}
#endif

#endif

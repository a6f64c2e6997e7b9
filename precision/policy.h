// SPDX-License-Identifier: Apache-2.0
//
// Policies: which variant updates which tile of a matrix. A policy is a row of a table; a new one
// is a function of the tile's coordinates and a row.
#ifndef BB_PRECISION_POLICY_H
#define BB_PRECISION_POLICY_H

#include "core/schema.h"
#include "precision/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_policy_kind {
    BB_POLICY_UNIFORM, ///< the pipeline's variant everywhere
    BB_POLICY_BAND,    ///< `inside` where |i - j| < width, the pipeline's variant elsewhere
} bb_policy_kind;

/// Whether what was fp32 in the seed takes the policy's variants.
typedef enum bb_policy_follow {
    BB_POLICY_FOLLOW_SP, ///< fp32, in fp64 where the variant is dp
    BB_POLICY_FOLLOW,    ///< the policy's variant
} bb_policy_follow;

/// "sp", "follow", NULL.
extern const char *const bb_policy_follow_names[];

/// The keys under `policy:` of a pipeline.
typedef struct bb_policy_config {
    int kind;       ///< bb_policy_kind
    bb_index width; ///< tiles; 1 is the diagonal alone
    int inside;     ///< bb_variant within the band
    int diagonal;   ///< bb_policy_follow: of the updates of diagonal tiles
} bb_policy_config;

extern const bb_schema bb_policy_schema;

/// Variant of tile (row, column) under a policy, where `outside` is the pipeline's own variant.
bb_variant bb_policy_variant(const bb_policy_config *policy, bb_variant outside, bb_index row,
                             bb_index column);

#ifdef __cplusplus
}
#endif

#endif

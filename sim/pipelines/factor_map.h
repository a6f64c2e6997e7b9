// SPDX-License-Identifier: Apache-2.0
//
// Map of a pipeline's policy on a covariance, resolved once for every engine from the data that its
// rule needs: norms of tiles, the noise floor, or a file.
#ifndef BB_SIM_PIPELINES_FACTOR_MAP_H
#define BB_SIM_PIPELINES_FACTOR_MAP_H

#include "precision/policy.h"
#include "sim/pipelines/factor_problem.h"

/// Map of a policy for a prepared problem. Errors: BB_INVALID (a table of another size, neither
/// tolerance nor noise floor), BB_IO, BB_MEMORY, the source's. Owner: the caller.
BB_CHECKED bb_status bb_factor_map_create(const bb_factor_problem *problem,
                                          const bb_policy_config *policy, bb_variant arithmetic,
                                          bb_policy_map **out);

/// Norms of the lower tiles of a prepared problem: out [tiles (tiles + 1) / 2], to set as its
/// `tile_norms` before creating several maps. Errors: BB_MEMORY, the source's. Owner: the caller.
BB_CHECKED bb_status bb_factor_map_norms(const bb_factor_problem *problem, double **out);

/// Map of a policy `table` for n measurements in tiles of `size`. Errors: BB_INVALID, BB_IO,
/// BB_MEMORY.
BB_CHECKED bb_status bb_factor_map_of_table(const bb_policy_config *policy, bb_index n,
                                            bb_index size, bb_variant arithmetic,
                                            bb_policy_map **out);

/// Lists the variants that tiles may get, the pipeline's own last, and returns their number. For a
/// table these are the variants in its file, or those of its policy row if the file cannot be read;
/// its reader reports that.
int bb_factor_map_variants(const bb_policy_config *policy, bb_variant arithmetic,
                           bb_variant out[BB_VARIANT_COUNT]);

#endif

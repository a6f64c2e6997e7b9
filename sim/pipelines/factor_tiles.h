// SPDX-License-Identifier: Apache-2.0
//
// The precision maps of a study: which variant the policy of each pipeline gives to the products
// into each tile.
#ifndef BB_SIM_PIPELINES_FACTOR_TILES_H
#define BB_SIM_PIPELINES_FACTOR_TILES_H

#include "sim/output/output_table.h"
#include "sim/pipelines/factor_problem.h"

/// What is written, in the group /tiles.
extern const bb_output_table bb_factor_tiles_outputs;

/// Writes the maps of those of `count` pipelines whose policy has one that is not uniform; nothing
/// where none has, or the matrix by itself is a failure. A searched one has none. Errors:
/// those of bb_factor_map_create, BB_MEMORY.
BB_CHECKED bb_status bb_factor_tiles_publish(const bb_factor_problem *problem,
                                             const bb_factor_pipeline *pipelines, bb_index count,
                                             bb_results *results);

#endif

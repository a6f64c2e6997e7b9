// SPDX-License-Identifier: Apache-2.0
//
// Precision maps of a study: variants that the policy of each pipeline assigns to the products into
// each tile.
#ifndef BB_SIM_PIPELINES_FACTOR_TILES_H
#define BB_SIM_PIPELINES_FACTOR_TILES_H

#include "sim/output/output_table.h"
#include "sim/pipelines/factor_problem.h"

/// Output table of the group /tiles.
extern const bb_output_table bb_factor_tiles_outputs;

/// Writes the maps of all pipelines with a policy that is not uniform, of `count`; no effect
/// without one, or if the matrix failed. Searched pipelines have no map. Errors: those of
/// bb_factor_map_create, BB_MEMORY.
BB_CHECKED bb_status bb_factor_tiles_publish(const bb_factor_problem *problem,
                                             const bb_factor_pipeline *pipelines, bb_index count,
                                             bb_results *results);

#endif

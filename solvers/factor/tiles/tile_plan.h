// SPDX-License-Identifier: Apache-2.0
//
// What the tiles of a matrix will be, before there is one: formats, sizes, bytes.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_PLAN_H
#define BB_SOLVERS_FACTOR_TILES_TILE_PLAN_H

#include "precision/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the tiles of a pipeline look like.
typedef struct bb_tile_plan {
    bb_index tile_size;
    bb_variant arithmetic; ///< of the pipeline
    bb_policy_config policy;
    const bb_policy_map *map; ///< the resolved policy; NULL: of a policy that needs no facts
    bb_policy_sweeps sweeps;  ///< whose products take the tiles' variants, not fp32
    double sweep_energy;      ///< of light sweeps: bb_light_tiles
    bool sums_from_c;         ///< fp16 sums start from C, not from 0
    size_t memory_limit;      ///< bytes that all tiles may take in memory; 0: any
    const char *swap_folder;  ///< where those go that have no room: bb_tile_store_place.folder
} bb_tile_plan;

/// Rows of tiles of a matrix, and rows of one of them: the last may have fewer than the others.
bb_index bb_tile_plan_tile_rows(bb_index n, bb_index tile_size);
bb_index bb_tile_plan_extent(bb_index n, bb_index tile_size, bb_index tile);

/// Format of a tile with a variant: of diagonal ones fp32 or fp64.
bb_format bb_tile_plan_format(bb_variant variant, bb_index row, bb_index column);

/// Bytes of the stored triangle, each tile in its own format, before there is a matrix.
size_t bb_tile_plan_bytes(const bb_tile_plan *plan, bb_index n);

/// What the triangle takes in memory, where a narrow value is a float: what the limit is held to.
double bb_tile_plan_memory_bytes(const bb_tile_plan *plan, bb_index n);

/// Whether the triangle exceeds the plan's limit, so that tiles are kept in a file.
bool bb_tile_plan_is_stored(const bb_tile_plan *plan, bb_index n);

/// The smallest `memory_limit` that a factorization can do with: 0 where none is set, or where the
/// whole triangle fits into it.
size_t bb_tile_plan_least_memory(const bb_tile_plan *plan, bb_index n);

#ifdef __cplusplus
}
#endif

#endif

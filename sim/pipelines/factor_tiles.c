// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_tiles.h"

#include "core/memory.h"
#include "sim/pipelines/factor_map.h"

#include <math.h>
#include <stdio.h>

enum { INDEX_BYTES = 24 };

static const bb_output rows[] = {
    {"variant", "variant", NULL, "variant of the matrix product", .note = "as in /results"},
    {"tile_row", "tile_row", "1", .long_name = "row of tiles"},
    {"tile_column", "tile_column", "1", .long_name = "column of tiles"},
    {"variant_<p>", "tile_row, tile_column", "1",
     "index of the variant of the products into a tile, for the pipeline of "
     "that index",
     .note = "NaN above the diagonal; before `escalate`; for `product` the variant "
             "of products beyond its bound; absent for uniform policies and searches"},
};

const bb_output_table bb_factor_tiles_outputs = {
    .title = "/tiles, ao and reconstructor with a policy", .group = "tiles", BB_OUTPUT_ROWS(rows)};

// True if a policy has a map to publish for this problem.
static bool has_map(const bb_factor_problem *problem, const bb_policy_config *policy)
{
    const bb_policy_row *row = bb_policy_describe(policy);
    const bool floorless =
        row->by_tolerance && isnan(policy->tolerance) && isnan(problem->noise_floor);
    return !row->is_uniform && !floorless;
}

static bb_status publish_axes(bb_index tiles, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &bb_factor_tiles_outputs;
    BB_TRY(bb_output_table_add_axis(table, "variant", BB_VARIANT_COUNT, bb_variant_names, NULL,
                                    results));
    BB_TRY(bb_output_table_add_axis(table, "tile_row", tiles, NULL, NULL, results));
    BB_TRY(bb_output_table_add_axis(table, "tile_column", tiles, NULL, NULL, results));
done:
    return status;
}

static bb_status publish_map(const bb_policy_map *map, bb_index pipeline, bb_results *results)
{
    bb_status status = BB_OK;
    char index[INDEX_BYTES];
    const bb_output_fill fill = {.name = index};
    const bb_index tiles = map->tile_rows;
    double *values = NULL; // [tiles][tiles]
    (void)snprintf(index, sizeof index, "%td", pipeline);
    BB_TRY(bb_evaluation_unset(tiles * tiles, &values));
    for (bb_index i = 0; i < tiles; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            values[i * tiles + j] = (double)bb_policy_map_at(map, i, j);
        }
    }
    BB_TRY(bb_output_table_add(&bb_factor_tiles_outputs, "variant_<p>", values, &fill, results));
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_factor_tiles_publish(const bb_factor_problem *problem,
                                  const bb_factor_pipeline *pipelines, bb_index count,
                                  bb_results *results)
{
    bb_status status = BB_OK;
    bb_factor_problem known = *problem; // the problem with the norms, which are computed once for
                                        // all maps
    double *norms = NULL;
    bb_policy_map *map = NULL;
    bool begun = false;
    for (bb_index p = 0; p < count && problem->outcome.kind == BB_OUTCOME_OK; ++p) {
        const bb_policy_config *policy = &pipelines[p].policy;
        const bb_policy_row *row = bb_policy_describe(policy);
        if (!has_map(problem, policy)) {
            continue;
        }
        if ((row->by_tolerance || row->by_tile_norms) && known.tile_norms == NULL) {
            BB_TRY(bb_factor_map_norms(problem, &norms));
            known.tile_norms = norms;
        }
        BB_TRY(bb_factor_map_create(&known, policy, (bb_variant)pipelines[p].arithmetic, &map));
        if (!begun) {
            BB_TRY(publish_axes(map->tile_rows, results));
            begun = true;
        }
        BB_TRY(publish_map(map, p, results));
        bb_policy_map_destroy(&map);
    }
done:
    bb_policy_map_destroy(&map);
    BB_RELEASE(&norms);
    return status;
}

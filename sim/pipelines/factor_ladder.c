// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_ladder.h"

#include "core/memory.h"
#include "solvers/tile_matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOLERANCES = 11 }; // of the cpu's mixtures

// A tile off the diagonal.
typedef struct tile {
    double norm, operations;
} tile;

static int compare(const void *a, const void *b)
{
    const double first = ((const tile *)a)->norm;
    const double second = ((const tile *)b)->norm;
    return (first > second) - (first < second);
}

// The tolerance with which the rule of precision/policy.c takes the first `count` tiles.
static double separate(const tile *tiles, bb_index count, bb_index narrow, double unit)
{
    const double last = tiles[narrow - 1].norm;
    return unit * (narrow < count ? sqrt(last) * sqrt(tiles[narrow].norm) : 2.0 * last);
}

// Tiles of one norm are all narrow or none is.
static void place_mixtures(const tile *tiles, bb_index count, double unit, bb_factor_ladder *out)
{
    double whole = 0.0;
    bb_index previous = -1;
    for (bb_index t = 0; t < count; ++t) {
        whole += tiles[t].operations;
    }
    for (int step = 0; step < BB_FACTOR_MIXTURES; ++step) {
        const double most = whole * (double)(BB_FACTOR_MIXTURES - step) / BB_FACTOR_MIXTURES;
        double held = 0.0;
        bb_index narrow = 0;
        for (bb_index t = 0; t < count && held + tiles[t].operations <= most; ++t) {
            held += tiles[t].operations;
            narrow = t + 1 == count || tiles[t].norm < tiles[t + 1].norm ? t + 1 : narrow;
        }
        if (narrow > 0 && narrow != previous) {
            out->tolerances[out->mixtures++] = separate(tiles, count, narrow, unit);
            previous = narrow;
        }
    }
}

static bb_status create_by_tile(const bb_factor_problem *problem, bb_variant arithmetic,
                                bb_factor_ladder *out)
{
    bb_status status = BB_OK;
    tile *tiles = NULL;
    const bb_index n = problem->matrix->rows;
    const bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    const bb_index rows = (n + size - 1) / size;
    bb_index count = 0;
    BB_REQUIRE(problem->tile_norms != NULL, BB_INTERNAL, "a ladder of tiles: no norms of them");
    BB_TRY(BB_ALLOCATE(rows * (rows + 1) / 2, &tiles));
    for (bb_index i = 0; i < rows; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            tiles[count++] =
                (tile){problem->tile_norms[i * (i + 1) / 2 + j], 2.0 * (double)j + 1.0};
        }
    }
    qsort(tiles, (size_t)count, sizeof *tiles, compare);
    const double norm = bb_tile_norms_sum(rows, problem->tile_norms);
    place_mixtures(tiles, count, (double)rows * bb_variant_unit_roundoff(arithmetic) / norm, out);
done:
    BB_RELEASE(&tiles);
    return status;
}

bb_status bb_factor_ladder_make(const bb_factor_problem *problem,
                                const bb_factor_pipeline *pipeline, bb_device_kind device,
                                bb_factor_ladder *out)
{
    bb_status status = BB_OK;
    *out = (bb_factor_ladder){.by_tile = device == BB_DEVICE_CUDA};
    if (out->by_tile) {
        BB_TRY(create_by_tile(problem, (bb_variant)pipeline->arithmetic, out));
    } else {
        for (int t = 0; t < TOLERANCES; ++t) {
            out->tolerances[out->mixtures++] = pow(10.0, -0.5 * (double)(t + 2));
        }
    }
done:
    return status;
}

int bb_factor_ladder_rungs(const bb_factor_ladder *ladder)
{
    return ladder->mixtures + 3;
}

// Between the pipeline's variant and `inside`.
static void mix(const bb_factor_ladder *ladder, int mixture, bb_factor_pipeline *out,
                char name[BB_FACTOR_RUNG_NAME])
{
    bb_policy_config *policy = &out->policy;
    policy->kind = BB_POLICY_PRODUCT;
    const bool by_product =
        !ladder->by_tile && bb_policy_products_fit(policy, (bb_variant)out->arithmetic);
    policy->kind = by_product ? BB_POLICY_PRODUCT : BB_POLICY_TILE_NORM;
    policy->tolerance = ladder->tolerances[mixture];
    if (ladder->by_tile) {
        policy->diagonal = BB_POLICY_FOLLOW_SP;
        out->sweeps = BB_POLICY_SWEEPS_SP;
    }
    (void)snprintf(name, BB_FACTOR_RUNG_NAME, "%s, else %s, by %s",
                   bb_variant_names[out->arithmetic], bb_variant_names[policy->inside],
                   by_product ? "product" : "tile_norm");
}

bb_factor_pipeline bb_factor_ladder_climb(const bb_factor_ladder *ladder,
                                          const bb_factor_pipeline *pipeline, int rung,
                                          char name[BB_FACTOR_RUNG_NAME])
{
    bb_factor_pipeline out = *pipeline;
    const int inside = ladder->mixtures + 1;
    out.escalate = false; // a rung that fails is not kept
    out.policy.kind = BB_POLICY_UNIFORM;
    out.policy.diagonal = BB_POLICY_FOLLOW;
    if (ladder->by_tile && out.policy.inside == (int)BB_VARIANT_SP) {
        out.policy.inside = BB_VARIANT_X3; // which sp beside half planes is
    }
    if (rung > 0 && rung < inside) {
        mix(ladder, rung - 1, &out, name);
        return out;
    }
    if (rung >= inside) {
        out.arithmetic = rung == inside ? out.policy.inside : (int)BB_VARIANT_DP;
        out.sweeps = rung == inside ? out.sweeps : (int)BB_POLICY_SWEEPS_SP;
    }
    (void)snprintf(name, BB_FACTOR_RUNG_NAME, "%s", bb_variant_names[out.arithmetic]);
    return out;
}

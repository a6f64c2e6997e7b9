// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_candidates.h"

#include "core/memory.h"
#include "solvers/factor/tiles/tile_matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOLERANCES = 41, PER_DECADE = 8 }; // of the cpu's mixtures

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
static void place_mixtures(const tile *tiles, bb_index count, double unit,
                           bb_factor_candidates *out)
{
    double total = 0.0;
    bb_index previous = -1;
    for (bb_index t = 0; t < count; ++t) {
        total += tiles[t].operations;
    }
    for (int step = 0; step < BB_FACTOR_MIXTURES; ++step) {
        const double maximum = total * (double)(BB_FACTOR_MIXTURES - step) / BB_FACTOR_MIXTURES;
        double held = 0.0;
        bb_index narrow = 0;
        for (bb_index t = 0; t < count && held + tiles[t].operations <= maximum; ++t) {
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
                                bb_factor_candidates *out)
{
    bb_status status = BB_OK;
    tile *tiles = NULL;
    const bb_index n = problem->matrix->rows;
    const bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    const bb_index rows = (n + size - 1) / size;
    bb_index count = 0;
    BB_REQUIRE(problem->tile_norms != NULL, BB_INTERNAL, "candidates by tile: no norms of them");
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

bb_status bb_factor_candidates_make(const bb_factor_problem *problem,
                                    const bb_factor_pipeline *pipeline, bb_device_kind device,
                                    bb_factor_candidates *out)
{
    bb_status status = BB_OK;
    *out = (bb_factor_candidates){.by_tile = device == BB_DEVICE_CUDA};
    if (out->by_tile) {
        BB_TRY(create_by_tile(problem, (bb_variant)pipeline->arithmetic, out));
    } else {
        for (int t = 0; t < TOLERANCES; ++t) {
            out->tolerances[out->mixtures++] = pow(10.0, -1.0 - (double)t / PER_DECADE);
        }
    }
done:
    return status;
}

// Between the pipeline's variant and `inside`.
bb_factor_pipeline bb_factor_candidates_mixture(const bb_factor_candidates *candidates,
                                                const bb_factor_pipeline *pipeline, int mixture,
                                                char name[BB_FACTOR_CANDIDATE_NAME])
{
    bb_factor_pipeline out = *pipeline;
    bb_policy_config *policy = &out.policy;
    out.escalate = false; // a candidate that fails is not kept
    policy->diagonal = candidates->by_tile ? BB_POLICY_FOLLOW_SP : BB_POLICY_FOLLOW;
    policy->tolerance = candidates->tolerances[mixture];
    if (candidates->by_tile) {
        out.sweeps = BB_POLICY_SWEEPS_SP;
        policy->inside = (int)bb_variant_describe((bb_variant)policy->inside)->in_halves;
    }
    policy->kind = BB_POLICY_PRODUCT;
    const bool by_product =
        !candidates->by_tile && bb_policy_products_fit(policy, (bb_variant)out.arithmetic);
    policy->kind = by_product ? BB_POLICY_PRODUCT : BB_POLICY_TILE_NORM;
    (void)snprintf(name, BB_FACTOR_CANDIDATE_NAME, "%s, else %s, by %s",
                   bb_variant_names[out.arithmetic], bb_variant_names[policy->inside],
                   by_product ? "product" : "tile_norm");
    return out;
}

bb_factor_pipeline bb_factor_candidates_uniform(const bb_factor_pipeline *pipeline,
                                                bb_variant variant, bb_device_kind device)
{
    bb_factor_pipeline out = *pipeline;
    const bb_variant_info *info = bb_variant_describe(variant);
    // With operands of their own a device keeps diagonal tiles and sweeps in fp32.
    const bool apart = device == BB_DEVICE_CUDA && info->panels == BB_VARIANT_PANELS_NARROWED;
    out.arithmetic = (int)variant;
    out.escalate = false;
    out.policy.kind = BB_POLICY_UNIFORM;
    out.policy.diagonal = apart ? BB_POLICY_FOLLOW_SP : BB_POLICY_FOLLOW;
    out.sweeps = apart || info->output == BB_FORMAT_FP64 ? (int)BB_POLICY_SWEEPS_SP : out.sweeps;
    return out;
}

static double cost_of(bb_variant variant)
{
    double shares[BB_VARIANT_COUNT] = {0.0};
    shares[variant] = 1.0;
    return bb_variant_relative_cost(shares);
}

// Cheaper, or as dear and more precise, or the one before in the list of variants.
static bool precedes(bb_variant a, bb_variant b)
{
    const double costs = cost_of(a) - cost_of(b);
    const double errors = bb_variant_unit_roundoff(a) - bb_variant_unit_roundoff(b);
    if (costs != 0.0) {
        return costs < 0.0;
    }
    return errors != 0.0 ? errors < 0.0 : a < b;
}

// What a promise without a list may use.
static bool is_usual(const bb_factor_pipeline *pipeline, bb_variant variant)
{
    const double cost = cost_of(variant);
    if ((int)variant == pipeline->arithmetic || bb_variant_describe(variant)->next == variant) {
        return true;
    }
    if (cost > cost_of(BB_VARIANT_DP)) {
        return false;
    }
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        if (v != (int)variant && cost_of((bb_variant)v) == cost &&
            precedes((bb_variant)v, variant)) {
            return false;
        }
    }
    return cost >= cost_of((bb_variant)pipeline->arithmetic) ||
           (int)variant == pipeline->policy.inside;
}

static bool is_listed(const bb_list *variants, bb_variant variant)
{
    const int *items = variants->items;
    bb_index i = 0;
    while (i < variants->count && items[i] != (int)variant) {
        ++i;
    }
    return i < variants->count;
}

int bb_factor_candidates_variants(const bb_factor_pipeline *pipeline,
                                  bb_variant out[BB_VARIANT_COUNT])
{
    const bb_list *listed = &pipeline->policy.variants;
    int count = 0;
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_variant variant = (bb_variant)v;
        if (listed->count > 0 ? !is_listed(listed, variant) : !is_usual(pipeline, variant)) {
            continue;
        }
        int place = count++;
        for (; place > 0 && precedes(variant, out[place - 1]); --place) {
            out[place] = out[place - 1];
        }
        out[place] = variant;
    }
    return count;
}

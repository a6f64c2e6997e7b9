// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_plan.h"

#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_spectrum.h"
#include "solvers/factor/tiles/tile_operand.h"

#include <math.h>

// Rounded copies of two tile columns, for every operand that may be asked for.
static double copies_bytes(const bb_tile_plan *plan, double n)
{
    bb_variant given[BB_VARIANT_COUNT];
    double bytes = 0.0;
    const int count = bb_factor_map_variants(&plan->policy, plan->arithmetic, given);
    for (int v = 0; v < count; ++v) {
        if (bb_variant_describe(given[v])->rounds) {
            bytes += 2.0 * n * (double)plan->tile_size *
                     (double)bb_tile_operand_bytes(bb_tile_operand_of(given[v]));
        }
    }
    return bytes;
}

// Iterations are not known before; so many are usual for a factor that is worth refining.
enum { USUAL_ITERATIONS = 8 };

static void plan_refinement(const bb_refine_config *config, bb_index n, bb_index rows,
                            bb_factor_need *out)
{
    bool refines = config->method != (int)BB_REFINE_NONE;
    bb_index iterations =
        config->iterations < USUAL_ITERATIONS ? config->iterations : USUAL_ITERATIONS;
    const bb_refinement_report usual = {.rows = rows, .iterations = rows * iterations};
    out->passes = refines ? (double)((1 + iterations) * bb_refinement_blocks(config, rows)) : 0.0;
    out->refinement_flops = refines ? bb_refinement_flops(n, &usual) : 0.0;
}

double bb_factor_pipeline_trials(const bb_factor_pipeline *pipeline)
{
    const double candidates = bb_policy_describe(&pipeline->policy)->is_search ? 12.0 : 1.0;
    return candidates * fmax(1.0, (double)pipeline->draws);
}

bb_status bb_factor_pipeline_need(const bb_factor_solver_config *solver,
                                  const bb_factor_pipeline *pipeline, bb_index n, bb_index rows,
                                  bb_factor_need *out)
{
    bb_status status = BB_OK;
    bb_policy_map *map = NULL;
    bb_tile_plan plan = bb_factor_pipeline_tiles(solver, pipeline);
    bb_index size = plan.tile_size < n ? plan.tile_size : n;
    const bb_policy_row *policy = bb_policy_describe(&pipeline->policy);
    bool wide = bb_variant_describe(plan.arithmetic)->output == BB_FORMAT_FP64;
    bool widest = policy->is_search || pipeline->escalate || wide;
    BB_TRY(bb_factor_spectrum_check(&solver->spectrum, n, size));
    if (policy->by_table) {
        BB_TRY(bb_factor_map_of_table(&plan.policy, n, size, plan.arithmetic, &map));
        plan.map = map;
    }
    out->operator_bytes = (double)bb_tile_plan_bytes(&plan, n);
    // Tiles of 16 bits are emulated in floats; dp ones among others are what they are.
    const bb_tile_plan emulated = {.tile_size = size,
                                   .arithmetic = widest ? BB_VARIANT_DP : BB_VARIANT_SP};
    out->host_bytes = fmax((double)bb_tile_plan_bytes(&emulated, n), out->operator_bytes) +
                      copies_bytes(&plan, (double)n) +
                      bb_refinement_bytes(&pipeline->refine, n, rows);
    plan_refinement(&pipeline->refine, n, rows, out);
    out->trials = bb_factor_pipeline_trials(pipeline);
    out->host_bytes += out->trials > 1.0 ? 8.0 * (double)n * (double)rows : 0.0; // of one beside
done:
    bb_policy_map_destroy(&map);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_plan.h"

#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_spectrum.h"
#include "sim/pipelines/storage_search.h"
#include "solvers/distributed/engine.h"
#include "solvers/factor/reconstructor.h"

#include <math.h>

double bb_factor_pipeline_trials(const bb_factor_pipeline *pipeline)
{
    const double candidates = bb_factor_pipeline_finds_arithmetic(pipeline) ? 12.0 : 1.0;
    if (bb_factor_pipeline_finds_storage(pipeline)) {
        return 1.0; // whose draws are those of the storage
    }
    return candidates * fmax(1.0, (double)pipeline->draws);
}

// Need of filling one triangle.
static bb_need half_fill(const bb_factor_extent *extent)
{
    return bb_need_repeated(extent->fill, 0.5);
}

// Need of one factorization on the CPU with its solves.
static bb_need tiles_need(const bb_factor_pipeline *pipeline, const bb_tile_plan *plan,
                          const bb_factor_extent *extent)
{
    bb_variant given[BB_VARIANT_COUNT];
    const bb_index n = extent->n;
    const double threads = extent->threads;
    const int count = bb_factor_map_variants(&plan->policy, plan->arithmetic, given);
    const bb_need update = bb_low_rank_update_need(n, extent->part, extent->rows);
    const bb_need refining =
        bb_refinement_need(&pipeline->refine, n, extent->rows, extent->fill, threads);
    const bb_need solving =
        bb_need_together(bb_need_together(refining, update),
                         bb_tile_cholesky_solve_need(plan, n, extent->rows, threads));
    const bb_need factoring = bb_tile_cholesky_factor_need(plan, n, count, given, threads);
    const bb_need matrix =
        bb_need_together(bb_tile_matrix_need(plan, n, threads), half_fill(extent));
    return bb_need_together(matrix, bb_need_in_turn(factoring, solving));
}

// Need of one factorization with its solves over processes, for the process with the most tiles.
static bb_status shared_need(const bb_factor_solver_config *solver,
                             const bb_factor_pipeline *pipeline, const bb_tile_plan *plan,
                             const bb_factor_extent *extent, bb_plan *lines, bb_need *out)
{
    bb_status status = BB_OK;
    bb_variant given[BB_VARIANT_COUNT];
    bb_engine_plan shared;
    const bb_engine_config config = {.grid = bb_factor_engine_grid(solver),
                                     .wire = (bb_wire)solver->wire,
                                     .workers = (bb_index)extent->threads};
    const int processes = bb_process_grid_size(config.grid);
    const int count = bb_factor_map_variants(&plan->policy, plan->arithmetic, given);
    BB_TRY(bb_engine_plan_make(&config, plan, extent->n, extent->rows, count, given, &shared));
    const bb_policy_row *rule = bb_policy_describe(&plan->policy);
    if (bb_factor_pipeline_finds_arithmetic(pipeline) ||
        pipeline->escalate) { // dp is the upper bound
        const bb_tile_plan widest = {.tile_size = solver->tile, .arithmetic = BB_VARIANT_DP};
        const bb_variant dp = BB_VARIANT_DP;
        bb_engine_plan upper;
        BB_TRY(bb_engine_plan_make(&config, &widest, extent->n, extent->rows, 1, &dp, &upper));
        shared.host_bytes = fmax(shared.host_bytes, upper.host_bytes);
    }
    const bb_need refining = bb_refinement_need(&pipeline->refine, extent->n, extent->rows,
                                                extent->fill, extent->threads);
    const bb_need update = bb_low_rank_update_need(extent->n, extent->part, extent->rows);
    *out = bb_need_together(bb_need_together(refining, update),
                            (bb_need){.host_bytes = shared.host_bytes, .seconds = shared.seconds});
    const double passes =
        rule->by_tolerance || rule->by_tile_norms ? 2.0 : 1.0; // norms, then tiles
    *out = bb_need_together(
        *out, bb_need_shared(bb_need_repeated(half_fill(extent), passes), (double)processes));
    if (lines != NULL) {
        BB_TRY(bb_plan_add(lines, pipeline->name,
                           "%dx%d processes: %.1f MB each, %.1f MB between them, %.1f MB to each "
                           "for sweeps",
                           config.grid.rows, config.grid.columns, 1e-6 * shared.host_bytes,
                           1e-6 * shared.factor_bytes, 1e-6 * shared.sweep_bytes));
    }
done:
    return status;
}

// Need on this host. The widest arithmetic of a pipeline that may change it is dp, which bounds its
// bytes.
static bb_need host_need(const bb_factor_solver_config *solver, const bb_factor_pipeline *pipeline,
                         const bb_tile_plan *plan, const bb_factor_extent *extent)
{
    const bb_policy_row *policy = bb_policy_describe(&plan->policy);
    const bb_tile_plan widest = {.tile_size = solver->tile,
                                 .arithmetic = BB_VARIANT_DP,
                                 .memory_limit = plan->memory_limit,
                                 .swap_folder = plan->swap_folder};
    bb_need need = tiles_need(pipeline, plan, extent);
    if (bb_factor_pipeline_finds_arithmetic(pipeline) || pipeline->escalate) {
        need = bb_need_in_turn(need, bb_need_resident(tiles_need(pipeline, &widest, extent)));
    }
    if (policy->by_tolerance || policy->by_tile_norms) {
        need = bb_need_in_turn(half_fill(extent), need); // norms of the tiles
    }
    return need;
}

// Checks that a factorization can run within the limit on its tiles; adds a line if they are in a
// file.
static bb_status check_limit(const bb_factor_pipeline *pipeline, const bb_tile_plan *plan,
                             bb_index n, bb_plan *lines)
{
    bb_status status = BB_OK;
    const double limit = (double)plan->memory_limit;
    const double least = (double)bb_tile_plan_least_memory(plan, n);
    const double triangle = bb_tile_plan_memory_bytes(plan, n);
    BB_REQUIRE(least <= limit || limit == 0.0, BB_INVALID,
               "pipeline %s: solver.memory_limit_gb = %g, expected at least %.4g, or %.4g for all "
               "tiles",
               pipeline->name, 1e-9 * limit, 1e-9 * least, 1e-9 * triangle);
    if (lines != NULL && bb_tile_plan_is_stored(plan, n)) {
        BB_TRY(bb_plan_add(lines, pipeline->name, "%.1f MB of %.1f MB of tiles in memory",
                           1e-6 * limit, 1e-6 * triangle));
    }
done:
    return status;
}

bb_status bb_factor_pipeline_need(const bb_factor_solver_config *solver,
                                  const bb_factor_pipeline *pipeline, int study_device,
                                  const bb_factor_extent *extent, bb_plan *lines, bb_need *out,
                                  double *operator_bytes)
{
    bb_status status = BB_OK;
    bb_policy_map *map = NULL;
    const bb_index n = extent->n;
    bb_tile_plan plan = bb_factor_pipeline_tiles(solver, pipeline);
    const bb_index size = plan.tile_size < n ? plan.tile_size : n;
    BB_TRY(bb_factor_spectrum_check(solver, n));
    if (bb_policy_describe(&pipeline->policy)->by_table) {
        BB_TRY(bb_factor_map_of_table(&plan.policy, n, size, plan.arithmetic, &map));
        plan.map = map;
    }
    *operator_bytes = (double)bb_tile_plan_bytes(&plan, n);
    bb_need once;
    if (bb_factor_engine_is_spread(solver)) {
        BB_TRY(shared_need(solver, pipeline, &plan, extent, lines, &once));
    } else if (bb_factor_device_supports(solver, pipeline, study_device)) {
        if (lines != NULL) {
            BB_TRY(bb_factor_device_print_limit(solver, pipeline, n, extent->rows + extent->part,
                                                lines));
        }
        once = bb_factor_device_need(solver, pipeline, n, extent->rows + extent->part);
    } else {
        BB_TRY(check_limit(pipeline, &plan, n, lines));
        once = host_need(solver, pipeline, &plan, extent);
    }
    const double trials = bb_factor_pipeline_trials(pipeline);
    const double rows = trials > 1.0 ? (double)extent->rows : 0.0;
    *out = bb_need_together(
        bb_need_repeated(once, trials),
        (bb_need){.host_bytes = sizeof(double) * (double)n * rows}); // estimate of a trial
done:
    bb_policy_map_destroy(&map);
    return status;
}

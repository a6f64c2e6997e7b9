// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_plan.h"

#include "solvers/factor/tiles/tile_panels.h"
#include "solvers/factor/tiles/tile_store.h"

bb_index bb_tile_plan_extent(bb_index n, bb_index tile_size, bb_index tile)
{
    bb_index rest = n - tile * tile_size;
    return rest < tile_size ? rest : tile_size;
}

bb_index bb_tile_plan_tile_rows(bb_index n, bb_index tile_size)
{
    return (n + tile_size - 1) / tile_size;
}

// Of a tile whose policy is not resolved.
static bb_variant planned_variant(const bb_tile_plan *plan, bb_index row, bb_index column)
{
    if (plan->map != NULL) {
        return bb_policy_map_at(plan->map, row, column);
    }
    bb_variant variant = bb_policy_variant(&plan->policy, plan->arithmetic, row, column);
    bool follows = plan->policy.diagonal == (int)BB_POLICY_FOLLOW;
    return row == column && !follows ? bb_variant_on_diagonal(variant) : variant;
}

bb_format bb_tile_plan_format(bb_variant variant, bb_index row, bb_index column)
{
    bb_format format = bb_variant_describe(variant)->output;
    return row == column && format != BB_FORMAT_FP64 ? BB_FORMAT_FP32 : format;
}

size_t bb_tile_plan_bytes(const bb_tile_plan *plan, bb_index n)
{
    size_t bytes = 0;
    bb_index tile_rows = bb_tile_plan_tile_rows(n, plan->tile_size);
    for (bb_index row = 0; row < tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bb_index items = bb_tile_plan_extent(n, plan->tile_size, row) *
                             bb_tile_plan_extent(n, plan->tile_size, column);
            bytes += (size_t)items *
                     (size_t)bb_format_describe(
                         bb_tile_plan_format(planned_variant(plan, row, column), row, column))
                         ->bytes;
        }
    }
    return bytes;
}

typedef struct planning {
    const bb_tile_plan *plan;
    bb_index n, size;
} planning;

static planning planning_of(const bb_tile_plan *plan, bb_index n)
{
    return (planning){plan, n, plan->tile_size < n ? plan->tile_size : n};
}

static size_t planned_bytes(const void *context, bb_index row, bb_index column)
{
    const planning *work = context;
    return bb_tile_store_bytes(
        bb_tile_plan_format(planned_variant(work->plan, row, column), row, column),
        bb_tile_plan_extent(work->n, work->size, row),
        bb_tile_plan_extent(work->n, work->size, column));
}

double bb_tile_plan_memory_bytes(const bb_tile_plan *plan, bb_index n)
{
    const planning work = planning_of(plan, n);
    double bytes = 0.0;
    for (bb_index row = 0; row < bb_tile_plan_tile_rows(n, work.size); ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bytes += (double)planned_bytes(&work, row, column);
        }
    }
    return bytes;
}

bool bb_tile_plan_is_stored(const bb_tile_plan *plan, bb_index n)
{
    return plan->memory_limit > 0 &&
           bb_tile_plan_memory_bytes(plan, n) > (double)plan->memory_limit;
}

size_t bb_tile_plan_least_memory(const bb_tile_plan *plan, bb_index n)
{
    const planning work = planning_of(plan, n);
    return bb_tile_plan_is_stored(plan, n)
               ? bb_tile_panels_least(bb_tile_plan_tile_rows(n, work.size), planned_bytes, &work)
               : 0;
}

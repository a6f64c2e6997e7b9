// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_cycle.h"

#include "core/memory.h"

enum { SWEEPS_BEFORE = 2, SWEEPS_AFTER = 1, SWEEPS_COARSEST = 4, SWEEPS_SYMMETRIC = 2 };
enum { RED = BB_UNWRAP_RED, BLACK = BB_UNWRAP_BLACK, COLOURS = BB_UNWRAP_COLOURS };

typedef struct launch_list {
    bb_kernel_launch **launches; // [count]
    bb_index count;
    bool is_exact; // without rounding
} launch_list;

static bb_status add_launch(launch_list *list, bb_kernel_launch *launch)
{
    bb_status status = BB_OK;
    BB_TRY(bb_memory_resize(list->count + 1, sizeof *list->launches, (void **)&list->launches));
    list->launches[list->count++] = launch;
done:
    return status;
}

// A step as bb_unwrap_step_run queues it, or its kernel alone.
static bb_status add(launch_list *list, const bb_unwrap_step *step)
{
    bb_status status = BB_OK;
    BB_TRY(add_launch(list, step->launch));
    for (int i = 0; i < BB_UNWRAP_WRITTEN && step->written[i] != NULL && !list->is_exact; ++i) {
        if (step->written[i]->rounding != NULL) {
            BB_TRY(add_launch(list, step->written[i]->rounding));
        }
    }
done:
    return status;
}

static bb_status add_both(launch_list *list, const bb_unwrap_step steps[COLOURS], int first)
{
    bb_status status = BB_OK;
    BB_TRY(add(list, &steps[first]));
    BB_TRY(add(list, &steps[1 - first]));
done:
    return status;
}

// Sweeps over both colours; one that ends in black leaves no residual there.
static bb_status add_sweeps(launch_list *list, const bb_unwrap_level *grid, int sweeps, int first)
{
    bb_status status = BB_OK;
    for (int i = 0; i < sweeps; ++i) {
        BB_TRY(add_both(list, grid->sweeps, first));
    }
done:
    return status;
}

// Sweeps on the way down: those of a coarse grid start from zero.
static bb_status add_sweeps_down(launch_list *list, const bb_unwrap_grids *grids, int level,
                                 int sweeps)
{
    bb_status status = BB_OK;
    const bb_unwrap_level *grid = &grids->levels[level];
    const bool is_coarse = level > 0;
    if (is_coarse) {
        BB_TRY(add_both(list, grid->first_sweep, RED));
    }
    BB_TRY(add_sweeps(list, grid, is_coarse ? sweeps - 1 : sweeps, RED));
done:
    return status;
}

static bb_status list_load(const bb_unwrap_grids *grids, launch_list *list)
{
    bb_status status = BB_OK;
    BB_TRY(add(list, &grids->pack_f));
    BB_TRY(add(list, &grids->pack_wx));
    BB_TRY(add(list, &grids->pack_wy));
    for (int level = 1; level < grids->count; ++level) {
        BB_TRY(add_both(list, grids->levels[level].coarsen, RED));
    }
done:
    return status;
}

static bb_status list_cycle(const bb_unwrap_grids *grids, launch_list *list)
{
    bb_status status = BB_OK;
    const int coarsest = grids->count - 1;
    for (int level = 0; level < coarsest; ++level) {
        BB_TRY(add_sweeps_down(list, grids, level, SWEEPS_BEFORE));
        BB_TRY(add_both(list, grids->levels[level + 1].restrict_residual, RED));
    }
    BB_TRY(add_sweeps_down(list, grids, coarsest, SWEEPS_COARSEST));
    for (int level = coarsest; level > 0; --level) {
        const bb_unwrap_level *coarse = &grids->levels[level];
        BB_TRY(add(list, &coarse->unpack));
        BB_TRY(add(list, &coarse->frame));
        BB_TRY(add_both(list, coarse->prolong, RED));
        BB_TRY(add_sweeps(list, &grids->levels[level - 1], SWEEPS_AFTER, BLACK));
    }
done:
    return status;
}

// Sweeps up are those down in reverse, and corrections go back as residuals came.
static bb_status list_symmetric(const bb_unwrap_grids *grids, launch_list *list)
{
    bb_status status = BB_OK;
    const int coarsest = grids->count - 1;
    BB_TRY(add(list, &grids->pack_f));
    for (int level = 0; level <= coarsest; ++level) {
        const bb_unwrap_level *grid = &grids->levels[level];
        BB_TRY(add_both(list, grid->first_sweep, RED));
        BB_TRY(add_sweeps(list, grid, SWEEPS_SYMMETRIC - 1, RED));
        if (level < coarsest) {
            BB_TRY(add_both(list, grids->levels[level + 1].restrict_residual, RED));
        }
    }
    BB_TRY(add_sweeps(list, &grids->levels[coarsest], SWEEPS_SYMMETRIC, BLACK));
    for (int level = coarsest; level > 0; --level) {
        BB_TRY(add(list, &grids->levels[level].unpack));
        BB_TRY(add_both(list, grids->levels[level].inject, RED));
        BB_TRY(add_sweeps(list, &grids->levels[level - 1], SWEEPS_SYMMETRIC, BLACK));
    }
    BB_TRY(add(list, &grids->unpack));
done:
    return status;
}

static bb_status create(bb_status (*fill)(const bb_unwrap_grids *, launch_list *),
                        const bb_unwrap_grids *grids, bool is_exact, bb_kernel_sequence **out)
{
    bb_status status = BB_OK;
    launch_list list = {.is_exact = is_exact};
    BB_TRY(fill(grids, &list));
    BB_TRY(bb_kernel_sequence_create(list.launches, list.count, out));
done:
    BB_RELEASE(&list.launches);
    return status;
}

bb_status bb_unwrap_cycle_create_load(const bb_unwrap_grids *grids, bb_kernel_sequence **out)
{
    return create(list_load, grids, false, out);
}

bb_status bb_unwrap_cycle_create(const bb_unwrap_grids *grids, bb_kernel_sequence **out)
{
    return create(list_cycle, grids, false, out);
}

bb_status bb_unwrap_cycle_create_symmetric(const bb_unwrap_grids *grids, bool is_exact,
                                           bb_kernel_sequence **out)
{
    return create(list_symmetric, grids, is_exact, out);
}

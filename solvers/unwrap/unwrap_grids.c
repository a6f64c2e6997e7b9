// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_grids.h"

enum { SWEEPS_BEFORE = 2, SWEEPS_AFTER = 1, SWEEPS_COARSEST = 4 };

static const char *working(const bb_unwrap_config *config, bb_unwrap_slot slot)
{
    return bb_unwrap_field_type(config->slots[slot].arithmetic);
}

static bb_status create_fields(bb_unwrap_grids *grids, const bb_unwrap_config *config, int level,
                               bb_index columns, bb_index rows)
{
    bb_status status = BB_OK;
    bb_unwrap_level *grid = &grids->levels[level];
    const bb_unwrap_numbers *slots = config->slots;
    const bb_format weights = slots[level == 0 ? BB_UNWRAP_GRADIENT : BB_UNWRAP_TRANSFER].storage;
    const bb_format rhs = slots[level == 0 ? BB_UNWRAP_GRADIENT : BB_UNWRAP_RESIDUAL].storage;
    bb_kernel_context *context = grids->context;
    BB_TRY(bb_unwrap_field_create(context, slots[BB_UNWRAP_SMOOTHER].storage, columns, rows,
                                  &grid->u));
    BB_TRY(bb_unwrap_field_create(context, rhs, columns, rows, &grid->f));
    BB_TRY(bb_unwrap_field_create(context, weights, columns, rows, &grid->wx));
    BB_TRY(bb_unwrap_field_create(context, weights, columns, rows, &grid->wy));
done:
    return status;
}

static bb_status create_sweeps(bb_unwrap_grids *grids, const bb_unwrap_config *config, int level)
{
    bb_status status = BB_OK;
    bb_unwrap_level *grid = &grids->levels[level];
    for (int colour = 0; colour < 2; ++colour) {
        const bb_unwrap_recipe recipe = {
            .use = {.file = "unwrap_sweep.kernel",
                    .types = {{"U", bb_unwrap_field_type(grid->u.format)},
                              {"F", bb_unwrap_field_type(grid->f.format)},
                              {"W", bb_unwrap_field_type(grid->wx.format)},
                              {"WORK", working(config, BB_UNWRAP_SMOOTHER)}},
                    .type_count = 4},
            .fields = {&grid->u, &grid->f, &grid->wx, &grid->wy},
            .parameters = {{.parts = {colour}, .integer = colour}},
            .written = {&grid->u},
        };
        BB_TRY(bb_unwrap_step_create(grids->context, &recipe, &grid->sweeps[colour]));
    }
done:
    return status;
}

// Between a grid and the next coarser one.
static bb_status create_transfers(bb_unwrap_grids *grids, const bb_unwrap_config *config, int level)
{
    bb_status status = BB_OK;
    bb_unwrap_level *fine = &grids->levels[level];
    bb_unwrap_level *coarse = &grids->levels[level + 1];
    const char *u = bb_unwrap_field_type(fine->u.format);
    const char *fine_weight = bb_unwrap_field_type(fine->wx.format);
    const bb_unwrap_recipe coarsen = {
        .use = {.file = "unwrap_coarsen.kernel",
                .types = {{"W", fine_weight},
                          {"C", bb_unwrap_field_type(coarse->wx.format)},
                          {"WORK", working(config, BB_UNWRAP_TRANSFER)}},
                .type_count = 3},
        .fields = {&fine->wx, &fine->wy, &coarse->wx, &coarse->wy},
        .written = {&coarse->wx, &coarse->wy},
    };
    const bb_unwrap_recipe restricted = {
        .use = {.file = "unwrap_restrict.kernel",
                .types = {{"U", u},
                          {"F", bb_unwrap_field_type(fine->f.format)},
                          {"W", fine_weight},
                          {"R", bb_unwrap_field_type(coarse->f.format)},
                          {"WORK", working(config, BB_UNWRAP_RESIDUAL)}},
                .type_count = 5},
        .fields = {&fine->u, &fine->f, &fine->wx, &fine->wy, &coarse->f},
        .written = {&coarse->f},
    };
    const bb_unwrap_recipe prolong = {
        .use = {.file = "unwrap_prolong.kernel",
                .types = {{"U", u}, {"WORK", working(config, BB_UNWRAP_TRANSFER)}},
                .type_count = 2},
        .fields = {&coarse->u, &fine->u},
        .written = {&fine->u},
    };
    BB_TRY(bb_unwrap_step_create(grids->context, &coarsen, &fine->coarsen));
    BB_TRY(bb_unwrap_step_create(grids->context, &restricted, &fine->restrict_residual));
    BB_TRY(bb_unwrap_step_create(grids->context, &prolong, &fine->prolong));
done:
    return status;
}

bb_status bb_unwrap_grids_create(bb_kernel_context *context, const bb_unwrap_config *config,
                                 bb_index columns, bb_index rows, bb_unwrap_grids *out)
{
    bb_status status = BB_OK;
    bool is_coarsest = false;
    *out = (bb_unwrap_grids){.context = context};
    while (!is_coarsest) {
        BB_TRY(create_fields(out, config, out->count++, columns, rows));
        is_coarsest = (columns <= 2 && rows <= 2) || out->count == BB_UNWRAP_LEVELS;
        columns = (columns + 1) / 2;
        rows = (rows + 1) / 2;
    }
    for (int level = 0; level < out->count; ++level) {
        BB_TRY(create_sweeps(out, config, level));
        if (level + 1 < out->count) {
            BB_TRY(create_transfers(out, config, level));
        }
    }
done:
    return status;
}

void bb_unwrap_grids_release(bb_unwrap_grids *grids)
{
    for (int i = 0; i < grids->count; ++i) {
        bb_unwrap_level *grid = &grids->levels[i];
        bb_unwrap_step_release(&grid->sweeps[0]);
        bb_unwrap_step_release(&grid->sweeps[1]);
        bb_unwrap_step_release(&grid->coarsen);
        bb_unwrap_step_release(&grid->restrict_residual);
        bb_unwrap_step_release(&grid->prolong);
        bb_unwrap_field_release(grids->context, &grid->u);
        bb_unwrap_field_release(grids->context, &grid->f);
        bb_unwrap_field_release(grids->context, &grid->wx);
        bb_unwrap_field_release(grids->context, &grid->wy);
    }
    grids->count = 0;
}

bb_status bb_unwrap_grids_coarsen(bb_unwrap_grids *grids)
{
    bb_status status = BB_OK;
    for (int level = 0; level + 1 < grids->count; ++level) {
        BB_TRY(bb_unwrap_step_run(&grids->levels[level].coarsen));
    }
done:
    return status;
}

// Sweeps over both colours, in the other order on the way up.
static bb_status sweep(bb_unwrap_level *grid, int sweeps, int first)
{
    bb_status status = BB_OK;
    for (int i = 0; i < sweeps; ++i) {
        BB_TRY(bb_unwrap_step_run(&grid->sweeps[first]));
        BB_TRY(bb_unwrap_step_run(&grid->sweeps[1 - first]));
    }
done:
    return status;
}

bb_status bb_unwrap_grids_cycle(bb_unwrap_grids *grids)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(grids->context);
    const int coarsest = grids->count - 1;
    for (int level = 0; level < coarsest; ++level) {
        bb_unwrap_field *correction = &grids->levels[level + 1].u;
        BB_TRY(sweep(&grids->levels[level], SWEEPS_BEFORE, 0));
        BB_TRY(bb_unwrap_step_run(&grids->levels[level].restrict_residual));
        BB_TRY(bb_device_zero(device, correction->block, correction->bytes));
    }
    BB_TRY(sweep(&grids->levels[coarsest], SWEEPS_COARSEST, 0));
    for (int level = coarsest - 1; level >= 0; --level) {
        BB_TRY(bb_unwrap_step_run(&grids->levels[level].prolong));
        BB_TRY(sweep(&grids->levels[level], SWEEPS_AFTER, 1));
    }
done:
    return status;
}

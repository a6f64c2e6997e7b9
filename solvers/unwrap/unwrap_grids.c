// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_grids.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

// Numbers of sweeps of a V-cycle, V(2,1) with red-black sweeps, and of the symmetric cycle.
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

// Adds a step as bb_unwrap_step_run queues it, or only its kernel, without rounding.
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

// Adds sweeps over both colours; after a sweep that ends with black the residual of black points is
// zero.
static bb_status add_sweeps(launch_list *list, const bb_unwrap_level *grid, int sweeps, int first)
{
    bb_status status = BB_OK;
    for (int i = 0; i < sweeps; ++i) {
        BB_TRY(add_both(list, grid->sweeps, first));
    }
done:
    return status;
}

// Adds the sweeps on the way down; the first one of a coarse grid starts from zero.
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

// Symmetric cycle: sweeps up mirror those down, and injection is the transpose of the restriction.
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

// With `is_exact`, rounding to formats narrower than their words is omitted.
static bb_status create_sequence(bb_status (*fill)(const bb_unwrap_grids *, launch_list *),
                                 const bb_unwrap_grids *grids, bool is_exact,
                                 bb_kernel_sequence **out)
{
    bb_status status = BB_OK;
    launch_list list = {.is_exact = is_exact};
    BB_TRY(fill(grids, &list));
    BB_TRY(bb_kernel_sequence_create(list.launches, list.count, out));
done:
    BB_RELEASE(&list.launches);
    return status;
}

enum { MARGINS = 3, FRAMES = 2 };

static const char *working(const bb_unwrap_config *config, bb_unwrap_slot slot)
{
    return bb_unwrap_field_type(config->slots[slot].arithmetic);
}

static bb_scalar colour_parameter(int colour)
{
    return (bb_scalar){.parts = {colour}, .integer = colour};
}

static bb_format weights_format(const bb_unwrap_config *config, int level)
{
    return config->slots[level == 0 ? BB_UNWRAP_GRADIENT : BB_UNWRAP_TRANSFER].storage;
}

static bb_format rhs_format(const bb_unwrap_config *config, int level)
{
    return config->slots[level == 0 ? BB_UNWRAP_GRADIENT : BB_UNWRAP_RESIDUAL].storage;
}

static bb_status create_fields(bb_unwrap_grids *grids, const bb_unwrap_config *config, int level,
                               bb_index columns, bb_index rows)
{
    bb_status status = BB_OK;
    bb_unwrap_level *grid = &grids->levels[level];
    bb_kernel_context *context = grids->context;
    const bb_format solution = config->slots[BB_UNWRAP_SMOOTHER].storage;
    const bb_format rhs = rhs_format(config, level);
    const bb_format weights = weights_format(config, level);
    const bb_index half = (columns + 1) / 2 + MARGINS;
    const bb_index height = rows + MARGINS;
    for (int colour = 0; colour < COLOURS; ++colour) {
        BB_TRY(bb_unwrap_field_create(context, solution, half, height, &grid->u[colour]));
        BB_TRY(bb_unwrap_field_create(context, rhs, half, height, &grid->f[colour]));
        BB_TRY(bb_unwrap_field_create(context, weights, half, height, &grid->wx[colour]));
        BB_TRY(bb_unwrap_field_create(context, weights, half, height, &grid->wy[colour]));
    }
    if (level > 0) {
        BB_TRY(bb_unwrap_field_create(context, solution, columns, rows, &grid->plain));
        BB_TRY(bb_unwrap_field_create(context, solution, columns + FRAMES, rows + FRAMES,
                                      &grid->framed));
    } else {
        BB_TRY(bb_unwrap_field_create(context, solution, columns, rows, &grids->u));
        BB_TRY(bb_unwrap_field_create(context, rhs, columns, rows, &grids->f));
        BB_TRY(bb_unwrap_field_create(context, weights, columns, rows, &grids->wx));
        BB_TRY(bb_unwrap_field_create(context, weights, columns, rows, &grids->wy));
    }
done:
    return status;
}

static bb_status create_sweeps(bb_unwrap_grids *grids, const bb_unwrap_config *config, int level)
{
    bb_status status = BB_OK;
    bb_unwrap_level *grid = &grids->levels[level];
    for (int colour = 0; colour < COLOURS; ++colour) {
        const int other = 1 - colour;
        const bb_unwrap_recipe recipe = {
            .use = {.file = "unwrap_sweep.kernel",
                    .types = {{"U", bb_unwrap_field_type(grid->u[0].format)},
                              {"F", bb_unwrap_field_type(grid->f[0].format)},
                              {"W", bb_unwrap_field_type(grid->wx[0].format)},
                              {"WORK", working(config, BB_UNWRAP_SMOOTHER)}},
                    .type_count = 4},
            .fields = {&grid->u[colour], &grid->u[other], &grid->f[colour], &grid->wx[colour],
                       &grid->wx[other], &grid->wy[colour], &grid->wy[other]},
            .parameters = {colour_parameter(colour)},
            .written = {&grid->u[colour]},
        };
        BB_TRY(bb_unwrap_step_create(grids->context, &recipe, &grid->sweeps[colour]));
    }
done:
    return status;
}

// Sweep that starts from a zero solution.
static bb_status create_first_sweep(bb_unwrap_grids *grids, const bb_unwrap_config *config,
                                    int level)
{
    bb_status status = BB_OK;
    bb_unwrap_level *grid = &grids->levels[level];
    const bb_kernel_use use = {.file = "unwrap_first_red.kernel",
                               .types = {{"U", bb_unwrap_field_type(grid->u[0].format)},
                                         {"F", bb_unwrap_field_type(grid->f[0].format)},
                                         {"W", bb_unwrap_field_type(grid->wx[0].format)},
                                         {"WORK", working(config, BB_UNWRAP_SMOOTHER)}},
                               .type_count = 4};
    const bb_unwrap_recipe red = {
        .use = use,
        .fields = {&grid->u[RED], &grid->f[RED], &grid->wx[RED], &grid->wx[BLACK], &grid->wy[RED],
                   &grid->wy[BLACK]},
        .written = {&grid->u[RED]},
    };
    bb_unwrap_recipe black = {
        .use = use,
        .fields = {&grid->u[BLACK], &grid->u[RED], &grid->f[BLACK], &grid->wx[BLACK],
                   &grid->wx[RED], &grid->wy[BLACK], &grid->wy[RED]},
        .written = {&grid->u[BLACK]},
    };
    black.use.file = "unwrap_first_black.kernel";
    BB_TRY(bb_unwrap_step_create(grids->context, &red, &grid->first_sweep[RED]));
    BB_TRY(bb_unwrap_step_create(grids->context, &black, &grid->first_sweep[BLACK]));
done:
    return status;
}

// Steps from a grid to the points of one colour of the next coarser one.
static bb_status create_restriction(bb_unwrap_grids *grids, const bb_unwrap_config *config,
                                    int level, int colour)
{
    bb_status status = BB_OK;
    const bb_unwrap_level *fine = &grids->levels[level - 1];
    bb_unwrap_level *coarse = &grids->levels[level];
    const char *fine_weight = bb_unwrap_field_type(fine->wx[0].format);
    const bb_unwrap_recipe coarsen = {
        .use = {.file = "unwrap_coarsen.kernel",
                .types = {{"W", fine_weight},
                          {"C", bb_unwrap_field_type(coarse->wx[0].format)},
                          {"WORK", working(config, BB_UNWRAP_TRANSFER)}},
                .type_count = 3},
        .fields = {&fine->wx[RED], &fine->wx[BLACK], &fine->wy[RED], &fine->wy[BLACK],
                   &coarse->wx[colour], &coarse->wy[colour]},
        .parameters = {colour_parameter(colour)},
        .written = {&coarse->wx[colour], &coarse->wy[colour]},
    };
    bb_unwrap_recipe restricted = {
        .use = {.file = "unwrap_restrict.kernel",
                .types = {{"U", bb_unwrap_field_type(fine->u[0].format)},
                          {"F", bb_unwrap_field_type(fine->f[0].format)},
                          {"W", fine_weight},
                          {"R", bb_unwrap_field_type(coarse->f[0].format)},
                          {"WORK", working(config, BB_UNWRAP_RESIDUAL)}},
                .type_count = 5},
        .fields = {&fine->u[RED], &fine->u[BLACK], &fine->f[RED], &fine->wx[RED], &fine->wx[BLACK],
                   &fine->wy[RED], &fine->wy[BLACK], &coarse->f[colour]},
        .parameters = {colour_parameter(colour)},
        .written = {&coarse->f[colour]},
    };
    BB_TRY(bb_unwrap_step_create(grids->context, &coarsen, &coarse->coarsen[colour]));
    if (fine->u[0].rounding != NULL) { // black points have a residual, too
        restricted.use.file = "unwrap_restrict_all.kernel";
        const bb_unwrap_field *fields[] = {&fine->u[RED],   &fine->u[BLACK],  &fine->f[RED],
                                           &fine->f[BLACK], &fine->wx[RED],   &fine->wx[BLACK],
                                           &fine->wy[RED],  &fine->wy[BLACK], &coarse->f[colour]};
        memcpy(restricted.fields, fields, sizeof fields);
    }
    BB_TRY(bb_unwrap_step_create(grids->context, &restricted, &coarse->restrict_residual[colour]));
done:
    return status;
}

static bb_status create_unpacking(bb_unwrap_grids *grids, int level, const bb_unwrap_field *plain,
                                  bb_unwrap_step *out)
{
    const bb_unwrap_level *grid = &grids->levels[level];
    const bb_unwrap_recipe recipe = {
        .use = {.file = "unwrap_unpack.kernel",
                .types = {{"U", bb_unwrap_field_type(plain->format)}},
                .type_count = 1},
        .fields = {&grid->u[RED], &grid->u[BLACK], plain},
    };
    return bb_unwrap_step_create(grids->context, &recipe, out);
}

// Steps from a grid to the next finer one.
static bb_status create_prolongation(bb_unwrap_grids *grids, const bb_unwrap_config *config,
                                     int level)
{
    bb_status status = BB_OK;
    bb_unwrap_level *fine = &grids->levels[level - 1];
    bb_unwrap_level *coarse = &grids->levels[level];
    const char *type = bb_unwrap_field_type(fine->u[0].format);
    const bb_unwrap_recipe frame = {
        .use = {.file = "unwrap_frame.kernel", .types = {{"U", type}}, .type_count = 1},
        .fields = {&coarse->plain, &coarse->framed},
    };
    BB_TRY(create_unpacking(grids, level, &coarse->plain, &coarse->unpack));
    BB_TRY(bb_unwrap_step_create(grids->context, &frame, &coarse->frame));
    for (int colour = 0; colour < COLOURS; ++colour) {
        const bb_unwrap_recipe prolong = {
            .use = {.file = "unwrap_prolong.kernel",
                    .types = {{"U", type}, {"WORK", working(config, BB_UNWRAP_TRANSFER)}},
                    .type_count = 2},
            .fields = {&coarse->framed, &fine->u[colour]},
            .parameters = {colour_parameter(colour)},
            .written = {&fine->u[colour]},
        };
        const bb_unwrap_recipe inject = {
            .use = {.file = "unwrap_inject.kernel", .types = {{"U", type}}, .type_count = 1},
            .fields = {&coarse->plain, &fine->u[colour]},
            .written = {&fine->u[colour]},
        };
        BB_TRY(bb_unwrap_step_create(grids->context, &prolong, &coarse->prolong[colour]));
        BB_TRY(bb_unwrap_step_create(grids->context, &inject, &coarse->inject[colour]));
    }
done:
    return status;
}

// Steps between the finest grid and its input and output fields.
static bb_status create_packing(bb_unwrap_grids *grids)
{
    bb_status status = BB_OK;
    bb_unwrap_level *finest = &grids->levels[0];
    const struct {
        const bb_unwrap_field *plain;
        bb_unwrap_field *packed;
        bb_unwrap_step *step;
    } packs[] = {{&grids->u, finest->u, &grids->pack_u},
                 {&grids->f, finest->f, &grids->pack_f},
                 {&grids->wx, finest->wx, &grids->pack_wx},
                 {&grids->wy, finest->wy, &grids->pack_wy}};
    for (size_t i = 0; i < sizeof packs / sizeof packs[0]; ++i) {
        const char *type = bb_unwrap_field_type(packs[i].plain->format);
        const bb_unwrap_recipe recipe = {
            .use = {.file = "unwrap_pack.kernel",
                    .types = {{"A", type}, {"P", type}},
                    .type_count = 2},
            .fields = {packs[i].plain, &packs[i].packed[RED], &packs[i].packed[BLACK]},
        };
        BB_TRY(bb_unwrap_step_create(grids->context, &recipe, packs[i].step));
    }
    BB_TRY(create_unpacking(grids, 0, &grids->u, &grids->unpack));
done:
    return status;
}

static bb_status create_measure(bb_unwrap_grids *grids)
{
    bb_status status = BB_OK;
    const bb_unwrap_field *correction = &grids->levels[grids->count > 2 ? 2 : 1].plain;
    const bb_unwrap_recipe recipe = {
        .use = {.file = "unwrap_largest.kernel",
                .types = {{"U", bb_unwrap_field_type(correction->format)}},
                .type_count = 1},
        .fields = {correction, &grids->correction},
    };
    BB_TRY(bb_unwrap_field_create(grids->context, BB_FORMAT_FP64, 1, 1, &grids->correction));
    BB_TRY(bb_unwrap_step_create(grids->context, &recipe, &grids->measure));
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
    BB_TRY(create_packing(out));
    if (out->count > 1) {
        BB_TRY(create_measure(out));
    }
    for (int level = 0; level < out->count; ++level) {
        BB_TRY(create_sweeps(out, config, level));
        BB_TRY(create_first_sweep(out, config, level));
        for (int colour = 0; colour < COLOURS && level > 0; ++colour) {
            BB_TRY(create_restriction(out, config, level, colour));
        }
        if (level > 0) {
            BB_TRY(create_prolongation(out, config, level));
        }
    }
    BB_TRY(create_sequence(list_load, out, false, &out->load));
    BB_TRY(create_sequence(list_cycle, out, false, &out->cycle));
    BB_TRY(create_sequence(list_symmetric, out, !bb_unwrap_config_supports_cg(config),
                           &out->precondition));
done:
    return status;
}

void bb_unwrap_grids_fields(bb_unwrap_level *grid, bb_unwrap_field *out[BB_UNWRAP_LEVEL_FIELDS])
{
    int count = 0;
    for (int colour = 0; colour < COLOURS; ++colour) {
        out[count++] = &grid->u[colour];
        out[count++] = &grid->f[colour];
        out[count++] = &grid->wx[colour];
        out[count++] = &grid->wy[colour];
    }
    out[count++] = &grid->plain;
    out[count] = &grid->framed;
}

static void release_level(bb_kernel_context *context, bb_unwrap_level *grid)
{
    bb_unwrap_field *fields[BB_UNWRAP_LEVEL_FIELDS];
    bb_unwrap_grids_fields(grid, fields);
    for (int i = 0; i < BB_UNWRAP_LEVEL_FIELDS; ++i) {
        bb_unwrap_field_release(context, fields[i]);
    }
    for (int colour = 0; colour < COLOURS; ++colour) {
        bb_unwrap_step_release(&grid->sweeps[colour]);
        bb_unwrap_step_release(&grid->first_sweep[colour]);
        bb_unwrap_step_release(&grid->coarsen[colour]);
        bb_unwrap_step_release(&grid->restrict_residual[colour]);
        bb_unwrap_step_release(&grid->prolong[colour]);
        bb_unwrap_step_release(&grid->inject[colour]);
    }
    bb_unwrap_step_release(&grid->unpack);
    bb_unwrap_step_release(&grid->frame);
}

void bb_unwrap_grids_release(bb_unwrap_grids *grids)
{
    bb_unwrap_field *const fields[] = {&grids->u, &grids->f, &grids->wx, &grids->wy,
                                       &grids->correction};
    bb_kernel_sequence_destroy(&grids->load);
    bb_kernel_sequence_destroy(&grids->cycle);
    bb_kernel_sequence_destroy(&grids->precondition);
    for (int i = 0; i < grids->count; ++i) {
        release_level(grids->context, &grids->levels[i]);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        bb_unwrap_field_release(grids->context, fields[i]);
    }
    bb_unwrap_step_release(&grids->pack_u);
    bb_unwrap_step_release(&grids->pack_f);
    bb_unwrap_step_release(&grids->pack_wx);
    bb_unwrap_step_release(&grids->pack_wy);
    bb_unwrap_step_release(&grids->unpack);
    bb_unwrap_step_release(&grids->measure);
    grids->count = 0;
}

bb_status bb_unwrap_grids_clear(bb_unwrap_grids *grids)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(grids->context);
    for (int colour = 0; colour < COLOURS; ++colour) {
        const bb_unwrap_field *u = &grids->levels[0].u[colour];
        BB_TRY(bb_device_zero(device, u->block, u->bytes));
    }
done:
    return status;
}

bb_status bb_unwrap_grids_load(bb_unwrap_grids *grids)
{
    return bb_kernel_sequence_queue(grids->load);
}

bb_status bb_unwrap_grids_cycle(bb_unwrap_grids *grids)
{
    return bb_kernel_sequence_queue(grids->cycle);
}

bb_status bb_unwrap_grids_measure(bb_unwrap_grids *grids)
{
    return grids->count > 1 ? bb_unwrap_step_run(&grids->measure) : BB_OK;
}

bb_status bb_unwrap_grids_correction(bb_unwrap_grids *grids, double *out)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(grids->context);
    *out = INFINITY;
    if (grids->count > 1) {
        BB_TRY(bb_unwrap_grids_measure(grids));
        BB_TRY(bb_device_download(device, out, grids->correction.block, sizeof *out));
    }
done:
    return status;
}

bb_status bb_unwrap_grids_store(bb_unwrap_grids *grids)
{
    return bb_unwrap_step_run(&grids->unpack);
}

bb_status bb_unwrap_grids_restore(bb_unwrap_grids *grids)
{
    return bb_unwrap_step_run(&grids->pack_u);
}

bb_status bb_unwrap_grids_precondition(bb_unwrap_grids *grids)
{
    return bb_kernel_sequence_queue(grids->precondition);
}

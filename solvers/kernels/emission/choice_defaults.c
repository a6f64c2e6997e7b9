// SPDX-License-Identifier: Apache-2.0
//
// Default variants: by the program, and on GPUs also by its sizes. The thresholds follow from
// tuning on an H200 (docs/lab/kernels.md, 12).
#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/emission/emission_locals.h"

#include <math.h>

enum {
    // Processors
    POINT_TILE = 4096, ///< points without sums
    SUM_TILE = 512,    ///< points with iterators around the tile
    LANE_TILE = 64,    ///< points with long sums by lanes
    SHORT_TILE = 1024, ///< points with short sums of data-dependent length
    LINES = 16,        ///< lines per item: neighbouring reads then hit the core's private caches
    // Devices
    GROUP_ITEMS = 256,
    GROUP_COLUMNS = 32,
    GROUP_ROWS = 8,
    POINTS_EACH = 4,
    WARP_ITEMS = 32,
    LANE_ITEMS = 128,
    // GPUs, by sizes
    ITEMS_EACH = 8,           ///< items of a sum per work-item
    SPLIT_ITEMS = 64,         ///< work-items that add a chunk of a sum by lanes
    SPLIT_POINTS = 2,         ///< points per work-item that adds chunks of their sums
    BOX_SIDE = 16,            ///< work-items per side of a group that caches boxes of matrices
    STENCIL_COLUMNS = 64,     ///< work-items of a group over a stencil, along columns
    STENCIL_ROWS = 4,         ///< work-items of such a group along rows
    LOCAL_BYTES = 48 << 10,   ///< local memory that a group may declare
    VECTOR_BYTES = 16,        ///< bytes that a work-item loads at once
    FULL_GROUPS = 128,        ///< work-groups that occupy all multiprocessors
    RESIDENT_ITEMS = 1 << 18, ///< work-items that run concurrently
    FULL_ITEMS = 1 << 20,     ///< work-items that fill a GPU and hide its memory latency
};

static bool is_legal(bb_device_kind kind, const bb_program *program, const bb_choice *choice)
{
    char why[160];
    return bb_choice_is_legal(choice, kind, program, why, sizeof why);
}

static bool has_short_lines(const bb_program *program)
{
    bool any = false;
    for (int i = 0; i < program->iterator_count; ++i) {
        any = any || program->values[program->iterators[i].space.ranges[0]].scope != BB_SCOPE_HOST;
    }
    return any;
}

static bb_choice default_loops(bb_device_kind kind, const bb_program *program)
{
    const bb_form form = bb_choice_form(program);
    bb_choice choice = {.group = {1, 1}, .points = 1, .rows = 1};
    choice.tile = form == BB_FORM_SPACE          ? kind == BB_DEVICE_OPENCL
                  : form == BB_FORM_LANES        ? has_short_lines(program) ? SHORT_TILE : LANE_TILE
                  : program->iterator_count == 0 ? POINT_TILE
                                                 : SUM_TILE;
    if (form == BB_FORM_POINTS && program->iterator_count == 0 && program->space.dimensions == 2) {
        choice.rows = LINES;
    }
    return choice;
}

bb_choice bb_choice_default_processor(const bb_program *program)
{
    return default_loops(BB_DEVICE_OPENCL, program);
}

static bb_choice default_points(bb_device_kind kind, const bb_program *program)
{
    bb_choice choice = {.group = {GROUP_ITEMS, 1}, .points = POINTS_EACH, .rows = 1};
    if (program->space.dimensions == 2) {
        choice.group[0] = GROUP_COLUMNS;
        choice.group[1] = GROUP_ROWS;
    }
    if (program->iterator_count > 0 && program->space.dimensions == 2) {
        choice.rows = POINTS_EACH;
        choice.is_local = bb_emission_locals_exist(program);
    }
    choice.is_split = true;
    choice.is_split = is_legal(kind, program, &choice);
    return choice;
}

static bb_choice default_lanes(bb_device_kind kind, const bb_program *program)
{
    const bb_index lanes = bb_choice_lanes(program);
    bb_choice choice = {.points = 1, .rows = 1, .distribution = BB_DISTRIBUTION_BLOCKED};
    choice.group[0] = lanes < WARP_ITEMS ? lanes : WARP_ITEMS;
    choice.group[1] = LANE_ITEMS / choice.group[0];
    if (!is_legal(kind, program, &choice)) { // points with skip boundaries need separate groups
        choice.group[1] = 1;
    }
    return choice;
}

bb_choice bb_choice_default(bb_device_kind kind, const bb_program *program)
{
    return kind == BB_DEVICE_CPU                       ? default_loops(kind, program)
           : bb_choice_form(program) == BB_FORM_POINTS ? default_points(kind, program)
                                                       : default_lanes(kind, program);
}

bb_choice bb_choice_default_on(const bb_device *device, const bb_program *program)
{
    const bb_device_kind kind = bb_device_kind_of(device);
    return kind == BB_DEVICE_OPENCL && bb_device_is_processor(device)
               ? bb_choice_default_processor(program)
               : bb_choice_default(kind, program);
}

// Length of the longest sum. If the length depends on data, returns an average estimated from the
// largest object that the sum reads.
static double items_of(const bb_binding *binding, double points)
{
    const bb_program *program = binding->program;
    double most = 1.0;
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_iterator *iterator = &program->iterators[i];
        double items = 1.0;
        bool is_known = true;
        for (int k = 0; k < iterator->space.dimensions; ++k) {
            const int range = iterator->space.ranges[k];
            is_known = is_known && program->values[range].scope == BB_SCOPE_HOST;
            items *= (double)binding->values[range].integer;
        }
        for (int k = 0; k < iterator->steps.count && !is_known; ++k) {
            const bb_step *step = &program->steps[iterator->steps.steps[k]];
            if (step->kind == BB_STEP_READ) {
                const bb_program_data *data = &binding->data[step->object];
                items = fmax(items, (double)data->columns * (double)data->rows / points);
            }
        }
        most = fmax(most, items);
    }
    return most;
}

static bb_index power_below(double number)
{
    bb_index power = 1;
    while (2.0 * (double)power <= number) {
        power *= 2;
    }
    return power;
}

// One work-item per ITEMS_EACH items of a sum, fewer items each if the points do not fill the
// device. In that case chunks are separate work-groups, because the extra launch that joins them
// costs less than idle multiprocessors.
static void fit_lanes(bb_device_kind kind, const bb_binding *binding, double points,
                      bb_choice *choice)
{
    const double items = items_of(binding, points);
    const bb_index most = choice->group[0];
    bb_choice split = *choice;
    choice->group[0] = power_below(items / ITEMS_EACH);
    choice->group[0] = choice->group[0] < most ? choice->group[0] : most;
    while (choice->group[0] < most && (points * (double)choice->group[0] < RESIDENT_ITEMS ||
                                       !is_legal(kind, binding->program, choice))) {
        choice->group[0] *= 2;
    }
    choice->group[1] = choice->group[1] > 1 ? LANE_ITEMS / choice->group[0] : 1;
    split.group[0] = SPLIT_ITEMS;
    split.group[1] = choice->group[1] > 1 ? LANE_ITEMS / SPLIT_ITEMS : 1;
    split.is_split = true;
    if (points * (double)choice->group[0] < RESIDENT_ITEMS &&
        items > (double)binding->program->iterators[0].reduction.order.chunk &&
        is_legal(kind, binding->program, &split)) {
        *choice = split;
    }
}

// Uses as many work-items as lanes, at most LANE_ITEMS.
static void fit_space(const bb_program *program, bb_choice *choice)
{
    const bb_index lanes = bb_choice_lanes(program);
    choice->group[0] = lanes < LANE_ITEMS ? lanes : LANE_ITEMS;
    choice->group[1] = choice->group[1] > 1 ? LANE_ITEMS / choice->group[0] : 1;
}

static bb_index widest_element(const bb_program *program)
{
    size_t bytes = 1;
    for (int i = 0; i < program->object_count; ++i) {
        const size_t own = bb_element_type_row(program->objects[i].type)->bytes;
        bytes = own > bytes ? own : bytes;
    }
    return (bb_index)bytes;
}

static void halve(bb_choice *choice)
{
    *(choice->rows > 1 ? &choice->rows : &choice->points) /= 2;
}

static double groups_of(const bb_choice *choice, double points)
{
    return points / ((double)(choice->group[0] * choice->group[1]) * choice->points * choice->rows);
}

// Upper bound of the bytes of all boxes: for each read of the iterator, along the longer side of a
// group.
static double box_bytes(const bb_program *program, const bb_choice *choice)
{
    const double columns = (double)choice->group[0] * (double)choice->points;
    const double rows = (double)choice->group[1] * (double)choice->rows;
    double reads = 0.0;
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_step_list *list = &program->iterators[i].steps;
        for (int k = 0; k < list->count; ++k) {
            reads += program->steps[list->steps[k]].kind == BB_STEP_READ;
        }
    }
    return reads * BB_EMISSION_LOCAL_STEPS * fmax(columns, rows) * (double)widest_element(program);
}

// Selects boxes for matrix products: large ones, as long as there are groups for all
// multiprocessors.
static void fit_boxes(const bb_program *program, double points, bb_choice *choice)
{
    choice->group[0] = choice->group[1] = BOX_SIDE;
    choice->rows = widest_element(program) <= 8 ? 2 * POINTS_EACH : POINTS_EACH;
    if (groups_of(choice, points) < FULL_GROUPS) {
        choice->group[1] = BOX_SIDE / 2;
    }
    while (choice->points * choice->rows > 1 &&
           (groups_of(choice, points) < FULL_GROUPS || box_bytes(program, choice) > LOCAL_BYTES)) {
        halve(choice);
    }
}

// Reduces the points per work-item if there are too few to fill the device.
static void fit_tile(double points, bb_choice *choice)
{
    while (choice->points * choice->rows > 1 &&
           points < (double)FULL_ITEMS * choice->points * choice->rows) {
        halve(choice);
    }
}

// Points in two rows: a vector of neighbours is loaded once for both rows.
static void fit_stencil(const bb_program *program, double points, bb_choice *choice)
{
    const int elements = VECTOR_BYTES / (int)widest_element(program);
    bb_choice stencil = {.group = {STENCIL_COLUMNS, STENCIL_ROWS},
                         .points = elements < POINTS_EACH ? elements : POINTS_EACH,
                         .rows = 2,
                         .distribution = BB_DISTRIBUTION_BLOCKED};
    fit_tile(points, &stencil);
    if (stencil.points > 1) {
        *choice = stencil;
    }
}

static void fit_points(const bb_program *program, double points, bb_choice *choice)
{
    if (choice->is_split) {
        choice->points = SPLIT_POINTS;
        choice->rows = 1;
        return;
    }
    if (choice->is_local) {
        fit_boxes(program, points, choice);
        return;
    }
    fit_tile(points, choice);
    if (program->iterator_count == 0 && program->space.dimensions == 2 &&
        bb_emission_locals_exist(program)) {
        fit_stencil(program, points, choice);
    }
}

bb_choice bb_choice_default_gpu(bb_device_kind kind, const bb_binding *binding)
{
    const bb_program *program = binding->program;
    const double points = fmax(1.0, (double)binding->ranges[0] * (double)binding->ranges[1]);
    bb_choice choice = bb_choice_default(kind, program);
    switch (bb_choice_form(program)) {
    case BB_FORM_POINTS:
        fit_points(program, points, &choice);
        break;
    case BB_FORM_LANES:
        fit_lanes(kind, binding, points, &choice);
        break;
    default:
        fit_space(program, &choice);
    }
    return choice;
}

bb_choice bb_choice_default_over(const bb_device *device, const bb_binding *binding)
{
    const bb_choice choice = bb_choice_default_on(device, binding->program);
    return choice.tile != 0 || bb_device_is_processor(device)
               ? choice
               : bb_choice_default_gpu(bb_device_kind_of(device), binding);
}

// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_points.h"

#include "core/memory.h"
#include "solvers/kernels/program/selector_form.h"

// What a coordinate is of a position: 1 the position plus what a line decides, 0 that alone, -1
// something else.
static int share_of(const bb_program *program, const bb_step *step, int output, int position)
{
    const bb_selector_form form = bb_selector_form_of(step, output);
    int64_t slope = 0;
    for (int k = 0; k < step->expression.inputs; ++k) {
        const bb_value *value = &program->values[step->inputs[k]];
        if (value->scope != BB_SCOPE_HOST && value->kind != BB_VALUE_POSITION) {
            return -1;
        }
    }
    return bb_selector_form_slope(&form, position, &slope) && (slope == 0 || slope == 1)
               ? (int)slope
               : -1;
}

bool bb_emission_find_fast(const bb_program *program, const bool *is_inside, bool *is_fast)
{
    const int position = program->space.positions[0];
    bool any = false;
    for (int i = 0; i < program->body.count; ++i) {
        const int number = program->body.steps[i];
        const bb_step *step = &program->steps[number];
        if ((step->kind != BB_STEP_READ && step->kind != BB_STEP_WRITE) ||
            step->boundary == BB_BOUNDARY_NONE || is_inside[number]) {
            continue;
        }
        is_fast[number] =
            share_of(program, step, 0, position) == 1 &&
            (step->expression.output_count == 1 || share_of(program, step, 1, position) == 0);
        any = any || is_fast[number];
    }
    return any;
}

bb_status bb_emission_line_bounds(bb_emission_writer *writer, const bool *is_fast)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->program;
    const long long farthest = 1LL << 62;
    const char *suffix = writer->dialect->index_suffix;
    char extent[BB_EMISSION_NAME_BYTES];
    BB_TRY(bb_emission_line(writer, "bb_index lo = b, hi = e;"));
    for (int number = 0; number < program->step_count; ++number) {
        const bb_step *step = &program->steps[number];
        if (!is_fast[number]) {
            continue;
        }
        const bb_program_object *object = &program->objects[step->object];
        BB_TRY(bb_emission_coordinates(writer, number, program->space.positions[0]));
        // Further out is as far, and differences with it do not overflow.
        BB_TRY(bb_emission_line(
            writer, "b%d_0 = b%d_0 < -%lld%s ? -%lld%s : b%d_0 > %lld%s ? %lld%s : b%d_0;", number,
            number, farthest, suffix, farthest, suffix, number, farthest, suffix, farthest, suffix,
            number));
        BB_TRY(bb_emission_line(writer, "if (lo < -b%d_0) lo = -b%d_0;", number, number));
        BB_TRY(bb_emission_line(writer, "if (hi > %s - b%d_0) hi = %s - b%d_0;",
                                bb_emission_name(writer, object->sizes[0], extent), number, extent,
                                number));
        if (step->expression.output_count == 2) {
            BB_TRY(bb_emission_line(writer, "if (b%d_1 < 0 || b%d_1 >= %s) hi = lo;", number,
                                    number, bb_emission_name(writer, object->sizes[1], extent)));
        }
    }
    BB_TRY(bb_emission_line(writer, "if (lo > e) lo = e;"));
    BB_TRY(bb_emission_line(writer, "if (hi > e) hi = e;"));
    BB_TRY(bb_emission_line(writer, "if (hi < lo) hi = lo;"));
done:
    return status;
}

int bb_emission_iterator_place(const bb_program *program)
{
    int place = 0;
    while (program->steps[program->body.steps[place]].kind != BB_STEP_ITERATOR) {
        ++place;
    }
    return place;
}

bool bb_emission_find_moving(const bb_program *program, bool *is_fast)
{
    bool any = false;
    for (int i = 0; i < program->step_count; ++i) {
        for (int k = 0; is_fast[i] && k < program->steps[i].expression.output_count; ++k) {
            const bb_selector_form form = bb_selector_form_of(&program->steps[i], k);
            for (int d = 0; d < program->space.dimensions; ++d) {
                int64_t slope = 0;
                is_fast[i] = is_fast[i] &&
                             bb_selector_form_slope(&form, program->space.positions[d], &slope) &&
                             (slope == 0 || (slope == 1 && d == k));
            }
        }
        any = any || is_fast[i];
    }
    return any;
}

// Whether two accesses of an object are equal but for constants.
static bool is_shifted(const bb_program *program, int number, int other)
{
    const bb_step *steps[2] = {&program->steps[number], &program->steps[other]};
    bool shifted = steps[0]->object == steps[1]->object;
    for (int k = 0; shifted && k < steps[0]->expression.output_count; ++k) {
        const bb_selector_form forms[2] = {bb_selector_form_of(steps[0], k),
                                           bb_selector_form_of(steps[1], k)};
        shifted = bb_selector_form_is_shifted(&forms[0], &forms[1]);
    }
    return shifted;
}

// The ends of coordinate `k` of all accesses that are shifts of `leader`.
static bb_status print_ends(bb_emission_writer *writer, const bool *is_fast, int leader, int k,
                            bb_index points)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->program;
    const bb_step *step = &program->steps[leader];
    const bb_selector_form form = bb_selector_form_of(step, k);
    int64_t low = 0;
    int64_t high = 0;
    int64_t slope = 0;
    char extent[BB_EMISSION_NAME_BYTES];
    for (int i = 0; i < program->step_count; ++i) {
        if (is_fast[i] && (i == leader || is_shifted(program, leader, i))) {
            const int64_t distance =
                bb_selector_form_of(&program->steps[i], k).constant - form.constant;
            low = distance < low ? distance : low;
            high = distance > high ? distance : high;
        }
    }
    (void)bb_selector_form_slope(&form, program->space.positions[k], &slope);
    BB_TRY(
        bb_emission_line(writer, "inside = inside && a%d_%d >= %lld && a%d_%d < %s - %lld;", leader,
                         k, (long long)-low, leader, k,
                         bb_emission_name(writer, program->objects[step->object].sizes[k], extent),
                         (long long)(high + slope * (points - 1))));
done:
    return status;
}

bb_status bb_emission_tile_bounds(bb_emission_writer *writer, const bool *is_fast, bb_index points,
                                  bb_index rows)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->program;
    for (int i = 0; i < program->step_count; ++i) {
        bool leads = is_fast[i];
        for (int j = 0; leads && j < i; ++j) {
            leads = !is_fast[j] || !is_shifted(program, j, i);
        }
        if (!leads) {
            continue;
        }
        BB_TRY(bb_emission_coordinates(writer, i, -1));
        for (int k = 0; k < program->steps[i].expression.output_count; ++k) {
            BB_TRY(print_ends(writer, is_fast, i, k, k == 0 ? points : rows));
        }
    }
done:
    return status;
}

/// Part of the body in which a step stands: iterators end parts.
typedef struct part_marks {
    const bb_program *program;
    const int *parts; ///< [value_count] of values of the body, -1 of others
    bool *is_saved;
} part_marks;

static void mark(const part_marks *marks, int value, int part)
{
    if (value >= 0 && marks->parts[value] >= 0 && marks->parts[value] != part) {
        marks->is_saved[value] = true;
    }
}

static void mark_step(const part_marks *marks, const bb_step *step, int part)
{
    for (int k = 0; step->kind != BB_STEP_ITERATOR && k < step->expression.inputs; ++k) {
        mark(marks, step->inputs[k], part);
    }
    mark(marks, step->stored, part);
}

bb_status bb_emission_find_saved(const bb_program *program, bool *is_saved)
{
    bb_status status = BB_OK;
    int *parts = NULL;
    int part = 0;
    BB_TRY(BB_ALLOCATE(program->value_count, &parts));
    for (int i = 0; i < program->value_count; ++i) {
        parts[i] = -1;
    }
    const part_marks marks = {program, parts, is_saved};
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        const int outputs = step->kind == BB_STEP_READ       ? 1
                            : step->kind == BB_STEP_FUNCTION ? step->expression.output_count
                                                             : 0;
        for (int k = 0; k < outputs; ++k) {
            parts[step->output + k] = part;
        }
        mark_step(&marks, step, part);
        if (step->kind == BB_STEP_ITERATOR) {
            const bb_iterator *iterator = &program->iterators[step->iterator];
            ++part;
            for (int k = 0; k < iterator->steps.count; ++k) {
                mark_step(&marks, &program->steps[iterator->steps.steps[k]], part);
            }
            for (int k = 0; k < iterator->reduction.expression.inputs; ++k) {
                mark(&marks, iterator->reduction.inputs[k], part);
            }
        }
    }
done:
    BB_RELEASE(&parts);
    return status;
}

bool bb_emission_runs_by_tile(const bb_program *program)
{
    bool by_tile = program->iterator_count > 0 && !program->has_reduction;
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_iterator *iterator = &program->iterators[i];
        for (int k = 0; k < iterator->space.dimensions; ++k) {
            by_tile = by_tile && program->values[iterator->space.ranges[k]].scope == BB_SCOPE_HOST;
        }
        by_tile = by_tile && iterator->reduction.order.lanes == 1;
    }
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        by_tile = by_tile && (step->kind != BB_STEP_READ || step->boundary != BB_BOUNDARY_SKIP);
    }
    return by_tile;
}

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

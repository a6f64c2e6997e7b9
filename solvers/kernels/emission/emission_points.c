// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_steps.h"
#include "solvers/kernels/program/selector_form.h"

#include <stdio.h>
#include <string.h>

// Dependence of a coordinate on a position: 1 for the position plus a constant of the line, 0 for
// the constant only, -1 otherwise.
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

bool bb_emission_find_fast(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const int position = program->space.positions[0];
    bool any = false;
    memset(writer->fast, 0, (size_t)program->step_count);
    for (int i = 0; i < program->body.count; ++i) {
        const int number = program->body.steps[i];
        const bb_step *step = &program->steps[number];
        if ((step->kind != BB_STEP_READ && step->kind != BB_STEP_WRITE) ||
            step->boundary == BB_BOUNDARY_NONE || writer->is_inside[number]) {
            continue;
        }
        writer->fast[number] =
            share_of(program, step, 0, position) == 1 &&
            (step->expression.output_count == 1 || share_of(program, step, 1, position) == 0);
        any = any || writer->fast[number];
    }
    return any;
}

void bb_emission_line_bounds(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    const long long farthest = 1LL << 62;
    const char *suffix = writer->dialect->index_suffix;
    char extent[BB_EMISSION_NAME_BYTES];
    bb_emission_line(writer, "bb_index lo = b, hi = e;");
    for (int number = 0; number < program->step_count; ++number) {
        const bb_step *step = &program->steps[number];
        if (!writer->fast[number]) {
            continue;
        }
        const bb_program_object *object = &program->objects[step->object];
        bb_emission_coordinates(writer, number, program->space.positions[0]);
        // Clamp coordinates: values further out have the same effect, and their differences would
        // overflow.
        bb_emission_line(writer,
                         "b%d_0 = b%d_0 < -%lld%s ? -%lld%s : b%d_0 > %lld%s ? %lld%s : b%d_0;",
                         number, number, farthest, suffix, farthest, suffix, number, farthest,
                         suffix, farthest, suffix, number);
        bb_emission_line(writer, "if (lo < -b%d_0) lo = -b%d_0;", number, number);
        bb_emission_line(writer, "if (hi > %s - b%d_0) hi = %s - b%d_0;",
                         bb_emission_name(writer, object->sizes[0], extent), number, extent,
                         number);
        if (step->expression.output_count == 2) {
            bb_emission_line(writer, "if (b%d_1 < 0 || b%d_1 >= %s) hi = lo;", number, number,
                             bb_emission_name(writer, object->sizes[1], extent));
        }
    }
    bb_emission_line(writer, "if (lo > e) lo = e;");
    bb_emission_line(writer, "if (hi > e) hi = e;");
    bb_emission_line(writer, "if (hi < lo) hi = lo;");
}

int bb_emission_iterator_place(const bb_program *program)
{
    int place = 0;
    while (program->steps[program->body.steps[place]].kind != BB_STEP_ITERATOR) {
        ++place;
    }
    return place;
}

bool bb_emission_find_moving(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    bool *is_fast = writer->fast;
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

// Range of coordinate `k` over all accesses that are shifts of `leader`.
static void print_ends(bb_emission_writer *writer, int leader, int k, bb_index points)
{
    const bb_program *program = writer->program;
    const bb_step *step = &program->steps[leader];
    const bb_selector_form form = bb_selector_form_of(step, k);
    int64_t low = 0;
    int64_t high = 0;
    int64_t slope = 0;
    int64_t distances[BB_PROGRAM_DIMENSIONS];
    char extent[BB_EMISSION_NAME_BYTES];
    for (int i = 0; i < program->step_count; ++i) {
        if (writer->fast[i] && bb_selector_form_shift(step, &program->steps[i], distances)) {
            low = distances[k] < low ? distances[k] : low;
            high = distances[k] > high ? distances[k] : high;
        }
    }
    (void)bb_selector_form_slope(&form, program->space.positions[k], &slope);
    bb_emission_line(writer, "inside = inside && a%d_%d >= %lld && a%d_%d < %s - %lld;", leader, k,
                     (long long)-low, leader, k,
                     bb_emission_name(writer, program->objects[step->object].sizes[k], extent),
                     (long long)high + (long long)slope * (points - 1));
}

void bb_emission_tile_bounds(bb_emission_writer *writer, bb_index points, bb_index rows)
{
    const bool *is_fast = writer->fast;
    int64_t distances[BB_PROGRAM_DIMENSIONS];
    const bb_program *program = writer->program;
    for (int i = 0; i < program->step_count; ++i) {
        bool leads = is_fast[i];
        for (int j = 0; leads && j < i; ++j) {
            leads = !is_fast[j] ||
                    !bb_selector_form_shift(&program->steps[j], &program->steps[i], distances);
        }
        if (!leads) {
            continue;
        }
        bb_emission_coordinates(writer, i, -1);
        for (int k = 0; k < program->steps[i].expression.output_count; ++k) {
            print_ends(writer, i, k, k == 0 ? points : rows);
        }
    }
}

// Iterators separate parts of the body; returns the part that computes a value, -1: another list or
// kind.
static int part_of(const bb_program *program, int number)
{
    const bb_value *value = &program->values[number];
    int part = 0;
    for (int i = 0; i < program->body.count; ++i) {
        const int step = program->body.steps[i];
        if (step == value->owner &&
            (value->kind == BB_VALUE_READ || value->kind == BB_VALUE_FUNCTION)) {
            return part;
        }
        part += program->steps[step].kind == BB_STEP_ITERATOR;
    }
    return -1;
}

static void mark(bb_emission_writer *writer, int value, int part)
{
    const int own = value >= 0 ? part_of(writer->program, value) : -1;
    if (own >= 0 && own != part) {
        writer->is_saved[value] = true;
    }
}

static void mark_step(bb_emission_writer *writer, const bb_step *step, int part)
{
    for (int k = 0; step->kind != BB_STEP_ITERATOR && k < step->expression.inputs; ++k) {
        mark(writer, step->inputs[k], part);
    }
    mark(writer, step->stored, part);
}

static void find_saved(bb_emission_writer *writer)
{
    const bb_program *program = writer->program;
    int part = 0;
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        mark_step(writer, step, part);
        if (step->kind == BB_STEP_ITERATOR) {
            const bb_iterator *iterator = &program->iterators[step->iterator];
            ++part;
            for (int k = 0; k < iterator->steps.count; ++k) {
                mark_step(writer, &program->steps[iterator->steps.steps[k]], part);
            }
            for (int k = 0; k < iterator->reduction.expression.inputs; ++k) {
                mark(writer, iterator->reduction.inputs[k], part);
            }
        }
    }
}

void bb_emission_declare_saved(bb_emission_writer *writer, const char *extents)
{
    find_saved(writer);
    memset(writer->is_done, 0, (size_t)writer->program->value_count);
    for (int value = 0; value < writer->program->value_count; ++value) {
        if (writer->is_saved[value]) {
            bb_emission_line(writer, "%s v%d%s;",
                             bb_emission_type(writer, writer->program->values[value].type), value,
                             extents);
        }
    }
}

void bb_emission_reload(bb_emission_writer *writer, int end, const char *point, const char *sum,
                        const char *lane)
{
    const bb_program *program = writer->program;
    char name[BB_EMISSION_NAME_BYTES];
    for (int value = 0; value < program->value_count; ++value) {
        if (writer->is_saved[value] && writer->is_done[value]) {
            bb_emission_line(writer, "const %s %s = v%d%s;",
                             bb_emission_type(writer, program->values[value].type),
                             bb_emission_name(writer, value, name), value, point);
        }
    }
    for (int i = 0; i < end; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            (void)snprintf(name, sizeof name, "%s%d%s", sum, step->iterator, lane);
            bb_emission_sum_outputs(writer, &program->iterators[step->iterator].reduction, name);
        }
    }
}

void bb_emission_save(bb_emission_writer *writer, const bb_step *step, const char *point)
{
    char name[BB_EMISSION_NAME_BYTES];
    const int outputs = step->kind == BB_STEP_READ       ? 1
                        : step->kind == BB_STEP_FUNCTION ? step->expression.output_count
                                                         : 0;
    for (int value = step->output; value < step->output + outputs; ++value) {
        if (writer->is_saved[value]) {
            bb_emission_line(writer, "v%d%s = %s;", value, point,
                             bb_emission_name(writer, value, name));
            writer->is_done[value] = true;
        }
    }
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

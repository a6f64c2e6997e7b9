// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/program/evaluation.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

bb_scalar bb_evaluation_load(bb_element_type type, const void *elements, bb_index index)
{
    bb_scalar value = {.integer = 0};
    const bb_element_row *row = bb_element_type_row(type);
    if (type == BB_ELEMENT_B) {
        value.integer = ((const unsigned char *)elements)[index] != 0;
    } else if (type == BB_ELEMENT_INT32) {
        value.integer = ((const int32_t *)elements)[index];
    } else {
        for (int k = 0; k < row->parts; ++k) {
            const bb_index place = row->parts * index + k;
            value.parts[k] = row->part == BB_ELEMENT_SP ? (double)((const float *)elements)[place]
                                                        : ((const double *)elements)[place];
        }
    }
    return value;
}

void bb_evaluation_store(bb_element_type type, void *elements, bb_index index, bb_scalar value)
{
    const bb_element_row *row = bb_element_type_row(type);
    if (type == BB_ELEMENT_B) {
        ((unsigned char *)elements)[index] = value.integer != 0;
    } else if (type == BB_ELEMENT_INT32) {
        ((int32_t *)elements)[index] = (int32_t)value.integer;
    } else if (type == BB_ELEMENT_INDEX) {
        ((int64_t *)elements)[index] = value.integer;
    }
    for (int k = 0; row->is_float && k < row->parts; ++k) {
        const bb_index place = row->parts * index + k;
        if (row->part == BB_ELEMENT_SP) {
            ((float *)elements)[place] = (float)value.parts[k];
        } else {
            ((double *)elements)[place] = value.parts[k];
        }
    }
}

int64_t bb_evaluation_place(bb_boundary boundary, int64_t number, int64_t extent)
{
    if (number >= 0 && number < extent) {
        return number;
    }
    if (extent <= 0) {
        return -1;
    }
    switch (boundary) {
    case BB_BOUNDARY_CLAMP:
        return number < 0 ? 0 : extent - 1;
    case BB_BOUNDARY_PERIODIC:
        return ((number % extent) + extent) % extent;
    case BB_BOUNDARY_MIRROR: {
        const int64_t period = extent > 1 ? 2 * (extent - 1) : 1;
        const int64_t place = ((number % period) + period) % period;
        return place < extent ? place : period - place;
    }
    default:
        return -1;
    }
}

// Order of sums

/// One number for every accumulator.
typedef struct parts {
    bb_scalar numbers[BB_PROGRAM_ACCUMULATORS];
} parts;

/// Growing list of the results of chunks.
typedef struct part_list {
    parts *items;
    bb_index count, capacity;
} part_list;

typedef struct evaluation {
    const bb_binding *binding;
    const bb_program *program;
    bb_scalar *values;                        ///< [value_count]
    bb_scalar nodes[BB_EXPRESSION_MAX_NODES]; ///< node values of the current step
    bb_scalar (*factors)[2];                  ///< [step_count] products that sums accumulate by fma
    parts *lanes;                             ///< lanes of the current iterator
    part_list *chunks; ///< [iterator_count + 1], the last one for the main space
} evaluation;

static bb_scalar join_numbers(const bb_reduction *reduction, bb_scalar x, bb_scalar y)
{
    const bb_expression_node nodes[] = {
        {.operation = BB_OPERATION_INPUT, .type = reduction->type},
        {.operation = BB_OPERATION_INPUT, .type = reduction->type, .index = 1},
        {.operation = bb_expression_icf_operation(reduction->icf),
         .type = reduction->type,
         .operands = {0, 1}}};
    const bb_expression pair = {.nodes = nodes, .count = 3};
    return bb_expression_operate(&pair, 2, (const bb_scalar[]){x, y, x});
}

// Joins parts of a sum; a declared ICF receives the accumulators of the other part as its inputs.
static void join(evaluation *run, const bb_reduction *reduction, parts *target, const parts *other)
{
    bb_scalar sums[BB_PROGRAM_ACCUMULATORS];
    if (reduction->icf != BB_ICF_OTHER) {
        target->numbers[0] = join_numbers(reduction, target->numbers[0], other->numbers[0]);
        return;
    }
    bb_expression_evaluate(&reduction->join, other->numbers, target->numbers, NULL, run->nodes,
                           sums);
    memcpy(target->numbers, sums, (size_t)reduction->count * sizeof sums[0]);
}

static void add_item(evaluation *run, const bb_reduction *reduction, parts *lane)
{
    bb_scalar inputs[BB_PROGRAM_ACCUMULATORS];
    bb_scalar sums[BB_PROGRAM_ACCUMULATORS];
    if (reduction->product >= 0) {
        const bb_scalar *factors = run->factors[reduction->product];
        double *sum = &lane->numbers[0].parts[0];
        *sum =
            reduction->type == BB_ELEMENT_SP
                ? (double)fmaf((float)factors[0].parts[0], (float)factors[1].parts[0], (float)*sum)
                : fma(factors[0].parts[0], factors[1].parts[0], *sum);
        return;
    }
    for (int k = 0; k < reduction->expression.inputs; ++k) {
        inputs[k] = run->values[reduction->inputs[k]];
    }
    bb_expression_evaluate(&reduction->expression, inputs, lane->numbers, NULL, run->nodes, sums);
    memcpy(lane->numbers, sums, (size_t)reduction->count * sizeof sums[0]);
}

static void start_lanes(const bb_reduction *reduction, bool first, parts *lanes)
{
    for (bb_index i = 0; i < reduction->order.lanes; ++i) {
        for (int k = 0; k < reduction->count; ++k) {
            // A declared ICF starts every part from its ICFInit, which is its neutral element.
            lanes[i].numbers[k] = (first && i == 0) || reduction->icf == BB_ICF_OTHER
                                      ? reduction->start[k]
                                      : reduction->neutral;
        }
    }
}

static void join_lanes(evaluation *run, const bb_reduction *reduction, parts *lanes)
{
    for (bb_index width = reduction->order.lanes / 2; width > 0; width /= 2) {
        for (bb_index i = 0; i < width; ++i) {
            join(run, reduction, &lanes[i], &lanes[i + width]);
        }
    }
}

static bb_status push_chunk(part_list *list, const parts *part)
{
    bb_status status = BB_OK;
    if (list->count == list->capacity) {
        const bb_index capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        BB_TRY(bb_memory_resize(capacity, sizeof *list->items, (void **)&list->items));
        list->capacity = capacity;
    }
    list->items[list->count++] = *part;
done:
    return status;
}

// Chunks of chunks, in place.
static void join_chunks(evaluation *run, const bb_reduction *reduction, part_list *list)
{
    parts lanes[BB_PROGRAM_LANES];
    while (list->count > 1) {
        bb_index results = 0;
        for (bb_index begin = 0; begin < list->count; begin += reduction->order.chunk) {
            const bb_index rest = list->count - begin;
            const bb_index count = rest < reduction->order.chunk ? rest : reduction->order.chunk;
            start_lanes(reduction, false, lanes);
            for (bb_index i = 0; i < count; ++i) {
                join(run, reduction, &lanes[i % reduction->order.lanes], &list->items[begin + i]);
            }
            join_lanes(run, reduction, lanes);
            list->items[results++] = lanes[0];
        }
        list->count = results;
    }
}

// Steps

static bool run_list(evaluation *run, const bb_step_list *list, bb_status *status);

static void run_function(evaluation *run, int number)
{
    const bb_step *step = &run->program->steps[number];
    bb_scalar inputs[BB_PROGRAM_PORTS];
    bb_scalar outputs[BB_PROGRAM_PORTS];
    int factors[2];
    for (int k = 0; k < step->expression.inputs; ++k) {
        inputs[k] = run->values[step->inputs[k]];
    }
    bb_expression_evaluate(&step->expression, inputs, NULL, NULL, run->nodes, outputs);
    memcpy(&run->values[step->output], outputs,
           (size_t)step->expression.output_count * sizeof outputs[0]);
    if (bb_expression_product(&step->expression, factors)) {
        run->factors[number][0] = run->nodes[factors[0]];
        run->factors[number][1] = run->nodes[factors[1]];
    }
}

// Index of the element that an access selects; -1: none.
static bb_index find_element(evaluation *run, const bb_step *step)
{
    const bb_program_data *data = &run->binding->data[step->object];
    const int64_t extents[BB_PROGRAM_DIMENSIONS] = {data->columns, data->rows};
    bb_scalar inputs[BB_PROGRAM_VARIABLES];
    bb_scalar parameters[BB_PROGRAM_PORTS];
    bb_scalar places[BB_PROGRAM_DIMENSIONS];
    for (int k = 0; k < step->expression.inputs; ++k) {
        inputs[k] = run->values[step->inputs[k]];
    }
    for (int k = 0; k < step->expression.name_count; ++k) {
        parameters[k] = run->values[step->parameters[k]];
    }
    bb_expression_evaluate(&step->expression, inputs, NULL, parameters, run->nodes, places);
    bb_index element = 0;
    for (int k = step->expression.output_count - 1; k >= 0; --k) {
        const int64_t place = bb_evaluation_place(step->boundary, places[k].integer, extents[k]);
        if (place < 0) {
            return -1;
        }
        element = element * (bb_index)extents[k] + (bb_index)place;
    }
    return element;
}

// Reads an element; returns false if the body must be skipped for this point.
static bool run_read(evaluation *run, const bb_step *step)
{
    const bb_index element = find_element(run, step);
    if (element < 0) {
        run->values[step->output] = (bb_scalar){.integer = 0};
        return step->boundary != BB_BOUNDARY_SKIP;
    }
    run->values[step->output] =
        bb_evaluation_load(run->program->objects[step->object].type,
                           run->binding->data[step->object].elements, element);
    return true;
}

static void run_write(evaluation *run, const bb_step *step)
{
    const bb_index element = find_element(run, step);
    const bb_element_type type = run->program->objects[step->object].type;
    if (element >= 0) {
        bb_evaluation_store(type, run->binding->data[step->object].elements, element,
                            bb_expression_convert(run->values[step->stored],
                                                  run->program->values[step->stored].type, type));
    }
}

// Adds items begin ... end - 1 of a space to existing lanes.
static void run_items(evaluation *run, const bb_iteration_space *space, const bb_step_list *list,
                      const bb_reduction *reduction, parts *lanes, const bb_index bounds[2],
                      bb_index width, bb_status *status)
{
    for (bb_index item = bounds[0]; item < bounds[1] && *status == BB_OK; ++item) {
        run->values[space->positions[0]].integer = item % width;
        if (space->dimensions == 2) {
            run->values[space->positions[1]].integer = item / width;
        }
        if (run_list(run, list, status) && reduction != NULL) {
            add_item(run, reduction, &lanes[(item - bounds[0]) % reduction->order.lanes]);
        }
    }
}

static bb_status run_space(evaluation *run, const bb_iteration_space *space,
                           const bb_step_list *list, const bb_reduction *reduction,
                           const bb_index ranges[2], part_list *chunks)
{
    bb_status status = BB_OK;
    const bb_index count = ranges[0] * ranges[1];
    const bb_index chunk =
        reduction != NULL && reduction->order.chunk > 0 ? reduction->order.chunk : count;
    parts lanes[BB_PROGRAM_LANES];
    memset(lanes, 0, sizeof lanes);
    chunks->count = 0;
    for (bb_index begin = 0; begin < count || begin == 0; begin += chunk) {
        const bb_index bounds[2] = {begin, count - begin < chunk ? count : begin + chunk};
        if (reduction != NULL) {
            start_lanes(reduction, begin == 0, lanes);
        }
        run_items(run, space, list, reduction, lanes, bounds, ranges[0], &status);
        if (status != BB_OK) {
            goto done;
        }
        if (reduction != NULL) {
            join_lanes(run, reduction, lanes);
            BB_TRY(push_chunk(chunks, &lanes[0]));
        }
        if (count == 0) {
            break;
        }
    }
    if (reduction != NULL) {
        join_chunks(run, reduction, chunks);
        memcpy(&run->values[reduction->output], chunks->items[0].numbers,
               (size_t)reduction->count * sizeof(bb_scalar));
    }
done:
    return status;
}

static bb_status run_iterator(evaluation *run, int number)
{
    const bb_iterator *iterator = &run->program->iterators[number];
    bb_index ranges[BB_PROGRAM_DIMENSIONS] = {1, 1};
    for (int k = 0; k < iterator->space.dimensions; ++k) {
        const int64_t range = run->values[iterator->space.ranges[k]].integer;
        ranges[k] = range > 0 ? (bb_index)range : 0;
    }
    return run_space(run, &iterator->space, &iterator->steps, &iterator->reduction, ranges,
                     &run->chunks[number]);
}

static bool run_list(evaluation *run, const bb_step_list *list, bb_status *status)
{
    bool complete = true;
    for (int i = 0; i < list->count && complete && *status == BB_OK; ++i) {
        const bb_step *step = &run->program->steps[list->steps[i]];
        switch (step->kind) {
        case BB_STEP_READ:
            complete = run_read(run, step);
            break;
        case BB_STEP_WRITE:
            run_write(run, step);
            break;
        case BB_STEP_FUNCTION:
            run_function(run, list->steps[i]);
            break;
        case BB_STEP_ITERATOR:
            *status = run_iterator(run, step->iterator);
            break;
        }
    }
    return complete;
}

bb_status bb_evaluation_run(const bb_binding *binding)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    evaluation *run = NULL;
    BB_TRY(BB_ZEROED(1, &run));
    run->binding = binding;
    run->program = program;
    BB_TRY(BB_ALLOCATE(program->value_count, &run->values));
    BB_TRY(BB_ZEROED(program->step_count, &run->factors));
    BB_TRY(BB_ZEROED(program->iterator_count + 1, &run->chunks));
    memcpy(run->values, binding->values, (size_t)program->value_count * sizeof *run->values);
    BB_TRY(run_space(run, &program->space, &program->body,
                     program->has_reduction ? &program->reduction : NULL, binding->ranges,
                     &run->chunks[program->iterator_count]));
    (void)run_list(run, &program->final, &status);
done:
    for (int i = 0; run != NULL && run->chunks != NULL && i <= program->iterator_count; ++i) {
        BB_RELEASE(&run->chunks[i].items);
    }
    if (run != NULL) {
        BB_RELEASE(&run->values);
        BB_RELEASE(&run->factors);
        BB_RELEASE(&run->chunks);
    }
    BB_RELEASE(&run);
    return status;
}

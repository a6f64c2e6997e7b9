// SPDX-License-Identifier: Apache-2.0
//
// Interpreter of a program, independent of the evaluator. It runs points in any order and checks
// every access: whether it leaves its object and whether points conflict. Properties that binding
// proves for all points are observed here at each point.
#ifndef BB_TESTS_SOLVERS_KERNELS_PROGRAM_WALK_H
#define BB_TESTS_SOLVERS_KERNELS_PROGRAM_WALK_H

#include "tests/solvers/kernels/program_fixture.h"

/// Writer and reader of an element: points, and the iterations of the last point; -1: none.
typedef struct walk_mark {
    int64_t writer, reader;
    int64_t writer_item, reader_item; // iterator * 2^40 + item; -1: the body
    bool many_readers, many_items;    // more than the last one
} walk_mark;

typedef struct walk_part {
    bb_scalar numbers[BB_PROGRAM_ACCUMULATORS], factors[2];
    bool is_taken;
} walk_part;

typedef struct program_walk {
    const bb_program *program;
    const bb_program_data *data;
    const bool *is_inside; // result of binding, or NULL
    bb_scalar *values;
    bb_scalar nodes[BB_EXPRESSION_MAX_NODES];
    bb_scalar (*factors)[2];
    walk_mark *marks[FIXTURE_OBJECTS];
    int64_t ranges[2], point, item;
    bool is_final;
    int outside, met, met_items, left_inside; // 1 + number of the step; 0: none
    bb_arena arena;
    bb_expression *joins; // [iterator_count + 1], the last for the space
} program_walk;

static inline void walk_make_join(program_walk *walk, const bb_reduction *reduction,
                                  bb_expression *out)
{
    static const char *const texts[] = {
        [BB_ICF_OTHER] = "",
        [BB_ICF_SUM] = "#acc(0) + #in(0)",
        [BB_ICF_PRODUCT] = "#acc(0) * #in(0)",
        [BB_ICF_MAX] = "max(#acc(0), #in(0))",
        [BB_ICF_MIN] = "min(#acc(0), #in(0))",
        [BB_ICF_AND] = "#acc(0) && #in(0)",
        [BB_ICF_OR] = "#acc(0) || #in(0)",
    };
    bb_problems problems = {0};
    *out = reduction->join;
    if (reduction->icf != BB_ICF_OTHER) {
        const bb_expression_rules rules = {
            .type = reduction->type, .inputs = 1, .accumulators = 1, .outputs = 1};
        check_ok(bb_expression_parse(texts[reduction->icf], "join", (bb_place){"join", 1, 1},
                                     &rules, &walk->arena, &problems, out));
        assert_int_equal(problems.count, 0);
    }
}

/// Values on the host; the caller checks ranges, then runs, then releases.
static inline void walk_create(const bb_program *program, const bb_program_data *data,
                               const bb_scalar *parameters, program_walk *walk)
{
    *walk = (program_walk){.program = program, .data = data, .item = -1};
    walk->values = calloc((size_t)program->value_count, sizeof *walk->values);
    walk->factors = calloc((size_t)program->step_count + 1, sizeof *walk->factors);
    assert_non_null(walk->values);
    assert_non_null(walk->factors);
    walk->joins = calloc((size_t)program->iterator_count + 1, sizeof *walk->joins);
    assert_non_null(walk->joins);
    for (int i = 0; i < program->iterator_count; ++i) {
        walk_make_join(walk, &program->iterators[i].reduction, &walk->joins[i]);
    }
    if (program->has_reduction) {
        walk_make_join(walk, &program->reduction, &walk->joins[program->iterator_count]);
    }
    for (int i = 0; i < program->object_count; ++i) {
        const int64_t extents[2] = {data[i].columns, data[i].rows};
        const size_t count = (size_t)(extents[0] * extents[1]);
        walk->marks[i] = malloc((count + 1) * sizeof(walk_mark));
        assert_non_null(walk->marks[i]);
        for (size_t k = 0; k < count; ++k) {
            walk->marks[i][k] = (walk_mark){-1, -1, -1, -1, false, false};
        }
        for (int k = 0; k <= (program->objects[i].structure == BB_STRUCTURE_MATRIX); ++k) {
            walk->values[program->objects[i].sizes[k]].integer = extents[k];
        }
    }
    for (int i = 0; i < program->parameter_count; ++i) {
        walk->values[program->parameters[i].value] = parameters[i];
    }
    for (int i = 0; i < program->host.count; ++i) {
        const bb_step *step = &program->steps[program->host.steps[i]];
        bb_scalar inputs[BB_PROGRAM_PORTS];
        fill_array(inputs, step->expression.inputs, k, walk->values[step->inputs[k]]);
        bb_expression_evaluate(&step->expression, inputs, NULL, NULL, walk->nodes,
                               &walk->values[step->output]);
    }
    for (int k = 0; k < 2; ++k) {
        walk->ranges[k] =
            k < program->space.dimensions ? walk->values[program->space.ranges[k]].integer : 1;
    }
}

static inline void walk_release(program_walk *walk)
{
    for (int i = 0; i < walk->program->object_count; ++i) {
        free(walk->marks[i]);
    }
    free(walk->values);
    free(walk->factors);
    free(walk->joins);
    bb_arena_release(&walk->arena);
}

/// Upper bound of the items of the space and its iterators; data-dependent ranges count as `guess`.
static inline double walk_cost(const program_walk *walk, double guess)
{
    double cost = 1.0;
    for (int i = 0; i < walk->program->iterator_count; ++i) {
        double items = 1.0;
        for (int k = 0; k < walk->program->iterators[i].space.dimensions; ++k) {
            const int range = walk->program->iterators[i].space.ranges[k];
            const bool known = walk->program->values[range].scope == BB_SCOPE_HOST;
            items *= known ? fmax((double)walk->values[range].integer, 0.0) : guess;
        }
        cost += items;
    }
    return cost * (double)walk->ranges[0] * (double)walk->ranges[1];
}

// Accesses

static inline int64_t walk_place(bb_boundary boundary, int64_t number, int64_t extent)
{
    if (number >= 0 && number < extent) {
        return number;
    }
    if (extent == 0 || number > INT64_MAX / 4 || number < INT64_MIN / 4) {
        return extent == 0 ? -1 : bb_evaluation_place(boundary, number, extent);
    }
    if (boundary == BB_BOUNDARY_CLAMP) {
        return number < 0 ? 0 : extent - 1;
    }
    if (boundary == BB_BOUNDARY_PERIODIC) {
        const int64_t turns = number / extent - (number < 0);
        const int64_t place = number - turns * extent;
        return place == extent ? 0 : place;
    }
    if (boundary == BB_BOUNDARY_MIRROR) {
        const int64_t period = extent == 1 ? 1 : 2 * extent - 2;
        const int64_t size = number < 0 ? -number : number;
        const int64_t place = size % period;
        return place < extent ? place : period - place;
    }
    return -1;
}

static inline int64_t walk_element(program_walk *walk, int number)
{
    const bb_step *step = &walk->program->steps[number];
    const bb_program_data *data = &walk->data[step->object];
    const int64_t extents[2] = {data->columns, data->rows};
    bb_scalar inputs[BB_PROGRAM_VARIABLES];
    bb_scalar parameters[BB_PROGRAM_PORTS];
    bb_scalar places[2];
    int64_t element = 0;
    bool leaves = false;
    fill_array(inputs, step->expression.inputs, k, walk->values[step->inputs[k]]);
    fill_array(parameters, step->expression.name_count, k, walk->values[step->parameters[k]]);
    bb_expression_evaluate(&step->expression, inputs, NULL, parameters, walk->nodes, places);
    for (int k = step->expression.output_count - 1; k >= 0; --k) {
        const int64_t place = walk_place(step->boundary, places[k].integer, extents[k]);
        leaves = leaves || places[k].integer < 0 || places[k].integer >= extents[k];
        element = place < 0 || element < 0 ? -1 : element * extents[k] + place;
    }
    if (leaves && step->boundary == BB_BOUNDARY_NONE) {
        walk->outside = number + 1;
    }
    if (leaves && walk->is_inside != NULL && walk->is_inside[number]) {
        walk->left_inside = number + 1;
    }
    return element;
}

// Conflict between items of one iterator; the body and other iterators run before or after it.
static inline bool items_meet(int64_t a, int64_t b)
{
    return a >= 0 && b >= 0 && a != b && (a >> 40) == (b >> 40);
}

static inline void walk_mark_access(program_walk *walk, int number, int64_t element, bool write)
{
    walk_mark *mark = &walk->marks[walk->program->steps[number].object][element];
    if (walk->is_final) {
        return;
    }
    const bool foreign_writer = mark->writer >= 0 && mark->writer != walk->point;
    const bool foreign_reader =
        mark->reader >= 0 && (mark->reader != walk->point || mark->many_readers);
    if (foreign_writer || (write && foreign_reader)) {
        walk->met = number + 1;
    }
    if (mark->writer == walk->point && items_meet(mark->writer_item, walk->item)) {
        walk->met_items = number + 1;
    }
    if (write && mark->reader == walk->point &&
        (items_meet(mark->reader_item, walk->item) ||
         (mark->many_items && walk->item >= 0 &&
          (mark->reader_item >> 40) == (walk->item >> 40)))) {
        walk->met_items = number + 1;
    }
    if (write) {
        mark->writer = walk->point;
        mark->writer_item = walk->item;
    } else {
        const bool same = mark->reader == walk->point;
        mark->many_readers = mark->many_readers || (mark->reader >= 0 && !same);
        mark->many_items = same && (mark->many_items || items_meet(mark->reader_item, walk->item));
        mark->reader = walk->point;
        mark->reader_item = walk->item;
    }
}

// Sums, by the rules of evaluation.h

static inline void walk_take(program_walk *walk, const bb_reduction *reduction, walk_part *lane,
                             const walk_part *item)
{
    bb_scalar sums[BB_PROGRAM_ACCUMULATORS];
    if (reduction->product >= 0 && reduction->type == BB_ELEMENT_SP) {
        const float sum = fmaf((float)item->factors[0].parts[0], (float)item->factors[1].parts[0],
                               (float)lane->numbers[0].parts[0]);
        lane->numbers[0].parts[0] = (double)sum;
        return;
    }
    if (reduction->product >= 0) {
        lane->numbers[0].parts[0] =
            fma(item->factors[0].parts[0], item->factors[1].parts[0], lane->numbers[0].parts[0]);
        return;
    }
    bb_expression_evaluate(&reduction->expression, item->numbers, lane->numbers, NULL, walk->nodes,
                           sums);
    memcpy(lane->numbers, sums, (size_t)reduction->count * sizeof sums[0]);
}

// A known ICF joins parts with its operator, another one with its own expression.
static inline void walk_join(program_walk *walk, const bb_reduction *reduction, walk_part *target,
                             const walk_part *other)
{
    bb_scalar sums[BB_PROGRAM_ACCUMULATORS];
    int number = 0;
    while (number < walk->program->iterator_count &&
           reduction != &walk->program->iterators[number].reduction) {
        ++number;
    }
    bb_expression_evaluate(&walk->joins[number], other->numbers, target->numbers, NULL, walk->nodes,
                           sums);
    memcpy(target->numbers, sums, (size_t)reduction->count * sizeof sums[0]);
}

static inline void walk_start(const bb_reduction *reduction, bool first, walk_part *lane)
{
    for (int k = 0; k < reduction->count; ++k) {
        lane->numbers[k] =
            first || reduction->icf == BB_ICF_OTHER ? reduction->start[k] : reduction->neutral;
    }
}

// One round: joins chunks of parts in place; returns the number of results.
static inline int64_t walk_round(program_walk *walk, const bb_reduction *reduction,
                                 walk_part *parts, int64_t count, bool items)
{
    const int64_t lanes = reduction->order.lanes;
    const int64_t chunk = reduction->order.chunk > 0 ? reduction->order.chunk : count + 1;
    walk_part lane[BB_PROGRAM_LANES];
    int64_t results = 0;
    for (int64_t begin = 0; begin == 0 || begin < count; begin += chunk) {
        for (int64_t l = 0; l < lanes; ++l) {
            walk_start(reduction, items && begin == 0 && l == 0, &lane[l]);
        }
        for (int64_t j = 0; j < chunk && begin + j < count; ++j) {
            const walk_part *part = &parts[begin + j];
            if (!items) {
                walk_join(walk, reduction, &lane[j % lanes], part);
            } else if (part->is_taken) {
                walk_take(walk, reduction, &lane[j % lanes], part);
            }
        }
        for (int64_t width = lanes / 2; width > 0; width /= 2) {
            for (int64_t l = 0; l < width; ++l) {
                walk_join(walk, reduction, &lane[l], &lane[l + width]);
            }
        }
        parts[results++] = lane[0];
    }
    return results;
}

static inline void walk_reduce(program_walk *walk, const bb_reduction *reduction, walk_part *parts,
                               int64_t count)
{
    count = walk_round(walk, reduction, parts, count, true);
    while (count > 1) {
        count = walk_round(walk, reduction, parts, count, false);
    }
    for (int k = 0; k < reduction->count; ++k) {
        walk->values[reduction->output + k] = parts[0].numbers[k];
    }
}

static inline void walk_collect(const program_walk *walk, const bb_reduction *reduction,
                                walk_part *item)
{
    item->is_taken = true;
    fill_array(item->numbers, reduction->expression.inputs, k, walk->values[reduction->inputs[k]]);
    if (reduction->product >= 0) {
        memcpy(item->factors, walk->factors[reduction->product], sizeof item->factors);
    }
}

// Steps

static inline bool walk_list(program_walk *walk, const bb_step_list *list);

static inline void walk_function(program_walk *walk, int number)
{
    const bb_step *step = &walk->program->steps[number];
    bb_scalar inputs[BB_PROGRAM_PORTS];
    int factors[2];
    fill_array(inputs, step->expression.inputs, k, walk->values[step->inputs[k]]);
    bb_expression_evaluate(&step->expression, inputs, NULL, NULL, walk->nodes,
                           &walk->values[step->output]);
    if (bb_expression_product(&step->expression, factors)) {
        walk->factors[number][0] = walk->nodes[factors[0]];
        walk->factors[number][1] = walk->nodes[factors[1]];
    }
}

static inline void walk_iterator(program_walk *walk, int number)
{
    const bb_iterator *iterator = &walk->program->iterators[number];
    int64_t ranges[2] = {1, 1};
    for (int k = 0; k < iterator->space.dimensions; ++k) {
        const int64_t range = walk->values[iterator->space.ranges[k]].integer;
        ranges[k] = range < 0 ? 0 : range;
    }
    const int64_t count = ranges[0] * ranges[1];
    walk_part *parts = calloc((size_t)count + 1, sizeof *parts);
    assert_non_null(parts);
    for (int64_t item = 0; item < count; ++item) {
        walk->item = ((int64_t)number << 40) + item;
        walk->values[iterator->space.positions[0]].integer = item % ranges[0];
        if (iterator->space.dimensions == 2) {
            walk->values[iterator->space.positions[1]].integer = item / ranges[0];
        }
        if (walk_list(walk, &iterator->steps)) {
            walk_collect(walk, &iterator->reduction, &parts[item]);
        }
    }
    walk->item = -1;
    walk_reduce(walk, &iterator->reduction, parts, count);
    free(parts);
}

static inline bool walk_access(program_walk *walk, int number)
{
    const bb_step *step = &walk->program->steps[number];
    const bool write = step->kind == BB_STEP_WRITE;
    const int64_t element = walk_element(walk, number);
    const bb_element_type type = walk->program->objects[step->object].type;
    void *elements = walk->data[step->object].elements;
    if (element < 0) {
        if (!write) {
            walk->values[step->output] = (bb_scalar){.integer = 0};
        }
        return write || step->boundary != BB_BOUNDARY_SKIP;
    }
    walk_mark_access(walk, number, element, write);
    if (write) {
        bb_evaluation_store(type, elements, (bb_index)element,
                            bb_expression_convert(walk->values[step->stored],
                                                  walk->program->values[step->stored].type, type));
    } else {
        walk->values[step->output] = bb_evaluation_load(type, elements, (bb_index)element);
    }
    return true;
}

// False: a read skipped the rest of the list.
static inline bool walk_list(program_walk *walk, const bb_step_list *list)
{
    for (int i = 0; i < list->count; ++i) {
        const bb_step *step = &walk->program->steps[list->steps[i]];
        if (step->kind == BB_STEP_FUNCTION) {
            walk_function(walk, list->steps[i]);
        } else if (step->kind == BB_STEP_ITERATOR) {
            walk_iterator(walk, step->iterator);
        } else if (!walk_access(walk, list->steps[i])) {
            return false;
        }
    }
    return true;
}

/// Runs all points, the last one first, and then the steps after the space. Modifies elements.
static inline void walk_run(program_walk *walk)
{
    const bb_program *program = walk->program;
    const int64_t count = walk->ranges[0] * walk->ranges[1];
    walk_part *parts = calloc((size_t)count + 1, sizeof *parts);
    assert_non_null(parts);
    for (int64_t point = count - 1; point >= 0; --point) {
        walk->point = point;
        walk->values[program->space.positions[0]].integer = point % walk->ranges[0];
        if (program->space.dimensions == 2) {
            walk->values[program->space.positions[1]].integer = point / walk->ranges[0];
        }
        if (walk_list(walk, &program->body) && program->has_reduction) {
            walk_collect(walk, &program->reduction, &parts[point]);
        }
    }
    if (program->has_reduction) {
        walk_reduce(walk, &program->reduction, parts, count);
    }
    walk->is_final = true;
    (void)walk_list(walk, &program->final);
    free(parts);
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Iteration connection functions: types, start values, and the order in which parts are joined.
#include "solvers/kernels/program/program_builder.h"
#include "solvers/kernels/program/selector_form.h"

#include <stdio.h>
#include <string.h>

enum {
    WHAT_BYTES = 160,
    LANE_CHUNK = 8192, ///< for sums over neighbours in memory: 64 numbers per lane
    LINE_CHUNK = 128,  ///< for sums over distant elements, for which lanes do not help
    ROW_LANES = 8, ///< for sums over neighbours with data-dependent length: rows of sparse matrices
};

static void read_start(bb_program_builder *builder, const bb_element *element, const char *owner,
                       bb_reduction *reduction)
{
    const char *text = element->values[BB_DESCRIPTION_ICF_INIT];
    bb_expression start = {.count = 0};
    char what[WHAT_BYTES];
    bb_scalar values[BB_EXPRESSION_MAX_NODES];
    if (text == NULL) {
        if (reduction->icf == BB_ICF_OTHER) {
            bb_program_builder_refuse(builder, element->places[BB_DESCRIPTION_ICF],
                                      "ICF of %s is not one of + * max min && || of #acc(0) and "
                                      "#in(0): set its start value with ICFInit",
                                      owner);
        }
        for (int k = 0; k < reduction->count; ++k) {
            reduction->start[k] = reduction->neutral;
        }
        return;
    }
    const bb_expression_rules rules = {.type = reduction->type, .outputs = reduction->count};
    (void)snprintf(what, sizeof what, "ICFInit of %s", owner);
    const bb_index before = builder->problems->count;
    (void)bb_program_builder_try(
        builder, bb_expression_parse(text, what, element->places[BB_DESCRIPTION_ICF_INIT], &rules,
                                     &builder->program->arena, builder->problems, &start));
    if (builder->problems->count == before) {
        bb_expression_evaluate(&start, NULL, NULL, NULL, values, reduction->start);
    }
}

static void read_associative(bb_program_builder *builder, const bb_element *element,
                             const char *owner, bb_reduction *reduction)
{
    const char *word = element->values[BB_DESCRIPTION_ICF_ASSOCIATIVE];
    reduction->is_associative = reduction->icf != BB_ICF_OTHER;
    if (word == NULL) {
        return;
    }
    const bool declared = strcmp(word, "true") == 0;
    if (!declared && strcmp(word, "false") != 0) {
        bb_program_builder_refuse(builder, element->places[BB_DESCRIPTION_ICF_ASSOCIATIVE],
                                  "ICFAssociative of %s = '%.80s': expected true or false", owner,
                                  word);
    } else if (declared && reduction->expression.inputs != reduction->count) {
        bb_program_builder_refuse(
            builder, element->places[BB_DESCRIPTION_ICF_ASSOCIATIVE],
            "ICFAssociative of %s: joining parts needs as many #in(k) as #acc(k), got %d and %d",
            owner, reduction->expression.inputs, reduction->count);
    }
    reduction->is_associative = declared;
}

// Parses the ICF for another part's accumulators, whose type may be wider than the type of the
// inputs.
static void read_join(bb_program_builder *builder, const bb_element *element, const char *what,
                      bb_reduction *reduction)
{
    bb_problems mistakes = {0};
    const bb_expression_rules rules = {.type = reduction->type,
                                       .inputs = BB_PROGRAM_ACCUMULATORS,
                                       .accumulators = reduction->count,
                                       .outputs = reduction->count};
    (void)bb_program_builder_try(
        builder, bb_expression_parse(
                     element->values[BB_DESCRIPTION_ICF], what, element->places[BB_DESCRIPTION_ICF],
                     &rules, &builder->program->arena,
                     reduction->is_associative ? builder->problems : &mistakes, &reduction->join));
    bb_problems_release(&mistakes);
}

static void bind_func(bb_program_builder *builder, const bb_element *element, const char *owner,
                      const bb_reduction *reduction)
{
    const bb_program *program = builder->program;
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        const int value = reduction->inputs[k];
        char name[BB_PORT_NAME_BYTES];
        if (k < reduction->expression.inputs && value < 0) {
            bb_program_builder_refuse(builder, element->place, "%s.func(%d) is not connected",
                                      owner, k);
        } else if (k >= reduction->expression.inputs && value >= 0) {
            bb_program_builder_refuse(builder, element->place,
                                      "%s.func(%d) is connected, but the ICF has no #in(%d)", owner,
                                      k, k);
        } else if (value >= 0 && program->values[value].type != reduction->type &&
                   !bb_element_type_widens(program->values[value].type, reduction->type)) {
            bb_program_builder_refuse(builder, element->place,
                                      "%s.func(%d) of type %s is connected to %s of type %s; "
                                      "narrow it with a FunctionBlock",
                                      owner, k, bb_element_type_row(reduction->type)->name,
                                      bb_program_builder_emitter(program, value, name),
                                      bb_element_type_row(program->values[value].type)->name);
        }
    }
}

// The function whose product the sum accumulates by fma: in the same body and of the sum's type.
static int product_of(const bb_program *program, const bb_reduction *reduction, bb_scope scope,
                      int iterator)
{
    const bb_element_row *row = bb_element_type_row(reduction->type);
    const bb_value *value = &program->values[reduction->inputs[0]];
    int factors[2];
    if (reduction->icf != BB_ICF_SUM || !row->is_float || row->parts != 1 ||
        value->kind != BB_VALUE_FUNCTION || value->type != reduction->type ||
        value->scope != scope || value->iterator != iterator) {
        return -1;
    }
    const bb_step *step = &program->steps[value->owner];
    return step->expression.output_count == 1 && bb_expression_product(&step->expression, factors)
               ? value->owner
               : -1;
}

void bb_program_builder_reduce(bb_program_builder *builder, const bb_element *element,
                               const char *owner, int iterator, bb_reduction *reduction)
{
    bb_program *program = builder->program;
    bb_element_type input_types[BB_PROGRAM_ACCUMULATORS];
    char what[WHAT_BYTES];
    const int fed = reduction->inputs[0];
    reduction->type = fed >= 0 ? program->values[fed].type : BB_ELEMENT_SP;
    if (element->values[BB_DESCRIPTION_ICF_TYPE] != NULL) {
        bb_program_builder_read_type(builder, element, BB_DESCRIPTION_ICF_TYPE, &reduction->type);
    }
    if (reduction->type == BB_ELEMENT_INT32 && fed >= 0 &&
        program->values[fed].type == BB_ELEMENT_INDEX) {
        reduction->type = BB_ELEMENT_INDEX;
    }
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        const int value = reduction->inputs[k];
        input_types[k] = value >= 0 ? program->values[value].type : reduction->type;
    }
    const bb_expression_rules rules = {.type = reduction->type,
                                       .input_types = input_types,
                                       .inputs = BB_PROGRAM_ACCUMULATORS,
                                       .accumulators = reduction->count,
                                       .outputs = reduction->count};
    (void)snprintf(what, sizeof what, "ICF of %s", owner);
    const bb_index before = builder->problems->count;
    (void)bb_program_builder_try(
        builder, bb_expression_parse(element->values[BB_DESCRIPTION_ICF], what,
                                     element->places[BB_DESCRIPTION_ICF], &rules, &program->arena,
                                     builder->problems, &reduction->expression));
    if (builder->problems->count > before) {
        return;
    }
    bind_func(builder, element, owner, reduction);
    reduction->icf =
        reduction->count == 1 ? bb_expression_icf(&reduction->expression) : BB_ICF_OTHER;
    if (reduction->icf != BB_ICF_OTHER) {
        reduction->neutral = bb_expression_neutral(reduction->icf, reduction->type);
    }
    read_start(builder, element, owner, reduction);
    read_associative(builder, element, owner, reduction);
    read_join(builder, element, what, reduction);
    if (fed >= 0) {
        reduction->product = product_of(
            program, reduction, iterator >= 0 ? BB_SCOPE_ITERATOR : BB_SCOPE_BODY, iterator);
    }
    for (int k = 0; k < reduction->count; ++k) {
        program->values[reduction->output + k].type = reduction->type;
    }
}

// Order of sums

// True if iterations read neighbours in memory: along columns in some read, and along rows in none.
static bool reads_neighbours(const bb_program *program, const bb_iterator *iterator)
{
    const int position = iterator->space.positions[0];
    bool any = false;
    for (int i = 0; i < iterator->steps.count; ++i) {
        const bb_step *step = &program->steps[iterator->steps.steps[i]];
        if (step->kind != BB_STEP_READ) {
            continue;
        }
        int64_t slope = 0;
        const bb_selector_form column = bb_selector_form_of(step, 0);
        any = any || (bb_selector_form_slope(&column, position, &slope) && slope == 1);
        if (step->expression.output_count == 2) {
            const bb_selector_form row = bb_selector_form_of(step, 1);
            if (!bb_selector_form_slope(&row, position, &slope) || slope != 0) {
                return false;
            }
        }
    }
    return any;
}

// True if a range depends on a size of an object.
static bool is_sized(const bb_program *program, int value)
{
    const bb_value *range = &program->values[value];
    if (range->kind != BB_VALUE_FUNCTION || range->scope != BB_SCOPE_HOST) {
        return range->kind == BB_VALUE_SIZE || range->kind == BB_VALUE_PARAMETER;
    }
    const bb_step *step = &program->steps[range->owner];
    bool sized = false;
    for (int k = 0; k < step->expression.inputs; ++k) {
        sized = sized || is_sized(program, step->inputs[k]);
    }
    return sized;
}

// The order is part of a program's meaning, so that sums are the same on every device. A long sum
// over neighbours in memory has lanes, fewer if data determine the length; a long sum over distant
// elements has chunks; other sums are sequential.
static bb_reduction_order order_of(const bb_program *program, const bb_iterator *iterator)
{
    const bb_reduction_order serial = {.lanes = 1};
    if (iterator == NULL) {
        return program->reduction.icf != BB_ICF_OTHER
                   ? (bb_reduction_order){BB_PROGRAM_LANES, LANE_CHUNK}
                   : (bb_reduction_order){1, program->reduction.is_associative ? LANE_CHUNK : 0};
    }
    if (iterator->reduction.icf == BB_ICF_OTHER || iterator->space.dimensions != 1 ||
        program->space.dimensions != 1) {
        return serial;
    }
    if (program->values[iterator->space.ranges[0]].scope != BB_SCOPE_HOST) {
        return reads_neighbours(program, iterator) ? (bb_reduction_order){.lanes = ROW_LANES}
                                                   : serial;
    }
    if (!is_sized(program, iterator->space.ranges[0])) {
        return serial;
    }
    return reads_neighbours(program, iterator) ? (bb_reduction_order){BB_PROGRAM_LANES, LANE_CHUNK}
                                               : (bb_reduction_order){1, LINE_CHUNK};
}

void bb_program_builder_order_sums(bb_program *program)
{
    for (int i = 0; i < program->iterator_count; ++i) {
        program->iterators[i].reduction.order = order_of(program, &program->iterators[i]);
    }
    if (program->has_reduction) {
        program->reduction.order = order_of(program, NULL);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Types of values, in the order of the steps, and the expressions that need them: functions and
// selectors.
#include "solvers/kernels/program/program_builder.h"

#include <stdio.h>

enum {
    WHAT_BYTES = 160,
};

typedef struct typing {
    bb_program_builder *builder;
    bb_program *program;
} typing;

static bool is_integer(bb_element_type type)
{
    return type == BB_ELEMENT_INT32 || type == BB_ELEMENT_INDEX;
}

static void refuse_integer(typing *types, bb_place place, const char *taker, const char *port,
                           int index, int value)
{
    char name[BB_PORT_NAME_BYTES];
    bb_program_builder_refuse(types->builder, place,
                              "%s.%s(%d) is connected to %s of type %s; expected an integer", taker,
                              port, index, bb_program_builder_emitter(types->program, value, name),
                              bb_element_type_row(types->program->values[value].type)->name);
}

static void check_ranges(typing *types, const bb_iteration_space *space, bb_place place,
                         const char *owner)
{
    for (int k = 0; k < space->dimensions; ++k) {
        if (!is_integer(types->program->values[space->ranges[k]].type)) {
            refuse_integer(types, place, owner, "Range", k, space->ranges[k]);
        }
    }
}

// Resolves the parameter names of a selector.
static void bind_names(typing *types, bb_step *step, bb_place place)
{
    const bb_program *program = types->program;
    int *parameters = NULL;
    if (step->expression.name_count > BB_PROGRAM_PORTS) {
        bb_program_builder_refuse(types->builder, place, "selector of %s: %d names, at most %d",
                                  step->name, step->expression.name_count, BB_PROGRAM_PORTS);
        return;
    }
    if (!bb_program_builder_try(types->builder,
                                bb_arena_zeroed(&types->program->arena, step->expression.name_count,
                                                sizeof *parameters, (void **)&parameters))) {
        return;
    }
    for (int i = 0; i < step->expression.name_count; ++i) {
        const char *name = step->expression.names[i];
        const bb_program_name *entry = bb_program_builder_find(types->builder, name);
        if (entry == NULL || entry->kind != BB_NAMED_PARAMETER) {
            bb_program_builder_refuse(types->builder, place,
                                      "selector of %s: '%.80s' is neither v0 to v3 nor a Parameter",
                                      step->name, name);
        } else if (program->parameters[entry->index].type != BB_ELEMENT_INT32) {
            bb_program_builder_refuse(
                types->builder, place, "selector of %s: parameter %s is %s, expected INT32",
                step->name, name,
                bb_element_type_row(program->parameters[entry->index].type)->name);
        } else {
            parameters[i] = program->parameters[entry->index].value;
        }
    }
    step->parameters = parameters;
}

static void bind_variables(typing *types, bb_step *step, const int *slots)
{
    for (int k = 0; k < BB_PROGRAM_VARIABLES; ++k) {
        const bool used = k < step->expression.inputs;
        if (used && slots[k] < 0) {
            bb_program_builder_refuse(types->builder, step->place, "%s.v(%d) is not connected",
                                      step->name, k);
        } else if (!used && slots[k] >= 0) {
            bb_program_builder_refuse(types->builder, step->place,
                                      "%s.v(%d) is connected, but the selector has no v%d",
                                      step->name, k, k);
        } else if (used && !is_integer(types->program->values[slots[k]].type)) {
            refuse_integer(types, step->place, step->name, "v", k, slots[k]);
        }
    }
    step->inputs = types->builder->slots[step - types->program->steps];
}

// Checks a value against the object's type; a reduction's value may be wider, because the write
// rounds it.
static void check_stored(typing *types, const bb_step *step)
{
    const bb_program *program = types->program;
    const bb_program_object *object = &program->objects[step->object];
    const bb_value *value = &program->values[step->stored];
    const bb_element_type type = value->type == BB_ELEMENT_INDEX ? BB_ELEMENT_INT32 : value->type;
    const bb_element_row *stored = bb_element_type_row(type);
    const bb_element_row *target = bb_element_type_row(object->type);
    const bool rounds = value->kind == BB_VALUE_REDUCTION && stored->is_float && target->is_float &&
                        stored->parts == target->parts;
    if (type != object->type && !bb_element_type_widens(type, object->type) && !rounds) {
        char name[BB_PORT_NAME_BYTES];
        bb_program_builder_refuse(
            types->builder, step->place,
            "%s writes %s of type %s to %s of type %s; narrow it with a FunctionBlock of type %s",
            step->name, bb_program_builder_emitter(program, step->stored, name), stored->name,
            object->name, target->name, target->name);
    }
}

static void type_access(typing *types, int number)
{
    bb_program *program = types->program;
    bb_step *step = &program->steps[number];
    const bb_element *element = types->builder->elements[number];
    const bb_program_object *object = &program->objects[step->object];
    const int *slots = types->builder->slots[number];
    const bb_place place = element->places[BB_DESCRIPTION_SELECTOR];
    bb_element_type input_types[BB_PROGRAM_VARIABLES];
    char what[WHAT_BYTES];
    for (int k = 0; k < BB_PROGRAM_VARIABLES; ++k) {
        input_types[k] = slots[k] >= 0 && is_integer(program->values[slots[k]].type)
                             ? program->values[slots[k]].type
                             : BB_ELEMENT_INDEX;
    }
    const bb_expression_rules rules = {.type = BB_ELEMENT_INDEX,
                                       .input_types = input_types,
                                       .inputs = BB_PROGRAM_VARIABLES,
                                       .outputs = 1 + (object->structure == BB_STRUCTURE_MATRIX),
                                       .selector = true};
    (void)snprintf(what, sizeof what, "selector of %s, of %s %s", step->name,
                   object->structure == BB_STRUCTURE_MATRIX ? "matrix" : "vector", object->name);
    (void)bb_program_builder_try(types->builder,
                                 bb_expression_parse(element->values[BB_DESCRIPTION_SELECTOR], what,
                                                     place, &rules, &program->arena,
                                                     types->builder->problems, &step->expression));
    if (step->expression.output_count > 0) { // do not report consequences of a mistake
        bind_names(types, step, place);
        bind_variables(types, step, slots);
    }
    if (step->kind == BB_STEP_READ) {
        program->values[step->output].type = object->type;
    } else {
        check_stored(types, step);
    }
}

static void type_function(typing *types, int number)
{
    bb_program *program = types->program;
    bb_step *step = &program->steps[number];
    const bb_element *element = types->builder->elements[number];
    const int inputs = step->expression.inputs;
    const int outputs = step->expression.output_count;
    bb_element_type input_types[BB_PROGRAM_PORTS];
    bb_element_type type = BB_ELEMENT_SP;
    char what[WHAT_BYTES];
    bb_program_builder_read_type(types->builder, element, BB_DESCRIPTION_DATA_TYPE, &type);
    for (int k = 0; k < inputs; ++k) {
        input_types[k] = program->values[step->inputs[k]].type;
    }
    // Index arithmetic stays in 64 bits.
    for (int k = 0; type == BB_ELEMENT_INT32 && k < inputs; ++k) {
        type = input_types[k] == BB_ELEMENT_INDEX ? BB_ELEMENT_INDEX : type;
    }
    const bb_expression_rules rules = {
        .type = type, .input_types = input_types, .inputs = inputs, .outputs = outputs};
    (void)snprintf(what, sizeof what, "function of %s", step->name);
    (void)bb_program_builder_try(types->builder,
                                 bb_expression_parse(element->values[BB_DESCRIPTION_FUNCTION], what,
                                                     element->places[BB_DESCRIPTION_FUNCTION],
                                                     &rules, &program->arena,
                                                     types->builder->problems, &step->expression));
    // Inputs that no expression uses must be connected, too.
    step->expression.inputs = inputs;
    for (int k = 0; k < outputs; ++k) {
        program->values[step->output + k].type = type;
    }
}

static void type_hull(typing *types)
{
    bb_program *program = types->program;
    const bb_element *root = types->builder->description->root;
    if (program->has_reduction) {
        bb_program_builder_reduce(types->builder, root, program->name, -1, &program->reduction);
    }
}

static void type_step(typing *types, int number)
{
    bb_program *program = types->program;
    bb_step *step = &program->steps[number];
    switch (step->kind) {
    case BB_STEP_READ:
    case BB_STEP_WRITE:
        type_access(types, number);
        break;
    case BB_STEP_FUNCTION:
        type_function(types, number);
        break;
    case BB_STEP_ITERATOR: {
        bb_iterator *iterator = &program->iterators[step->iterator];
        check_ranges(types, &iterator->space, step->place, step->name);
        bb_program_builder_reduce(types->builder, types->builder->elements[number], step->name,
                                  step->iterator, &iterator->reduction);
        break;
    }
    }
}

void bb_program_builder_type(bb_program_builder *builder)
{
    bb_program *program = builder->program;
    typing types = {.builder = builder, .program = program};
    const bb_index before = builder->problems->count;
    for (int i = 0; i <= program->step_count; ++i) {
        if (builder->order[i] < program->step_count) {
            type_step(&types, builder->order[i]);
        } else {
            type_hull(&types);
        }
    }
    check_ranges(&types, &program->space, builder->description->root->place, program->name);
    if (builder->problems->count == before && builder->status == BB_OK) {
        bb_program_builder_order_sums(program);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Connections: "Object.port(k)" to "Object.port(k)", one emitter per acceptor, every acceptor
// connected.
#include "core/suggestion.h"
#include "solvers/kernels/program/program_builder.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, MAX_INDEX = 4096 };

/// One end of a connection, parsed.
typedef struct port {
    const char *text; ///< as written
    bb_place place;
    const bb_program_name *owner;
    char name[NAME_BYTES];
    int index; ///< -1: not written
} port;

static void suggest_name(bb_program_builder *builder, const char *name, bb_place place)
{
    bb_index distance = PTRDIFF_MAX;
    const char *nearest = NULL;
    const bool is_told = builder->problems->count < BB_PROBLEMS_TOLD;
    for (int i = 0; is_told && i < builder->name_slots; ++i) {
        if (builder->names[i].name != NULL) {
            bb_suggestion_consider(name, builder->names[i].name, &distance, &nearest);
        }
    }
    bb_program_builder_refuse(builder, place, "there is no object '%s'%s%s%s", name,
                              nearest != NULL ? "; did you mean " : "",
                              nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}

// Splits "Object.port" or "Object.port(k)"; `out->owner` is NULL after a problem.
static void read_port(bb_program_builder *builder, const bb_element *element,
                      bb_description_key key, port *out)
{
    char object[NAME_BYTES] = "";
    *out = (port){.text = element->values[key], .place = element->places[key], .index = -1};
    const char *dot = strchr(out->text, '.');
    const char *end = dot != NULL ? dot + 1 : "";
    while (isalnum((unsigned char)*end)) {
        ++end;
    }
    bool good = dot != NULL && dot > out->text && dot - out->text < NAME_BYTES && end > dot + 1 &&
                end - dot <= NAME_BYTES;
    const char *rest = end;
    if (good && *rest == '(') {
        char *after = NULL;
        const long index = isdigit((unsigned char)rest[1]) ? strtol(rest + 1, &after, 10) : -1;
        good = index >= 0 && index < MAX_INDEX && *after == ')';
        out->index = good ? (int)index : -1;
        rest = good ? after + 1 : rest;
    }
    if (!good || *rest != '\0') {
        bb_program_builder_refuse(builder, out->place,
                                  "'%.120s': expected Object.port or Object.port(k)", out->text);
        return;
    }
    memcpy(object, out->text, (size_t)(dot - out->text));
    memcpy(out->name, dot + 1, (size_t)(end - dot - 1));
    out->owner = bb_program_builder_find(builder, object);
    if (out->owner == NULL) {
        suggest_name(builder, object, out->place);
    }
}

// Index of a port with `count` numbered places; -1 after a problem.
static int find_index(bb_program_builder *builder, const port *end, int count)
{
    const int index = end->index < 0 && count > 0 && strcmp(end->name, "out") == 0 ? 0 : end->index;
    if (index < 0) {
        bb_program_builder_refuse(builder, end->place, "'%s': %s needs an index, such as %s(0)",
                                  end->text, end->name, end->name);
    } else if (index >= count) {
        bb_program_builder_refuse(builder, end->place, "'%s': %s has %s(k) for k below %d",
                                  end->text, end->owner->name, end->name, count);
    }
    return index < count ? index : -1;
}

static int find_value(bb_program_builder *builder, const port *end, int count, int first)
{
    const int index = find_index(builder, end, count);
    return index >= 0 ? first + index : -1;
}

static int *find_slot(bb_program_builder *builder, const port *end, int count, int *slots)
{
    const int index = find_index(builder, end, count);
    return index >= 0 ? &slots[index] : NULL;
}

static void refuse_port(bb_program_builder *builder, const port *end, const char *ports)
{
    bb_program_builder_refuse(builder, end->place,
                              "'%s': %s does not have this port; its ports: %s", end->text,
                              end->owner->name, ports[0] != '\0' ? ports : "none");
}

static bool is_named(const port *end, const char *name)
{
    return strcmp(end->name, name) == 0;
}

static int find_space_emitter(bb_program_builder *builder, const port *end,
                              const bb_iteration_space *space, const bb_reduction *reduction)
{
    if (is_named(end, "i")) {
        return find_value(builder, end, space->dimensions, space->positions[0]);
    }
    if (is_named(end, "out") && reduction != NULL) {
        return find_value(builder, end, reduction->count, reduction->output);
    }
    refuse_port(builder, end, reduction != NULL ? "i(k), out(k)" : "i(k)");
    return -1;
}

static int find_step_emitter(bb_program_builder *builder, const port *end)
{
    const bb_program *program = builder->program;
    const bb_step *step = &program->steps[end->owner->index];
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_iterator *iterator = &program->iterators[step->iterator];
        return find_space_emitter(builder, end, &iterator->space, &iterator->reduction);
    }
    if (step->kind == BB_STEP_READ && is_named(end, "out") && end->index < 0) {
        return step->output;
    }
    if (step->kind == BB_STEP_FUNCTION && is_named(end, "out")) {
        return find_value(builder, end, step->expression.output_count, step->output);
    }
    refuse_port(builder, end,
                step->kind == BB_STEP_READ    ? "out"
                : step->kind == BB_STEP_WRITE ? ""
                                              : "out(k)");
    return -1;
}

// Value of a source, -1 after a problem.
static int find_emitter(bb_program_builder *builder, const port *end)
{
    const bb_program *program = builder->program;
    const bb_program_named kind = end->owner->kind;
    if (kind == BB_NAMED_HULL) {
        return find_space_emitter(builder, end, &program->space,
                                  program->has_reduction ? &program->reduction : NULL);
    }
    if (kind == BB_NAMED_STEP) {
        return find_step_emitter(builder, end);
    }
    if (kind == BB_NAMED_OBJECT && is_named(end, "Size")) {
        const bb_program_object *object = &program->objects[end->owner->index];
        return find_value(builder, end, 1 + (object->structure == BB_STRUCTURE_MATRIX),
                          object->sizes[0]);
    }
    if (kind == BB_NAMED_PARAMETER && is_named(end, "value") && end->index < 0) {
        return program->parameters[end->owner->index].value;
    }
    refuse_port(builder, end,
                kind == BB_NAMED_OBJECT ? "Size(k); elements are read by a DataAccessRead"
                                        : "value");
    return -1;
}

static int *find_space_acceptor(bb_program_builder *builder, const port *end,
                                bb_iteration_space *space, bb_reduction *reduction)
{
    if (is_named(end, "Range") || is_named(end, "Size")) {
        return find_slot(builder, end, space->dimensions, space->ranges);
    }
    if (is_named(end, "func") && reduction != NULL) {
        return find_slot(builder, end, BB_PROGRAM_ACCUMULATORS, reduction->inputs);
    }
    refuse_port(builder, end, reduction != NULL ? "Range(k), func(k)" : "Range(k); it has no ICF");
    return NULL;
}

static int *find_step_acceptor(bb_program_builder *builder, const port *end)
{
    bb_program *program = builder->program;
    const int number = end->owner->index;
    bb_step *step = &program->steps[number];
    if (step->kind == BB_STEP_ITERATOR) {
        bb_iterator *iterator = &program->iterators[step->iterator];
        return find_space_acceptor(builder, end, &iterator->space, &iterator->reduction);
    }
    if (step->kind == BB_STEP_FUNCTION && is_named(end, "in")) {
        return find_slot(builder, end, step->expression.inputs, step->inputs);
    }
    if (step->kind == BB_STEP_WRITE && is_named(end, "in") && end->index <= 0) {
        return &step->stored;
    }
    if (step->kind != BB_STEP_FUNCTION && is_named(end, "v")) {
        return find_slot(builder, end, BB_PROGRAM_VARIABLES, builder->slots[number]);
    }
    refuse_port(builder, end,
                step->kind == BB_STEP_FUNCTION ? "in(k)"
                : step->kind == BB_STEP_READ   ? "v(k)"
                                               : "v(k), in");
    return NULL;
}

// Location of a destination's value, NULL after a problem.
static int *find_acceptor(bb_program_builder *builder, const port *end)
{
    bb_program *program = builder->program;
    switch (end->owner->kind) {
    case BB_NAMED_OBJECT:
        bb_program_builder_refuse(builder, end->place,
                                  "'%s': use a DataAccessWrite to write elements", end->text);
        break;
    case BB_NAMED_PARAMETER:
        refuse_port(builder, end, "");
        break;
    case BB_NAMED_HULL:
        return find_space_acceptor(builder, end, &program->space,
                                   program->has_reduction ? &program->reduction : NULL);
    case BB_NAMED_STEP:
        return find_step_acceptor(builder, end);
    }
    return NULL;
}

static void connect_one(bb_program_builder *builder, const bb_element *element)
{
    port source = {0};
    port destination = {0};
    read_port(builder, element, BB_DESCRIPTION_SOURCE, &source);
    read_port(builder, element, BB_DESCRIPTION_DESTINATION, &destination);
    const int value = source.owner != NULL ? find_emitter(builder, &source) : -1;
    int *slot = destination.owner != NULL ? find_acceptor(builder, &destination) : NULL;
    if (value >= 0 && slot != NULL && *slot >= 0) {
        char emitter[BB_PORT_NAME_BYTES];
        bb_program_builder_refuse(
            builder, destination.place,
            "'%s' is already connected to %s; an acceptor has a single emitter", destination.text,
            bb_program_builder_emitter(builder->program, *slot, emitter));
    } else if (value >= 0 && slot != NULL) {
        *slot = value;
    }
}

static void require(bb_program_builder *builder, bb_place place, const char *owner,
                    const char *port_name, int index, int slot)
{
    if (slot < 0) {
        bb_program_builder_refuse(builder, place, "%s.%s(%d) is not connected", owner, port_name,
                                  index);
    }
}

static void require_space(bb_program_builder *builder, bb_place place, const char *owner,
                          const bb_iteration_space *space, const bb_reduction *reduction)
{
    for (int k = 0; k < space->dimensions; ++k) {
        require(builder, place, owner, "Range", k, space->ranges[k]);
    }
    if (reduction == NULL) {
        return;
    }
    bool any = false;
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        any = any || reduction->inputs[k] >= 0;
    }
    if (!any) {
        require(builder, place, owner, "func", 0, -1);
    }
}

// Checks all acceptors except v(k) and func(k), whose number is known once their expressions are
// parsed.
static void require_all(bb_program_builder *builder)
{
    const bb_program *program = builder->program;
    require_space(builder, builder->description->root->place, program->name, &program->space,
                  program->has_reduction ? &program->reduction : NULL);
    for (int i = 0; i < program->step_count; ++i) {
        const bb_step *step = &program->steps[i];
        if (step->kind == BB_STEP_ITERATOR) {
            const bb_iterator *iterator = &program->iterators[step->iterator];
            require_space(builder, step->place, step->name, &iterator->space, &iterator->reduction);
        }
        for (int k = 0; step->kind == BB_STEP_FUNCTION && k < step->expression.inputs; ++k) {
            require(builder, step->place, step->name, "in", k, step->inputs[k]);
        }
        if (step->kind == BB_STEP_WRITE && step->stored < 0) {
            bb_program_builder_refuse(builder, step->place, "%s.in is not connected", step->name);
        }
    }
}

void bb_program_builder_connect(bb_program_builder *builder)
{
    const bb_element *section = builder->description->root->first;
    for (; section != NULL; section = section->next) {
        const bb_element *element =
            section->construct == BB_CONSTRUCT_CONNECTIONS ? section->first : NULL;
        for (; element != NULL; element = element->next) {
            connect_one(builder, element);
        }
    }
    // Do not report consequences of a wrong name or connection.
    if (builder->problems->count == builder->problems_before) {
        require_all(builder);
    }
}

const char *bb_program_builder_emitter(const bb_program *program, int value,
                                       char text[BB_PORT_NAME_BYTES])
{
    const bb_value *emitter = &program->values[value];
    const char *owner = program->name;
    const char *port_name = "out";
    switch (emitter->kind) {
    case BB_VALUE_SIZE:
        owner = program->objects[emitter->owner].name;
        port_name = "Size";
        break;
    case BB_VALUE_PARAMETER:
        (void)snprintf(text, BB_PORT_NAME_BYTES, "%s.value",
                       program->parameters[emitter->owner].name);
        return text;
    case BB_VALUE_POSITION:
        port_name = "i"; // falls through
    case BB_VALUE_REDUCTION:
        owner = emitter->owner >= 0 ? program->iterators[emitter->owner].name : owner;
        break;
    case BB_VALUE_READ:
        (void)snprintf(text, BB_PORT_NAME_BYTES, "%s.out", program->steps[emitter->owner].name);
        return text;
    case BB_VALUE_FUNCTION:
        owner = program->steps[emitter->owner].name;
        break;
    }
    (void)snprintf(text, BB_PORT_NAME_BYTES, "%s.%s(%d)", owner, port_name, emitter->index);
    return text;
}

// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/program/program.h"

#include "core/memory.h"
#include "core/suggestion.h"
#include "solvers/kernels/program/program_builder.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_STEPS = 4096,
    MAX_OBJECTS = 1024,
    NAME_BYTES = 64,
    WORDS_BYTES = 80,
    MESSAGE_BYTES = 1024
};

static const char *const boundary_names[] = {"none",     "clamp", "zero", "mirror",
                                             "periodic", "skip",  NULL};

const char *bb_program_boundary_name(bb_boundary boundary)
{
    return boundary_names[boundary];
}

bool bb_program_builder_try(bb_program_builder *builder, bb_status status)
{
    builder->status = builder->status != BB_OK ? builder->status : status;
    return builder->status == BB_OK;
}

void bb_program_builder_refuse(bb_program_builder *builder, bb_place place, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)bb_program_builder_try(builder, bb_problems_add(builder->problems, place, "%s", message));
}

// Names

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261U; // FNV-1a
    for (; *name != '\0'; ++name) {
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    }
    return hash;
}

static bb_program_name *name_slot(const bb_program_builder *builder, const char *name)
{
    uint32_t slot = hash_of(name) & (uint32_t)(builder->name_slots - 1);
    while (builder->names[slot].name != NULL && strcmp(builder->names[slot].name, name) != 0) {
        slot = (slot + 1) & (uint32_t)(builder->name_slots - 1);
    }
    return &builder->names[slot];
}

const bb_program_name *bb_program_builder_find(const bb_program_builder *builder, const char *name)
{
    const bb_program_name *entry = name_slot(builder, name);
    return entry->name != NULL ? entry : NULL;
}

static bool is_identifier(const char *name)
{
    bool good = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (const char *c = name; *c != '\0'; ++c) {
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    }
    return good && strlen(name) < NAME_BYTES;
}

static void add_name(bb_program_builder *builder, const bb_element *element, bb_program_named kind,
                     int index)
{
    const char *name = element->values[BB_DESCRIPTION_NAME];
    const bb_place place = element->places[BB_DESCRIPTION_NAME];
    if (!is_identifier(name)) {
        bb_program_builder_refuse(builder, place,
                                  "name '%.80s': expected letters, digits and _, at most %d", name,
                                  NAME_BYTES - 1);
        return;
    }
    bb_program_name *entry = name_slot(builder, name);
    if (entry->name != NULL) {
        bb_program_builder_refuse(builder, place,
                                  "name '%s' is already in use; choose another name", name);
        return;
    }
    *entry = (bb_program_name){name, kind, index};
}

// Types, numbers, words

void bb_program_builder_read_type(bb_program_builder *builder, const bb_element *element,
                                  bb_description_key key, bb_element_type *out)
{
    const char *word = element->values[key];
    *out = BB_ELEMENT_SP;
    for (bb_index i = 0; i < builder->type_count; ++i) {
        if (strcmp(builder->types[i].name, word) == 0) {
            builder->type_used[i] = true;
            word = builder->types[i].type;
        }
    }
    if (bb_element_type_find(word, out) != BB_OK) {
        bb_status_record record;
        bb_status_save(&record);
        bb_program_builder_refuse(
            builder, element->places[key], "%s '%.80s' is not a type%s: %s",
            bb_description_key_name(key), word,
            word == element->values[key] ? ", and no NAME=TYPE defines it" : "", record.message);
    }
}

static void read_word(bb_program_builder *builder, const bb_element *element,
                      bb_description_key key, const char *const *words, int absent, int *out)
{
    const char *word = element->values[key];
    char list[WORDS_BYTES] = "";
    size_t length = 0;
    *out = absent;
    if (word == NULL) {
        return;
    }
    for (int i = 0; words[i] != NULL; ++i) {
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return;
        }
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "",
                                   words[i]);
    }
    bb_program_builder_refuse(builder, element->places[key], "%s = '%.80s': expected one of %s",
                              bb_description_key_name(key), word, list);
}

static void read_count(bb_program_builder *builder, const bb_element *element,
                       bb_description_key key, int minimum, int maximum, int *out)
{
    const char *text = element->values[key];
    int number = 0;
    bool good = text[0] != '\0';
    for (const char *c = text; *c != '\0' && good; ++c) {
        good = isdigit((unsigned char)*c) && number <= maximum;
        number = 10 * number + (*c - '0');
    }
    // Number of ports; after a mistake the maximum, so that connections to them are not reported,
    // too.
    *out = key == BB_DESCRIPTION_NUM_OUT ? minimum : maximum;
    if (good && number >= minimum && number <= maximum) {
        *out = number;
    } else {
        bb_program_builder_refuse(builder, element->places[key],
                                  "%s = '%.80s': expected an integer in [%d, %d]",
                                  bb_description_key_name(key), text, minimum, maximum);
    }
}

// Elements

static int add_value(bb_program *program, bb_value value)
{
    program->values[program->value_count] = value;
    return program->value_count++;
}

static void add_object(bb_program_builder *builder, const bb_element *element)
{
    static const char *const structures[] = {"vector", "matrix", NULL};
    bb_program *program = builder->program;
    const int number = program->object_count++;
    bb_program_object *object = &program->objects[number];
    int structure = 0;
    *object = (bb_program_object){
        .name = element->values[BB_DESCRIPTION_NAME], .place = element->place, .sizes = {-1, -1}};
    read_word(builder, element, BB_DESCRIPTION_STRUCTURE, structures, BB_STRUCTURE_MATRIX,
              &structure);
    object->structure = structure;
    bb_program_builder_read_type(builder, element, BB_DESCRIPTION_ELEMENT_DATA_TYPE, &object->type);
    for (int k = 0; k <= structure; ++k) {
        object->sizes[k] = add_value(
            program, (bb_value){BB_VALUE_SIZE, BB_ELEMENT_INDEX, BB_SCOPE_HOST, number, k, -1});
    }
    add_name(builder, element, BB_NAMED_OBJECT, number);
}

static void add_parameter(bb_program_builder *builder, const bb_element *element)
{
    bb_program *program = builder->program;
    const int number = program->parameter_count++;
    bb_program_parameter *parameter = &program->parameters[number];
    *parameter = (bb_program_parameter){.name = element->values[BB_DESCRIPTION_NAME],
                                        .place = element->place};
    bb_program_builder_read_type(builder, element, BB_DESCRIPTION_TYPE, &parameter->type);
    parameter->value = add_value(
        program, (bb_value){BB_VALUE_PARAMETER, parameter->type, BB_SCOPE_HOST, number, 0, -1});
    add_name(builder, element, BB_NAMED_PARAMETER, number);
}

static void add_space(bb_program_builder *builder, const bb_element *element, int owner,
                      bb_iteration_space *space)
{
    read_count(builder, element, BB_DESCRIPTION_DIMENSIONS, 1, BB_PROGRAM_DIMENSIONS,
               &space->dimensions);
    for (int k = 0; k < BB_PROGRAM_DIMENSIONS; ++k) {
        space->ranges[k] = -1;
        space->positions[k] = -1;
    }
    for (int k = 0; k < space->dimensions; ++k) {
        space->positions[k] =
            add_value(builder->program,
                      (bb_value){BB_VALUE_POSITION, BB_ELEMENT_INDEX,
                                 owner < 0 ? BB_SCOPE_BODY : BB_SCOPE_ITERATOR, owner, k, owner});
    }
}

// The number of accumulators is the number of expressions of the ICF.
static void add_reduction(bb_program_builder *builder, const bb_element *element, int owner,
                          bb_reduction *reduction)
{
    const char *text = element->values[BB_DESCRIPTION_ICF];
    reduction->product = -1;
    reduction->count = 0;
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        reduction->inputs[k] = -1;
    }
    bool blank = true;
    for (const char *c = text;; ++c) {
        if ((*c == ';' || *c == '\0') && !blank) {
            ++reduction->count;
            blank = true;
        }
        if (*c == '\0') {
            break;
        }
        blank = blank && (*c == ';' || isspace((unsigned char)*c));
    }
    if (reduction->count < 1 || reduction->count > BB_PROGRAM_ACCUMULATORS) {
        bb_program_builder_refuse(builder, element->places[BB_DESCRIPTION_ICF],
                                  "ICF has %d expressions, expected 1 to %d", reduction->count,
                                  BB_PROGRAM_ACCUMULATORS);
        reduction->count = 1;
    }
    for (int k = 0; k < reduction->count; ++k) {
        const int value = add_value(
            builder->program, (bb_value){BB_VALUE_REDUCTION, BB_ELEMENT_SP,
                                         owner < 0 ? BB_SCOPE_FINAL : BB_SCOPE_BODY, owner, k, -1});
        reduction->output = k == 0 ? value : reduction->output;
    }
}

static void add_access(bb_program_builder *builder, const bb_element *element, bb_step *step)
{
    bb_program *program = builder->program;
    const bb_description_key key =
        step->kind == BB_STEP_READ ? BB_DESCRIPTION_SOURCE : BB_DESCRIPTION_DESTINATION;
    const bb_program_name *entry = bb_program_builder_find(builder, element->values[key]);
    int boundary = 0;
    read_word(builder, element, BB_DESCRIPTION_BOUNDARY, boundary_names, 0, &boundary);
    step->boundary = boundary;
    if (entry == NULL || entry->kind != BB_NAMED_OBJECT) {
        bb_index distance = PTRDIFF_MAX;
        const char *nearest = NULL;
        const bool is_told = builder->problems->count < BB_PROBLEMS_TOLD;
        for (int i = 0; is_told && i < program->object_count; ++i) {
            bb_suggestion_consider(element->values[key], program->objects[i].name, &distance,
                                   &nearest);
        }
        bb_program_builder_refuse(builder, element->places[key],
                                  "%s = '%.80s': no DataObject has this name%s%s%s",
                                  bb_description_key_name(key), element->values[key],
                                  nearest != NULL ? "; did you mean " : "",
                                  nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
        return;
    }
    step->object = entry->index;
    if (step->kind == BB_STEP_READ) {
        program->objects[step->object].is_read = true;
        step->output = add_value(program, (bb_value){BB_VALUE_READ, BB_ELEMENT_SP, BB_SCOPE_BODY,
                                                     (int)(step - program->steps), 0, -1});
    } else {
        program->objects[step->object].is_written = true;
    }
}

static void add_function(bb_program_builder *builder, const bb_element *element, bb_step *step)
{
    bb_program *program = builder->program;
    int inputs = 0;
    int outputs = 0;
    int *slots = NULL;
    read_count(builder, element, BB_DESCRIPTION_NUM_IN, 0, BB_PROGRAM_PORTS, &inputs);
    read_count(builder, element, BB_DESCRIPTION_NUM_OUT, 1, BB_PROGRAM_PORTS, &outputs);
    if (!bb_program_builder_try(
            builder, bb_arena_zeroed(&program->arena, inputs, sizeof *slots, (void **)&slots))) {
        return;
    }
    for (int k = 0; k < inputs; ++k) {
        slots[k] = -1;
    }
    step->inputs = slots;
    step->expression.inputs = inputs;
    step->expression.output_count = outputs;
    for (int k = 0; k < outputs; ++k) {
        const int value =
            add_value(program, (bb_value){BB_VALUE_FUNCTION, BB_ELEMENT_SP, BB_SCOPE_BODY,
                                          (int)(step - program->steps), k, -1});
        step->output = k == 0 ? value : step->output;
    }
}

static void add_step(bb_program_builder *builder, const bb_element *element, int iterator);

static void add_children(bb_program_builder *builder, const bb_element *parent, int iterator)
{
    for (const bb_element *child = parent->first; child != NULL; child = child->next) {
        add_step(builder, child, iterator);
    }
}

static void add_iterator(bb_program_builder *builder, const bb_element *element, bb_step *step)
{
    bb_program *program = builder->program;
    const int number = program->iterator_count++;
    bb_iterator *iterator = &program->iterators[number];
    iterator->name = element->values[BB_DESCRIPTION_NAME];
    iterator->step = (int)(step - program->steps);
    step->iterator = number;
    add_space(builder, element, number, &iterator->space);
    add_reduction(builder, element, number, &iterator->reduction);
    step->output = iterator->reduction.output;
    add_children(builder, element, number);
}

static void add_step(bb_program_builder *builder, const bb_element *element, int iterator)
{
    static const bb_step_kind kinds[BB_CONSTRUCT_COUNT] = {
        [BB_CONSTRUCT_ACCESS_READ] = BB_STEP_READ,
        [BB_CONSTRUCT_ACCESS_WRITE] = BB_STEP_WRITE,
        [BB_CONSTRUCT_FUNCTION_BLOCK] = BB_STEP_FUNCTION,
        [BB_CONSTRUCT_ITERATOR_BLOCK] = BB_STEP_ITERATOR,
    };
    bb_program *program = builder->program;
    const int number = program->step_count++;
    bb_step *step = &program->steps[number];
    *step = (bb_step){.kind = kinds[element->construct],
                      .name = element->values[BB_DESCRIPTION_NAME],
                      .place = element->place,
                      .object = -1,
                      .stored = -1,
                      .output = -1,
                      .iterator = iterator};
    builder->elements[number] = element;
    for (int k = 0; k < BB_PROGRAM_VARIABLES; ++k) {
        builder->slots[number][k] = -1;
    }
    add_name(builder, element, BB_NAMED_STEP, number);
    switch (step->kind) {
    case BB_STEP_READ:
    case BB_STEP_WRITE:
        add_access(builder, element, step);
        break;
    case BB_STEP_FUNCTION:
        add_function(builder, element, step);
        break;
    case BB_STEP_ITERATOR:
        add_iterator(builder, element, step);
        break;
    }
}

// Counts the elements, so that arrays are allocated once and pointers into them remain valid.
typedef struct element_counts {
    int objects, parameters, steps, iterators, values, names;
} element_counts;

static int ports_of(const bb_element *element)
{
    int number = 0;
    const char *text = element->values[BB_DESCRIPTION_NUM_OUT];
    for (const char *c = text;
         c != NULL && isdigit((unsigned char)*c) && number <= BB_PROGRAM_PORTS; ++c) {
        number = 10 * number + (*c - '0');
    }
    return number < BB_PROGRAM_PORTS ? number : BB_PROGRAM_PORTS;
}

static void count_elements(const bb_element *parent, element_counts *counts)
{
    for (const bb_element *child = parent->first; child != NULL; child = child->next) {
        const bool is_step = child->construct == BB_CONSTRUCT_ACCESS_READ ||
                             child->construct == BB_CONSTRUCT_ACCESS_WRITE ||
                             child->construct == BB_CONSTRUCT_FUNCTION_BLOCK ||
                             child->construct == BB_CONSTRUCT_ITERATOR_BLOCK;
        counts->objects += child->construct == BB_CONSTRUCT_DATA_OBJECT;
        counts->parameters += child->construct == BB_CONSTRUCT_PARAMETER;
        counts->iterators += child->construct == BB_CONSTRUCT_ITERATOR_BLOCK;
        counts->steps += is_step;
        // Upper bound of the values that an element creates, apart from a function's outputs.
        counts->values += 2 + BB_PROGRAM_DIMENSIONS + ports_of(child);
        if (child->construct == BB_CONSTRUCT_ITERATOR_BLOCK) {
            counts->values += BB_PROGRAM_ACCUMULATORS;
        }
        ++counts->names;
        count_elements(child, counts);
    }
}

#define ARENA_ARRAY(count, member)                                                                 \
    bb_arena_zeroed(&builder->program->arena, (count), sizeof *(member), (void **)&(member))

static bb_status allocate(bb_program_builder *builder)
{
    bb_status status = BB_OK;
    bb_program *program = builder->program;
    element_counts counts = {.values = BB_PROGRAM_DIMENSIONS + BB_PROGRAM_ACCUMULATORS};
    count_elements(builder->description->root, &counts);
    BB_REQUIRE(counts.steps <= MAX_STEPS, BB_INVALID,
               "the kernel has %d children, expected at most %d", counts.steps, MAX_STEPS);
    BB_REQUIRE(counts.objects + counts.parameters <= MAX_OBJECTS, BB_INVALID,
               "the kernel has %d DataObjects and Parameters, expected at most %d",
               counts.objects + counts.parameters, MAX_OBJECTS);
    builder->name_slots = 4;
    while (builder->name_slots < 2 * (counts.names + 1)) {
        builder->name_slots *= 2;
    }
    BB_TRY(ARENA_ARRAY(counts.objects, program->objects));
    BB_TRY(ARENA_ARRAY(counts.parameters, program->parameters));
    BB_TRY(ARENA_ARRAY(counts.values, program->values));
    BB_TRY(ARENA_ARRAY(counts.steps, program->steps));
    BB_TRY(ARENA_ARRAY(counts.iterators, program->iterators));
    BB_TRY(ARENA_ARRAY(counts.steps, builder->elements));
    BB_TRY(ARENA_ARRAY(counts.steps, builder->slots));
    BB_TRY(ARENA_ARRAY(counts.steps + 1, builder->order));
    BB_TRY(ARENA_ARRAY(builder->name_slots, builder->names));
    BB_TRY(ARENA_ARRAY(builder->type_count, builder->type_used));
done:
    return status;
}

static const bb_element *section_of(const bb_description *description, bb_construct construct)
{
    const bb_element *section = description->root->first;
    while (section != NULL && section->construct != construct) {
        section = section->next;
    }
    return section;
}

static void add_elements(bb_program_builder *builder)
{
    bb_program *program = builder->program;
    const bb_element *root = builder->description->root;
    const bb_element *objects = section_of(builder->description, BB_CONSTRUCT_DATA_OBJECTS);
    const bb_element *parameters = section_of(builder->description, BB_CONSTRUCT_PARAMETERS);
    const bb_element *children = section_of(builder->description, BB_CONSTRUCT_CHILDREN);
    program->name = root->values[BB_DESCRIPTION_NAME];
    program->place = root->place;
    add_name(builder, root, BB_NAMED_HULL, 0);
    for (const bb_element *e = objects != NULL ? objects->first : NULL; e != NULL; e = e->next) {
        add_object(builder, e);
    }
    for (const bb_element *e = parameters != NULL ? parameters->first : NULL; e != NULL;
         e = e->next) {
        add_parameter(builder, e);
    }
    add_space(builder, root, -1, &program->space);
    program->has_reduction = root->values[BB_DESCRIPTION_ICF] != NULL;
    if (program->has_reduction) {
        add_reduction(builder, root, -1, &program->reduction);
    }
    if (children != NULL) {
        add_children(builder, children, -1);
    }
}

static void check_bindings(bb_program_builder *builder)
{
    const bb_place place = builder->description->root->place;
    for (bb_index i = 0; i < builder->type_count; ++i) {
        bb_index distance = PTRDIFF_MAX;
        const char *nearest = NULL;
        if (builder->type_used[i]) {
            continue;
        }
        for (bb_index k = 0; k < builder->type_count; ++k) {
            if (builder->type_used[k]) {
                bb_suggestion_consider(builder->types[i].name, builder->types[k].name, &distance,
                                       &nearest);
            }
        }
        bb_program_builder_refuse(builder, (bb_place){.origin = place.origin},
                                  "%s=%s: the description has no type %s%s%s%s",
                                  builder->types[i].name, builder->types[i].type,
                                  builder->types[i].name, nearest != NULL ? "; did you mean " : "",
                                  nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
    }
}

bb_status bb_program_create(const bb_description *description, const bb_type_binding *types,
                            bb_index type_count, bb_problems *problems, bb_program *out)
{
    bb_status status = BB_OK;
    bb_program program = {.name = NULL};
    bb_program_builder builder = {.description = description,
                                  .types = types,
                                  .type_count = type_count,
                                  .problems = problems,
                                  .problems_before = problems->count,
                                  .program = &program};
    const bb_index before = problems->count;
    BB_TRY(allocate(&builder));
    add_elements(&builder);
    bb_program_builder_connect(&builder);
    BB_TRY(builder.status);
    if (problems->count == before) {
        BB_TRY(bb_program_builder_order(&builder));
    }
    if (problems->count == before) {
        BB_TRY(bb_program_builder_scope(&builder));
    }
    if (problems->count == before) {
        bb_program_builder_type(&builder);
        check_bindings(&builder);
        BB_TRY(builder.status);
    }
    if (problems->count == before) {
        *out = program;
        program = (bb_program){.name = NULL};
    }
done:
    bb_program_release(&program);
    return status;
}

void bb_program_release(bb_program *program)
{
    bb_arena_release(&program->arena);
    *program = (bb_program){.name = NULL};
}

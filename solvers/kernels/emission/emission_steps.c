// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_locals.h"
#include "solvers/kernels/emission/emission_vectors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool bb_emission_try(bb_emission_writer *writer, bb_status status)
{
    writer->status = writer->status != BB_OK ? writer->status : status;
    return writer->status == BB_OK;
}

void bb_emission_add(bb_emission_writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (writer->status == BB_OK) {
        writer->status = bb_text_add_list(writer->out, format, arguments);
    }
    va_end(arguments);
}

void bb_emission_line(bb_emission_writer *writer, const char *format, ...)
{
    va_list arguments;
    writer->depth -= format[0] == '}';
    bb_emission_add(writer, "%*s", 4 * writer->depth, "");
    va_start(arguments, format);
    if (writer->status == BB_OK) {
        writer->status = bb_text_add_list(writer->out, format, arguments);
    }
    va_end(arguments);
    if (writer->status == BB_OK) {
        writer->depth += writer->out->data[writer->out->length - 1] == '{';
    }
    bb_emission_add(writer, "\n");
}

const char *bb_emission_type(const bb_emission_writer *writer, bb_element_type type)
{
    return writer->dialect->type_names[type];
}

const char *bb_emission_name(bb_emission_writer *writer, int value,
                             char name[BB_EMISSION_NAME_BYTES])
{
    const bb_value *emitter = &writer->program->values[value];
    if (emitter->scope == BB_SCOPE_HOST) {
        writer->is_used[value] = true;
        (void)snprintf(name, BB_EMISSION_NAME_BYTES, "h%d", value);
        return name;
    }
    switch (emitter->kind) {
    case BB_VALUE_POSITION:
        if (emitter->owner < 0) {
            (void)snprintf(name, BB_EMISSION_NAME_BYTES, "x%d", emitter->index);
        } else {
            (void)snprintf(name, BB_EMISSION_NAME_BYTES, "k%d_%d", emitter->owner, emitter->index);
        }
        break;
    case BB_VALUE_READ:
        (void)snprintf(name, BB_EMISSION_NAME_BYTES, "r%d", emitter->owner);
        break;
    case BB_VALUE_FUNCTION:
        (void)snprintf(name, BB_EMISSION_NAME_BYTES, "f%d_%d", emitter->owner,
                       writer->program->steps[emitter->owner].expression.outputs[emitter->index]);
        break;
    default:
        (void)snprintf(name, BB_EMISSION_NAME_BYTES, "s%d", value);
    }
    return name;
}

/// Names of the operands of an expression.
typedef struct input_names {
    char names[BB_PROGRAM_PORTS][BB_EMISSION_NAME_BYTES];
    const char *pointers[BB_PROGRAM_PORTS];
} input_names;

static const char *const *name_inputs(bb_emission_writer *writer, const int *values, int count,
                                      int position, input_names *names)
{
    for (int k = 0; k < count; ++k) {
        names->pointers[k] = values[k] == position && position >= 0
                                 ? "0"
                                 : bb_emission_name(writer, values[k], names->names[k]);
    }
    return names->pointers;
}

static void print_expression(bb_emission_writer *writer, const bb_step *step, int position,
                             const char *prefix)
{
    input_names inputs;
    input_names parameters;
    bb_text lines = {0};
    (void)bb_emission_try(
        writer,
        bb_expression_print(
            &step->expression, writer->dialect, prefix,
            name_inputs(writer, step->inputs, step->expression.inputs, position, &inputs), NULL,
            name_inputs(writer, step->parameters, step->expression.name_count, -1, &parameters),
            &lines));
    for (const char *line = bb_text_string(&lines); *line != '\0';) {
        const int length = (int)strcspn(line, "\n");
        bb_emission_add(writer, "%*s%.*s\n", 4 * writer->depth, "", length, line);
        line += length + (line[length] == '\n');
    }
    bb_text_release(&lines);
}

void bb_emission_coordinates(bb_emission_writer *writer, int number, int position)
{
    const bb_step *step = &writer->program->steps[number];
    const char letter = position >= 0 ? 'b' : 'a';
    char prefix[BB_EMISSION_NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "%c%dn", letter, number);
    print_expression(writer, step, position, prefix);
    for (int k = 0; k < step->expression.output_count; ++k) {
        bb_emission_line(writer, "%s %c%d_%d = %s%d;", bb_emission_type(writer, BB_ELEMENT_INDEX),
                         letter, number, k, prefix, step->expression.outputs[k]);
    }
}

bool bb_emission_has_boundary(const bb_emission_writer *writer, int number)
{
    return writer->program->steps[number].boundary != BB_BOUNDARY_NONE &&
           !writer->is_inside[number] && (writer->is_fast == NULL || !writer->is_fast[number]);
}

bool bb_emission_leaves_out_points(const bb_emission_writer *writer, const bb_step_list *list)
{
    bool any = false;
    for (int i = 0; i < list->count; ++i) {
        const bb_step *step = &writer->program->steps[list->steps[i]];
        any = any || (step->kind == BB_STEP_READ && step->boundary == BB_BOUNDARY_SKIP &&
                      bb_emission_has_boundary(writer, list->steps[i]));
    }
    return any;
}

// Maps coordinates by the boundary, or sets i<step> to whether they are inside.
static void print_boundary(bb_emission_writer *writer, int number)
{
    const bb_step *step = &writer->program->steps[number];
    const bb_program_object *object = &writer->program->objects[step->object];
    char extents[BB_PROGRAM_DIMENSIONS][BB_EMISSION_NAME_BYTES];
    for (int k = 0; k < step->expression.output_count; ++k) {
        (void)bb_emission_name(writer, object->sizes[k], extents[k]);
    }
    switch (step->boundary) {
    case BB_BOUNDARY_CLAMP:
    case BB_BOUNDARY_MIRROR:
    case BB_BOUNDARY_PERIODIC:
        for (int k = 0; k < step->expression.output_count; ++k) {
            bb_emission_line(writer, "a%d_%d = bb_%s(a%d_%d, %s);", number, k,
                             bb_program_boundary_name(step->boundary), number, k, extents[k]);
        }
        bb_emission_add(writer, "%*sconst int i%d = %s > 0", 4 * writer->depth, "", number,
                        extents[0]);
        if (step->expression.output_count == 2) {
            bb_emission_add(writer, " && %s > 0", extents[1]);
        }
        break;
    default:
        bb_emission_add(writer, "%*sconst int i%d = a%d_0 >= 0 && a%d_0 < %s", 4 * writer->depth,
                        "", number, number, number, extents[0]);
        if (step->expression.output_count == 2) {
            bb_emission_add(writer, " && a%d_1 >= 0 && a%d_1 < %s", number, number, extents[1]);
        }
    }
    bb_emission_add(writer, ";\n");
}

void bb_emission_element(bb_emission_writer *writer, int number, char text[BB_EMISSION_TEXT_BYTES])
{
    const bb_step *step = &writer->program->steps[number];
    const bb_program_object *object = &writer->program->objects[step->object];
    char columns[BB_EMISSION_NAME_BYTES];
    if (object->structure == BB_STRUCTURE_MATRIX) {
        (void)snprintf(text, BB_EMISSION_TEXT_BYTES, "o%d[a%d_0 + %s * a%d_1]", step->object,
                       number, bb_emission_name(writer, object->sizes[0], columns), number);
    } else {
        (void)snprintf(text, BB_EMISSION_TEXT_BYTES, "o%d[a%d_0]", step->object, number);
    }
}

static const bb_emission_window *window_of(const bb_emission_writer *writer, int number)
{
    return writer->vectors != NULL && writer->vectors->windows[number].leader >= 0
               ? &writer->vectors->windows[number]
               : NULL;
}

// "i0 + 1": index of an element in a box, along a coordinate.
static void local_place(const bb_emission_writer *writer, const bb_emission_local *local,
                        int coordinate, char text[BB_EMISSION_NAME_BYTES])
{
    const int axis = local->axes[coordinate];
    const bb_program *program = writer->program;
    const char *position = axis < 0                              ? "0"
                           : axis == writer->locals->position    ? "q"
                           : axis == program->space.positions[0] ? "i0"
                                                                 : "i1";
    (void)snprintf(text, BB_EMISSION_NAME_BYTES, "%s + %lld", position,
                   (long long)local->offsets[coordinate]);
}

// Declares the coordinates, mapped by the boundary; returns the text of the element.
static const char *print_place(bb_emission_writer *writer, int number,
                               char text[BB_EMISSION_TEXT_BYTES])
{
    bb_emission_coordinates(writer, number, -1);
    if (bb_emission_has_boundary(writer, number)) {
        print_boundary(writer, number);
    }
    bb_emission_element(writer, number, text);
    return text;
}

// "l3[i1 + 1][i0 + 0]", "w3[p + 1]" or an element of the object
static const char *print_source(bb_emission_writer *writer, int number,
                                char text[BB_EMISSION_TEXT_BYTES])
{
    const bb_emission_window *window = window_of(writer, number);
    char places[BB_PROGRAM_DIMENSIONS][BB_EMISSION_NAME_BYTES];
    if (writer->locals != NULL && writer->locals->reads[number].leader >= 0) {
        const bb_emission_local *local = &writer->locals->reads[number];
        local_place(writer, local, 0, places[0]);
        local_place(writer, local, 1, places[1]);
        (void)snprintf(text, BB_EMISSION_TEXT_BYTES, "l%d[%s][%s]", local->leader, places[1],
                       places[0]);
    } else if (window != NULL) {
        (void)snprintf(text, BB_EMISSION_TEXT_BYTES, "w%d%s[%s + %td]", window->leader,
                       writer->vectors->row, writer->vectors->point, window->offset);
    } else {
        (void)print_place(writer, number, text);
    }
    return text;
}

static void print_read(bb_emission_writer *writer, int number)
{
    const bb_step *step = &writer->program->steps[number];
    const bb_element_type type = writer->program->objects[step->object].type;
    const char *type_name = bb_emission_type(writer, type);
    const bool checked = bb_emission_has_boundary(writer, number);
    const char *test = type == BB_ELEMENT_B ? " != 0" : "";
    char text[BB_EMISSION_TEXT_BYTES];
    const char *element = print_source(writer, number, text);
    if (checked && step->boundary != BB_BOUNDARY_SKIP) {
        bb_emission_add(writer, "%*s%s r%d = ", 4 * writer->depth, "", type_name, number);
        (void)bb_emission_try(writer, bb_expression_print_constant(writer->dialect,
                                                                   (bb_scalar){.integer = 0}, type,
                                                                   writer->out));
        bb_emission_add(writer, ";\n");
        bb_emission_line(writer, "if (i%d) r%d = %s%s;", number, number, element, test);
        return;
    }
    if (checked) {
        bb_emission_line(writer, "if (!i%d) continue;", number);
    }
    bb_emission_line(writer, "const %s r%d = %s%s;", type_name, number, element, test);
}

static void print_write(bb_emission_writer *writer, int number)
{
    const bb_step *step = &writer->program->steps[number];
    const bb_element_type type = writer->program->objects[step->object].type;
    char name[BB_EMISSION_NAME_BYTES];
    char element[BB_EMISSION_TEXT_BYTES];
    if (window_of(writer, number) != NULL) {
        (void)snprintf(element, sizeof element, "w%d%s[%s]", number, writer->vectors->row,
                       writer->vectors->point);
    } else {
        (void)print_place(writer, number, element);
    }
    bb_emission_add(writer, "%*s", 4 * writer->depth, "");
    if (bb_emission_has_boundary(writer, number)) {
        bb_emission_add(writer, "if (i%d) ", number);
    }
    bb_emission_add(writer, "%s = ", element);
    (void)bb_emission_try(writer,
                          bb_expression_print_conversion(
                              writer->dialect, bb_emission_name(writer, step->stored, name),
                              writer->program->values[step->stored].type, type, writer->out));
    bb_emission_add(writer, ";\n");
}

void bb_emission_step(bb_emission_writer *writer, int number)
{
    const bb_step *step = &writer->program->steps[number];
    char prefix[BB_EMISSION_NAME_BYTES];
    if (step->kind == BB_STEP_READ) {
        print_read(writer, number);
    } else if (step->kind == BB_STEP_WRITE) {
        print_write(writer, number);
    } else {
        (void)snprintf(prefix, sizeof prefix, "f%d_", number);
        print_expression(writer, step, -1, prefix);
    }
}

// Prints the ICF on accumulators, which are all updated at once, as a block.
static void print_icf(bb_emission_writer *writer, const bb_expression *expression,
                      const char *const *inputs, const char *target)
{
    char names[BB_PROGRAM_ACCUMULATORS][BB_EMISSION_NAME_BYTES];
    const char *accumulators[BB_PROGRAM_ACCUMULATORS];
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        (void)snprintf(names[k], sizeof names[k], "%s[%d]", target, k);
        accumulators[k] = names[k];
    }
    bb_emission_add(writer, "%*s{\n", 4 * writer->depth, "");
    (void)bb_emission_try(writer, bb_expression_print(expression, writer->dialect, "q", inputs,
                                                      accumulators, NULL, writer->out));
    for (int k = 0; k < expression->output_count; ++k) {
        bb_emission_line(writer, "%s = q%d;", names[k], expression->outputs[k]);
    }
    bb_emission_add(writer, "%*s}\n", 4 * writer->depth, "");
}

void bb_emission_accumulate(bb_emission_writer *writer, const bb_reduction *reduction,
                            const char *target)
{
    input_names inputs;
    char name[BB_EMISSION_NAME_BYTES];
    int factors[2];
    if (reduction->product >= 0 &&
        bb_expression_product(&writer->program->steps[reduction->product].expression, factors)) {
        (void)snprintf(name, sizeof name, "%s[0]", target);
        bb_emission_line(writer, "%s = bb_fma_%s(f%d_%d, f%d_%d, %s);", name,
                         reduction->type == BB_ELEMENT_SP ? "f" : "d", reduction->product,
                         factors[0], reduction->product, factors[1], name);
        return;
    }
    print_icf(writer, &reduction->expression,
              name_inputs(writer, reduction->inputs, reduction->expression.inputs, -1, &inputs),
              target);
}

void bb_emission_join_function(bb_emission_writer *writer, const bb_reduction *reduction,
                               const char *name)
{
    static const char *const others[BB_PROGRAM_ACCUMULATORS] = {"b[0]", "b[1]", "b[2]", "b[3]",
                                                                "b[4]", "b[5]", "b[6]", "b[7]"};
    const bool logic = reduction->icf == BB_ICF_AND || reduction->icf == BB_ICF_OR;
    const bb_expression_node nodes[] = {
        {.operation = BB_OPERATION_ACCUMULATOR, .type = reduction->type},
        {.operation = BB_OPERATION_INPUT, .type = reduction->type},
        {.operation = bb_expression_icf_operation(reduction->icf),
         .type = logic ? BB_ELEMENT_B : reduction->type,
         .operands = {0, 1}},
        {.operation = BB_OPERATION_CONVERT, .type = reduction->type, .operands = {2}}};
    const int output = logic && reduction->type != BB_ELEMENT_B ? 3 : 2;
    const bb_expression pair = {.nodes = nodes,
                                .count = output + 1,
                                .outputs = &output,
                                .output_count = 1,
                                .inputs = 1,
                                .accumulators = 1};
    const char *type = bb_emission_type(writer, reduction->type);
    bb_emission_line(writer, "%s void %s(%s *a, const %s *b)", writer->dialect->function, name,
                     type, type);
    print_icf(writer, reduction->icf == BB_ICF_OTHER ? &reduction->join : &pair, others, "a");
}

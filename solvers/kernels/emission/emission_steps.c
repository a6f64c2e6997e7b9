// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_locals.h"
#include "solvers/kernels/emission/emission_vectors.h"

#include <stdarg.h>
#include <stdio.h>

bb_status bb_emission_line(bb_emission_writer *writer, const char *format, ...)
{
    bb_status status = BB_OK;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    BB_TRY(bb_text_add(writer->out, "%*s%s\n", 4 * writer->depth, "", line));
done:
    return status;
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

/// Names of what an expression takes.
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

static bb_status print_expression(bb_emission_writer *writer, const bb_step *step, int position,
                                  const char *prefix)
{
    bb_status status = BB_OK;
    input_names inputs;
    input_names parameters;
    bb_text lines = {0};
    BB_TRY(bb_expression_print(
        &step->expression, writer->dialect, prefix,
        name_inputs(writer, step->inputs, step->expression.inputs, position, &inputs), NULL,
        name_inputs(writer, step->parameters, step->expression.name_count, -1, &parameters),
        &lines));
    for (const char *line = bb_text_string(&lines); *line != '\0';) {
        int length = 0;
        while (line[length] != '\n' && line[length] != '\0') {
            ++length;
        }
        BB_TRY(bb_text_add(writer->out, "%*s%.*s\n", 4 * writer->depth, "", length, line));
        line += length + (line[length] == '\n');
    }
done:
    bb_text_release(&lines);
    return status;
}

bb_status bb_emission_coordinates(bb_emission_writer *writer, int number, int position)
{
    bb_status status = BB_OK;
    const bb_step *step = &writer->program->steps[number];
    const char letter = position >= 0 ? 'b' : 'a';
    char prefix[BB_EMISSION_NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "%c%dn", letter, number);
    BB_TRY(print_expression(writer, step, position, prefix));
    for (int k = 0; k < step->expression.output_count; ++k) {
        BB_TRY(bb_emission_line(writer, "%s %c%d_%d = %s%d;",
                                bb_emission_type(writer, BB_ELEMENT_INDEX), letter, number, k,
                                prefix, step->expression.outputs[k]));
    }
done:
    return status;
}

bool bb_emission_has_boundary(const bb_emission_writer *writer, int number)
{
    return writer->program->steps[number].boundary != BB_BOUNDARY_NONE &&
           !writer->is_inside[number] && (writer->is_fast == NULL || !writer->is_fast[number]);
}

// Takes coordinates to their places, or says in i<step> whether they have one.
static bb_status print_boundary(bb_emission_writer *writer, int number)
{
    bb_status status = BB_OK;
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
            BB_TRY(bb_emission_line(writer, "a%d_%d = bb_%s(a%d_%d, %s);", number, k,
                                    bb_program_boundary_name(step->boundary), number, k,
                                    extents[k]));
        }
        BB_TRY(bb_text_add(writer->out, "%*sconst int i%d = %s > 0", 4 * writer->depth, "", number,
                           extents[0]));
        BB_TRY(step->expression.output_count == 2
                   ? bb_text_add(writer->out, " && %s > 0;\n", extents[1])
                   : bb_text_add(writer->out, ";\n"));
        break;
    default:
        BB_TRY(bb_text_add(writer->out, "%*sconst int i%d = a%d_0 >= 0 && a%d_0 < %s",
                           4 * writer->depth, "", number, number, number, extents[0]));
        BB_TRY(step->expression.output_count == 2
                   ? bb_text_add(writer->out, " && a%d_1 >= 0 && a%d_1 < %s;\n", number, number,
                                 extents[1])
                   : bb_text_add(writer->out, ";\n"));
    }
done:
    return status;
}

// "o2[a5_0 + h1 * a5_1]"
static void element_text(bb_emission_writer *writer, int number, bool checked, char *text,
                         size_t bytes)
{
    const bb_step *step = &writer->program->steps[number];
    const bb_program_object *object = &writer->program->objects[step->object];
    char columns[BB_EMISSION_NAME_BYTES];
    char place[4 * BB_EMISSION_NAME_BYTES];
    if (object->structure == BB_STRUCTURE_MATRIX) {
        (void)snprintf(place, sizeof place, "a%d_0 + %s * a%d_1", number,
                       bb_emission_name(writer, object->sizes[0], columns), number);
    } else {
        (void)snprintf(place, sizeof place, "a%d_0", number);
    }
    (void)(checked ? snprintf(text, bytes, "o%d[i%d ? %s : 0]", step->object, number, place)
                   : snprintf(text, bytes, "o%d[%s]", step->object, place));
}

static const bb_emission_window *window_of(const bb_emission_writer *writer, int number)
{
    return writer->vectors != NULL && writer->vectors->windows[number].leader >= 0
               ? &writer->vectors->windows[number]
               : NULL;
}

// "i0 + 1": an element's place in a box, along a coordinate.
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

static bb_status print_read(bb_emission_writer *writer, int number)
{
    bb_status status = BB_OK;
    const bb_emission_window *window = window_of(writer, number);
    const bb_step *step = &writer->program->steps[number];
    const bb_element_type type = writer->program->objects[step->object].type;
    const char *type_name = bb_emission_type(writer, type);
    const bool checked = bb_emission_has_boundary(writer, number);
    const char *test = type == BB_ELEMENT_B ? " != 0" : "";
    char element[8 * BB_EMISSION_NAME_BYTES];
    bb_text zero = {0};
    if (writer->locals != NULL && writer->locals->reads[number].leader >= 0) {
        const bb_emission_local *local = &writer->locals->reads[number];
        char places[BB_PROGRAM_DIMENSIONS][BB_EMISSION_NAME_BYTES];
        local_place(writer, local, 0, places[0]);
        local_place(writer, local, 1, places[1]);
        BB_TRY(bb_emission_line(writer, "const %s r%d = l%d[%s][%s]%s;", type_name, number,
                                local->leader, places[1], places[0], test));
        goto done;
    }
    if (window != NULL) {
        BB_TRY(bb_emission_line(writer, "const %s r%d = w%d%s[%s + %td];", type_name, number,
                                window->leader, writer->vectors->row, writer->vectors->point,
                                window->offset));
        goto done;
    }
    BB_TRY(bb_emission_coordinates(writer, number, -1));
    if (checked) {
        BB_TRY(print_boundary(writer, number));
    }
    if (checked && step->boundary == BB_BOUNDARY_SKIP) {
        BB_TRY(bb_emission_line(writer, "if (!i%d) continue;", number));
        element_text(writer, number, false, element, sizeof element);
        BB_TRY(bb_emission_line(writer, "const %s r%d = %s%s;", type_name, number, element, test));
    } else if (checked) {
        BB_TRY(
            bb_expression_print_constant(writer->dialect, (bb_scalar){.integer = 0}, type, &zero));
        element_text(writer, number, false, element, sizeof element);
        BB_TRY(bb_emission_line(writer, "%s r%d = %s;", type_name, number, bb_text_string(&zero)));
        BB_TRY(bb_emission_line(writer, "if (i%d) r%d = %s%s;", number, number, element, test));
    } else {
        element_text(writer, number, false, element, sizeof element);
        BB_TRY(bb_emission_line(writer, "const %s r%d = %s%s;", type_name, number, element, test));
    }
done:
    bb_text_release(&zero);
    return status;
}

static bb_status print_write(bb_emission_writer *writer, int number)
{
    bb_status status = BB_OK;
    const bb_step *step = &writer->program->steps[number];
    const bb_element_type type = writer->program->objects[step->object].type;
    const bool checked = bb_emission_has_boundary(writer, number);
    char name[BB_EMISSION_NAME_BYTES];
    char element[8 * BB_EMISSION_NAME_BYTES];
    if (window_of(writer, number) != NULL) {
        (void)snprintf(element, sizeof element, "w%d%s[%s]", number, writer->vectors->row,
                       writer->vectors->point);
    } else {
        BB_TRY(bb_emission_coordinates(writer, number, -1));
        if (checked) {
            BB_TRY(print_boundary(writer, number));
        }
        element_text(writer, number, false, element, sizeof element);
    }
    BB_TRY(bb_text_add(writer->out, "%*s", 4 * writer->depth, ""));
    if (checked) {
        BB_TRY(bb_text_add(writer->out, "if (i%d) ", number));
    }
    BB_TRY(bb_text_add(writer->out, "%s = ", element));
    BB_TRY(bb_expression_print_conversion(
        writer->dialect, bb_emission_name(writer, step->stored, name),
        writer->program->values[step->stored].type, type, writer->out));
    BB_TRY(bb_text_add(writer->out, ";\n"));
done:
    return status;
}

bb_status bb_emission_step(bb_emission_writer *writer, int number)
{
    const bb_step *step = &writer->program->steps[number];
    char prefix[BB_EMISSION_NAME_BYTES];
    switch (step->kind) {
    case BB_STEP_READ:
        return print_read(writer, number);
    case BB_STEP_WRITE:
        return print_write(writer, number);
    default:
        break;
    }
    (void)snprintf(prefix, sizeof prefix, "f%d_", number);
    return print_expression(writer, step, -1, prefix);
}

// Prints the ICF on accumulators, which take their new values together.
static bb_status print_icf(bb_emission_writer *writer, const bb_expression *expression,
                           const char *const *inputs, const char *target)
{
    bb_status status = BB_OK;
    char names[BB_PROGRAM_ACCUMULATORS][BB_EMISSION_NAME_BYTES];
    const char *accumulators[BB_PROGRAM_ACCUMULATORS];
    for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
        (void)snprintf(names[k], sizeof names[k], "%s[%d]", target, k);
        accumulators[k] = names[k];
    }
    BB_TRY(bb_expression_print(expression, writer->dialect, "q", inputs, accumulators, NULL,
                               writer->out));
    for (int k = 0; k < expression->output_count; ++k) {
        BB_TRY(bb_emission_line(writer, "%s = q%d;", names[k], expression->outputs[k]));
    }
done:
    return status;
}

bb_status bb_emission_take(bb_emission_writer *writer, const bb_reduction *reduction,
                           const char *target)
{
    bb_status status = BB_OK;
    input_names inputs;
    char name[BB_EMISSION_NAME_BYTES];
    int factors[2];
    if (reduction->product >= 0 &&
        bb_expression_product(&writer->program->steps[reduction->product].expression, factors)) {
        (void)snprintf(name, sizeof name, "%s[0]", target);
        BB_TRY(bb_emission_line(writer, "%s = bb_fma_%s(f%d_%d, f%d_%d, %s);", name,
                                reduction->type == BB_ELEMENT_SP ? "f" : "d", reduction->product,
                                factors[0], reduction->product, factors[1], name));
        goto done;
    }
    BB_TRY(bb_emission_line(writer, "{"));
    BB_TRY(print_icf(
        writer, &reduction->expression,
        name_inputs(writer, reduction->inputs, reduction->expression.inputs, -1, &inputs), target));
    BB_TRY(bb_emission_line(writer, "}"));
done:
    return status;
}

bb_status bb_emission_join_function(bb_emission_writer *writer, const bb_reduction *reduction,
                                    const char *name)
{
    bb_status status = BB_OK;
    static const bb_operation operations[] = {
        [BB_ICF_SUM] = BB_OPERATION_ADD, [BB_ICF_PRODUCT] = BB_OPERATION_MULTIPLY,
        [BB_ICF_MAX] = BB_OPERATION_MAX, [BB_ICF_MIN] = BB_OPERATION_MIN,
        [BB_ICF_AND] = BB_OPERATION_AND, [BB_ICF_OR] = BB_OPERATION_OR,
    };
    static const char *const others[BB_PROGRAM_ACCUMULATORS] = {"b[0]", "b[1]", "b[2]", "b[3]",
                                                                "b[4]", "b[5]", "b[6]", "b[7]"};
    const bool logic = reduction->icf == BB_ICF_AND || reduction->icf == BB_ICF_OR;
    const bb_expression_node nodes[] = {
        {.operation = BB_OPERATION_ACCUMULATOR, .type = reduction->type},
        {.operation = BB_OPERATION_INPUT, .type = reduction->type},
        {.operation = operations[reduction->icf],
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
    BB_TRY(bb_emission_line(writer, "%s void %s(%s *a, const %s *b)", writer->dialect->function,
                            name, type, type));
    BB_TRY(bb_emission_line(writer, "{"));
    BB_TRY(
        print_icf(writer, reduction->icf == BB_ICF_OTHER ? &reduction->join : &pair, others, "a"));
    BB_TRY(bb_emission_line(writer, "}"));
done:
    return status;
}

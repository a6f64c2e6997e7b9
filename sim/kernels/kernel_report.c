// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_report.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_BYTES = 400 }; // of one expression: equal parts of a graph are printed again

static const char *const operator_words[BB_OPERATION_COUNT] = {
    [BB_OPERATION_ADD] = " + ",
    [BB_OPERATION_SUBTRACT] = " - ",
    [BB_OPERATION_MULTIPLY] = " * ",
    [BB_OPERATION_DIVIDE] = " / ",
    [BB_OPERATION_MODULO] = " % ",
    [BB_OPERATION_LESS] = " < ",
    [BB_OPERATION_LESS_EQUAL] = " <= ",
    [BB_OPERATION_GREATER] = " > ",
    [BB_OPERATION_GREATER_EQUAL] = " >= ",
    [BB_OPERATION_EQUAL] = " == ",
    [BB_OPERATION_NOT_EQUAL] = " != ",
    [BB_OPERATION_AND] = " && ",
    [BB_OPERATION_OR] = " || ",
};
static const char *const function_words[BB_OPERATION_COUNT] = {
    [BB_OPERATION_SQRT] = "sqrt", [BB_OPERATION_FABS] = "fabs",   [BB_OPERATION_MIN] = "min",
    [BB_OPERATION_MAX] = "max",   [BB_OPERATION_FLOOR] = "floor", [BB_OPERATION_RINT] = "rint",
    [BB_OPERATION_RE] = "re",     [BB_OPERATION_IM] = "im",       [BB_OPERATION_CONJ] = "conj",
    [BB_OPERATION_ABS] = "abs",   [BB_OPERATION_PAIR] = "pair",   [BB_OPERATION_NEGATE] = "-",
    [BB_OPERATION_NOT] = "!",
};
static const char *const icf_words[] = {
    [BB_ICF_OTHER] = "",  [BB_ICF_SUM] = "sum", [BB_ICF_PRODUCT] = "product", [BB_ICF_MAX] = "max",
    [BB_ICF_MIN] = "min", [BB_ICF_AND] = "and", [BB_ICF_OR] = "or",
};

static bb_status write_value(const bb_program *program, int number, bool outer, bb_text *out);

static bb_status write_node(const bb_program *program, const bb_step *step, int number, bool outer,
                            bb_text *out);

static bb_status write_operands(const bb_program *program, const bb_step *step,
                                const bb_expression_node *node, bool outer, bb_text *out)
{
    bb_status status = BB_OK;
    const char *word = function_words[node->operation];
    if (node->operation == BB_OPERATION_SELECT) {
        BB_TRY(write_node(program, step, node->operands[0], false, out));
        BB_TRY(bb_text_add(out, " ? "));
        BB_TRY(write_node(program, step, node->operands[1], false, out));
        BB_TRY(bb_text_add(out, " : "));
        BB_TRY(write_node(program, step, node->operands[2], false, out));
    } else if (operator_words[node->operation] != NULL) {
        BB_TRY(bb_text_add(out, outer ? "" : "("));
        BB_TRY(write_node(program, step, node->operands[0], false, out));
        BB_TRY(bb_text_add(out, "%s", operator_words[node->operation]));
        BB_TRY(write_node(program, step, node->operands[1], false, out));
        BB_TRY(bb_text_add(out, outer ? "" : ")"));
    } else {
        const bool pair = node->operation == BB_OPERATION_MIN ||
                          node->operation == BB_OPERATION_MAX ||
                          node->operation == BB_OPERATION_PAIR;
        BB_TRY(bb_text_add(out, "%s(", word));
        BB_TRY(write_node(program, step, node->operands[0], true, out));
        if (pair) {
            BB_TRY(bb_text_add(out, ", "));
            BB_TRY(write_node(program, step, node->operands[1], true, out));
        }
        BB_TRY(bb_text_add(out, ")"));
    }
done:
    return status;
}

// A node of a selector or function, with what it is connected to in the place of its inputs.
static bb_status write_node(const bb_program *program, const bb_step *step, int number, bool outer,
                            bb_text *out)
{
    const bb_expression_node *node = &step->expression.nodes[number];
    if (out->length > MOST_BYTES) {
        return BB_OK; // the line is cut by who asked for it
    }
    switch (node->operation) {
    case BB_OPERATION_LITERAL:
        return bb_element_type_row(node->type)->is_float
                   ? bb_text_add(out, "%g", node->number)
                   : bb_text_add(out, "%" PRId64, node->integer);
    case BB_OPERATION_INPUT:
        return write_value(program, step->inputs[node->index], outer, out);
    case BB_OPERATION_PARAMETER:
        return bb_text_add(out, "%s", node->name);
    case BB_OPERATION_CONVERT:
        return write_node(program, step, node->operands[0], outer, out);
    default:
        return write_operands(program, step, node, outer, out);
    }
}

static const char *size_word(const bb_program *program, const bb_value *value)
{
    return program->objects[value->owner].structure == BB_STRUCTURE_VECTOR ? "size"
           : value->index == 0                                             ? "columns"
                                                                           : "rows";
}

// A value by what makes it: sizes, parameters and positions, and functions of them; other steps by
// name.
static bb_status write_value(const bb_program *program, int number, bool outer, bb_text *out)
{
    const bb_value *value = &program->values[number];
    switch (value->kind) {
    case BB_VALUE_SIZE:
        return bb_text_add(out, "%s.%s", program->objects[value->owner].name,
                           size_word(program, value));
    case BB_VALUE_PARAMETER:
        return bb_text_add(out, "%s", program->parameters[value->owner].name);
    case BB_VALUE_POSITION:
        return bb_text_add(out, "%s.i(%d)",
                           value->owner < 0 ? program->name : program->iterators[value->owner].name,
                           value->index);
    case BB_VALUE_FUNCTION:
        return write_node(program, &program->steps[value->owner],
                          program->steps[value->owner].expression.outputs[value->index], outer,
                          out);
    case BB_VALUE_READ:
        return bb_text_add(out, "%s", program->steps[value->owner].name);
    default:
        return bb_text_add(
            out, "%s", value->owner < 0 ? program->name : program->iterators[value->owner].name);
    }
}

// Appends what `write` wrote, cut where it is long.
static bb_status add_cut(const bb_text *line, bb_text *out)
{
    return line->length > MOST_BYTES ? bb_text_add(out, "%.*s...", MOST_BYTES, line->data)
                                     : bb_text_add(out, "%s", bb_text_string(line));
}

static bb_status write_space(const bb_program *program, const bb_iteration_space *space,
                             bb_text *out)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    for (int k = 0; k < space->dimensions; ++k) {
        BB_TRY(bb_text_add(&line, "%s", k == 0 ? "" : " x "));
        BB_TRY(write_value(program, space->ranges[k], space->dimensions == 1, &line));
    }
    BB_TRY(add_cut(&line, out));
done:
    bb_text_release(&line);
    return status;
}

static bb_status write_order(const bb_reduction *reduction, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_reduction_order *order = &reduction->order;
    BB_TRY(bb_text_add(out, "%s%s in %s",
                       reduction->icf == BB_ICF_OTHER ? "its own ICF" : icf_words[reduction->icf],
                       reduction->product >= 0 ? " of products by fma" : "",
                       bb_element_type_row(reduction->type)->name));
    if (order->lanes == 1 && order->chunk == 0) {
        BB_TRY(bb_text_add(out, ", one after the other"));
    } else {
        BB_TRY(
            bb_text_add(out, ", item j in lane j mod %td, then the lanes by halves", order->lanes));
    }
    if (order->chunk > 0) {
        BB_TRY(bb_text_add(out, ", in chunks of %td", order->chunk));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_objects(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "objects:\n"));
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        BB_TRY(bb_text_add(out, "  %-10s %s of %-5s  %s\n", object->name,
                           object->structure == BB_STRUCTURE_MATRIX ? "matrix" : "vector",
                           bb_element_type_row(object->type)->name,
                           object->is_read && object->is_written ? "read and written"
                           : object->is_read                     ? "read"
                           : object->is_written                  ? "written"
                                                                 : "gives its size alone"));
    }
    if (program->parameter_count > 0) {
        BB_TRY(bb_text_add(out, "parameters:\n"));
    }
    for (int i = 0; i < program->parameter_count; ++i) {
        BB_TRY(bb_text_add(out, "  %-10s %s\n", program->parameters[i].name,
                           bb_element_type_row(program->parameters[i].type)->name));
    }
done:
    return status;
}

static bb_status write_spaces(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "space:\n  %-10s over ", program->name));
    BB_TRY(write_space(program, &program->space, out));
    if (program->has_reduction) {
        BB_TRY(bb_text_add(out, ": "));
        BB_TRY(write_order(&program->reduction, out));
    } else {
        BB_TRY(bb_text_add(out, "\n"));
    }
    if (program->iterator_count > 0) {
        BB_TRY(bb_text_add(out, "iterators:\n"));
    }
    for (int i = 0; i < program->iterator_count; ++i) {
        BB_TRY(bb_text_add(out, "  %-10s over ", program->iterators[i].name));
        BB_TRY(write_space(program, &program->iterators[i].space, out));
        BB_TRY(bb_text_add(out, ": "));
        BB_TRY(write_order(&program->iterators[i].reduction, out));
    }
done:
    return status;
}

static bb_status write_accesses(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    BB_TRY(bb_text_add(out, "accesses:\n"));
    for (int i = 0; i < program->step_count; ++i) {
        const bb_step *step = &program->steps[i];
        if (step->kind != BB_STEP_READ && step->kind != BB_STEP_WRITE) {
            continue;
        }
        bb_text_release(&line);
        for (int k = 0; k < step->expression.output_count; ++k) {
            BB_TRY(bb_text_add(&line, "%s", k == 0 ? "" : ", "));
            BB_TRY(write_node(program, step, step->expression.outputs[k], true, &line));
        }
        BB_TRY(bb_text_add(out, "  %-10s %s %s[", step->name,
                           step->kind == BB_STEP_READ ? "reads " : "writes",
                           program->objects[step->object].name));
        BB_TRY(add_cut(&line, out));
        BB_TRY(bb_text_add(out, step->boundary == BB_BOUNDARY_NONE ? "]\n" : "], beyond: %s\n",
                           bb_program_boundary_name(step->boundary)));
    }
done:
    bb_text_release(&line);
    return status;
}

static bb_status write_needs(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "to be run: datasets"));
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        BB_TRY(bb_text_add(out, "%s %s%s", i == 0 ? "" : ",", object->name,
                           object->is_read ? "" : " (for its shape)"));
    }
    for (int i = 0; i < program->parameter_count; ++i) {
        BB_TRY(bb_text_add(out, "%s -p %s=VALUE", i == 0 ? ";" : "", program->parameters[i].name));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

bb_status bb_kernel_report_write(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "kernel %s\n", program->name));
    BB_TRY(write_objects(program, out));
    BB_TRY(write_spaces(program, out));
    BB_TRY(write_accesses(program, out));
    BB_TRY(write_needs(program, out));
done:
    return status;
}

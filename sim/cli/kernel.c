// SPDX-License-Identifier: Apache-2.0
//
// bitbudget kernel: checks, runs and prints user-defined and shipped kernels.
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "core/text.h"
#include "core/thread.h"
#include "sim/cli/command.h"
#include "sim/kernels/kernel_run.h"
#include "sim/kernels/kernel_source.h"
#include "sim/kernels/object_file.h"
#include "sim/run/device_choice.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/program/program.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 400 }; // of one expression: repeated parts of a graph are printed in full

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

// Writes a node of a selector or function with its inputs replaced by their expressions.
static bb_status write_node(const bb_program *program, const bb_step *step, int number, bool outer,
                            bb_text *out)
{
    const bb_expression_node *node = &step->expression.nodes[number];
    if (out->length > MOST_BYTES) {
        return BB_OK; // the caller truncates the line
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

// Writes a value by its expression if it consists of sizes, parameters, positions and functions of
// them; other steps by name.
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

// Appends `line`, truncated if it is long.
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
                       reduction->icf == BB_ICF_OTHER ? "a custom ICF" : icf_words[reduction->icf],
                       reduction->product >= 0 ? " of products by fma" : "",
                       bb_element_type_row(reduction->type)->name));
    if (order->lanes == 1 && order->chunk == 0) {
        BB_TRY(bb_text_add(out, ", sequentially"));
    } else {
        BB_TRY(
            bb_text_add(out, ", item j in lane j mod %td, then the lanes pairwise", order->lanes));
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
                                                                 : "size only"));
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
        BB_TRY(bb_text_add(out, step->boundary == BB_BOUNDARY_NONE ? "]\n" : "], outside: %s\n",
                           bb_program_boundary_name(step->boundary)));
    }
done:
    bb_text_release(&line);
    return status;
}

static bb_status write_needs(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "needed to run: datasets"));
    for (int i = 0; i < program->object_count; ++i) {
        const bb_program_object *object = &program->objects[i];
        BB_TRY(bb_text_add(out, "%s %s%s", i == 0 ? "" : ",", object->name,
                           object->is_read ? "" : " (shape only)"));
    }
    for (int i = 0; i < program->parameter_count; ++i) {
        BB_TRY(bb_text_add(out, "%s -p %s=VALUE", i == 0 ? ";" : "", program->parameters[i].name));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_report(const bb_program *program, bb_text *out)
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

enum { NAME_WIDTH = 22 };

typedef struct action {
    const char *name;
    bb_index fewest, most; // operands after the action
    bool runs;             // true for run: accepts the options that bind data
    bool accepts_device, accepts_variant, explains;
    bb_status (*act)(const bb_options *options, bb_kernel_source *source);
} action;

static bb_status read_description(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    BB_TRY(bb_kernel_source_read(options->operands[1], &problems, source));
    BB_TRY(bb_kernel_source_report(source, &problems));
done:
    bb_problems_release(&problems);
    return status;
}

static bb_status read_program(const bb_options *options, bb_kernel_source *source)
{
    return bb_kernel_source_load(options->operands[1], options->operands + 2,
                                 options->operand_count - 2, source);
}

static bb_status check(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(read_program(options, source));
    BB_TRY(write_report(&source->program, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}

static bb_choice_wish wish_of(const bb_options *options)
{
    return (bb_choice_wish){options->kernel.variant, options->kernel.wisdom,
                            options->kernel.deterministic, options->kernel.reorder};
}

static bb_status check_run(const bb_options *options, bb_device_kind *device)
{
    bb_status status = BB_OK;
    BB_REQUIRE(options->kernel.input != NULL && options->output != NULL, BB_INVALID,
               "kernel run needs --in IN.h5 and -o OUT.h5");
    const bb_choice_wish wish = wish_of(options);
    BB_TRY(bb_choice_wish_check(&wish));
    BB_TRY(bb_kernel_run_find_device(options->device, device));
done:
    return status;
}

static bb_status compute(const bb_options *options, bb_device_kind device,
                         const bb_kernel_source *source, const bb_scalar *parameters,
                         bb_object_file_data *data)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_binding binding = {.program = NULL};
    bb_kernel_run_record record = {.device = ""};
    BB_TRY(bb_binding_create(&source->program, data->objects, parameters, &problems, &binding));
    BB_TRY(bb_kernel_source_report(source, &problems));
    BB_TRY(bb_threads_set(options->threads));
    const bb_choice_wish wish = wish_of(options);
    BB_TRY(bb_kernel_run_compute(device, source, &wish, &binding, &record));
    const bb_object_file_record metadata = {record.device, record.compiler, record.choice.text,
                                            record.choice.origin};
    BB_TRY(bb_object_file_write(options->output, options->force, &source->program, data, metadata));
    if (strcmp(record.choice.origin, "default") != 0) {
        bb_log_info("variant %s (%s)", record.choice.text, record.choice.origin);
    }
    (void)printf("output: %s\n", options->output);
done:
    bb_binding_release(&binding);
    bb_problems_release(&problems);
    return status;
}

static bb_status run(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_object_file_data data = {.count = 0};
    bb_file_list inputs = {0};
    bb_scalar *parameters = NULL;
    bb_device_kind device = BB_DEVICE_CPU;
    BB_TRY(bb_device_choice_require(options->device));
    BB_TRY(check_run(options, &device));
    BB_TRY(read_program(options, source));
    BB_TRY(BB_ZEROED(source->program.parameter_count + 1, &parameters));
    BB_TRY(bb_kernel_source_parameters(&source->program, options->kernel.parameters.words,
                                       options->kernel.parameters.count, NULL, &problems,
                                       parameters));
    BB_TRY(bb_kernel_source_report(source, &problems));
    BB_TRY(bb_command_inputs(options, NULL, &inputs));
    BB_TRY(bb_file_list_add(&inputs, source->path));
    BB_TRY(bb_file_check(options->output, false, options->force, 0.0, &inputs));
    BB_TRY(bb_object_file_read(options->kernel.input, &source->program, &data));
    BB_TRY(compute(options, device, source, parameters, &data));
done:
    bb_file_list_release(&inputs);
    BB_RELEASE(&parameters);
    bb_object_file_release(&data);
    bb_problems_release(&problems);
    return status;
}

static bb_status print_source(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_emission emission = {.values = NULL};
    bb_kernel_choice found;
    bool *is_inside = NULL;
    bb_device_kind device = BB_DEVICE_CPU;
    BB_TRY(bb_kernel_run_find_device(options->device, &device));
    BB_TRY(read_program(options, source));
    BB_TRY(BB_ZEROED(source->program.step_count + 1, &is_inside));
    const bb_choice_wish wish = wish_of(options);
    BB_TRY(bb_kernel_choice_read(&wish, device, &source->program, &found));
    BB_TRY(
        bb_assembled_kernel_print(device, &source->program, is_inside, &found.choice, &emission));
    (void)puts(bb_text_string(&emission.source));
done:
    bb_emission_release(&emission);
    BB_RELEASE(&is_inside);
    return status;
}

static bb_status explain(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_object_file_data data = {.count = 0};
    bb_device *device = NULL;
    bb_device_kind kind = BB_DEVICE_CPU;
    bb_kernel_choice found;
    bb_binding sizes = {.program = NULL};
    bb_text reasons = {0};
    const bb_choice_wish wish = wish_of(options);
    BB_TRY(bb_device_choice_require(options->device));
    BB_TRY(bb_kernel_run_find_device(options->device, &kind));
    BB_TRY(read_program(options, source));
    BB_TRY(bb_object_file_find(options->kernel.input, options->kernel.set, source->path,
                               &source->program, &data));
    BB_TRY(bb_device_open(kind, 0, &device));
    BB_TRY(bb_binding_create_sizes(&source->program, data.objects, NULL, &sizes));
    BB_TRY(bb_kernel_choice_find(&wish, device, source, &sizes, &found, &reasons));
    (void)printf("variant: %s\nfrom: %s\nsizes:", found.text, found.origin);
    for (int i = 0; i < data.count; ++i) {
        (void)printf(" %s=%tdx%td", source->program.objects[i].name, data.objects[i].columns,
                     data.objects[i].rows);
    }
    (void)printf("\n");
    bb_text_print(bb_text_string(&reasons), stdout);
done:
    bb_binding_release(&sizes);
    bb_text_release(&reasons);
    bb_device_close(&device);
    bb_object_file_release(&data);
    return status;
}

static bb_status print_xml(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(read_description(options, source));
    BB_TRY(bb_description_write(&source->description, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}

// Lists the shipped kernels. A kernel that was deleted meanwhile or is unreadable has no title.
static bb_status list(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_shipped_names known = {0};
    bb_text title = {0};
    (void)options;
    (void)source;
    BB_TRY(bb_kernel_source_list(&known));
    BB_REQUIRE(known.count > 0, BB_IO,
               "shipped kernels not found in 'configs/kernels' here or next to the program; set "
               "BITBUDGET_SHARE to the folder with 'configs'");
    for (bb_index i = 0; i < known.count; ++i) {
        bb_text_release(&title);
        status = bb_kernel_source_title(known.names[i], &title);
        BB_REQUIRE(status == BB_OK || status == BB_IO, status, "host memory exhausted by a title");
        status = BB_OK;
        (void)printf("%-*s", title.length > 0 ? NAME_WIDTH : 0, known.names[i]);
        bb_text_print(bb_text_string(&title), stdout);
        (void)printf("\n");
    }
done:
    bb_text_release(&title);
    bb_shipped_names_release(&known);
    return status;
}

static const action actions[] = {
    {"check", 1, INTPTR_MAX, false, false, false, false, check},
    {"run", 1, INTPTR_MAX, true, true, true, true, run},
    {"source", 1, INTPTR_MAX, false, true, true, false, print_source},
    {"explain", 1, INTPTR_MAX, false, true, true, true, explain},
    {"xml", 1, 1, false, false, false, false, print_xml},
    {"list", 0, 0, false, false, false, false, list},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static bb_status find_action(const char *name, const action **out)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = name};
    for (int i = 0; i < ACTIONS; ++i) {
        if (strcmp(actions[i].name, name) == 0) {
            *out = &actions[i];
            goto done;
        }
        bb_suggestion_add(&near, actions[i].name);
    }
    BB_FAIL(BB_INVALID,
            "kernel %s: unknown action; use one of check, run, source, explain, xml, list%s", name,
            bb_suggestion_text(&near));
done:
    return status;
}

static bb_status check_options(const action *found, const bb_options *options)
{
    bb_status status = BB_OK;
    BB_REQUIRE(found->runs || (options->output == NULL && options->kernel.parameters.count == 0 &&
                               !options->force),
               BB_INVALID, "kernel %s: -o, -p and --force need kernel run", found->name);
    BB_REQUIRE(
        found->explains || (options->kernel.input == NULL && options->kernel.wisdom == NULL &&
                            !options->kernel.reorder && !options->kernel.deterministic),
        BB_INVALID,
        "kernel %s: --in, --wisdom, --reorder and --deterministic need kernel run or explain",
        found->name);
    BB_REQUIRE(found->accepts_variant || options->kernel.variant == NULL, BB_INVALID,
               "kernel %s: --variant needs kernel run, source or explain", found->name);
    BB_REQUIRE(options->kernel.set == NULL || (found->explains && !found->runs), BB_INVALID,
               "kernel %s: --set needs kernel explain", found->name);
done:
    return status;
}

bb_status bb_command_kernel(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_kernel_source source = {.path = NULL};
    const action *found = NULL;
    (void)experiments;
    BB_TRY(find_action(options->operands[0], &found));
    const bb_index rest = options->operand_count - 1;
    BB_REQUIRE(rest >= found->fewest && rest <= found->most, BB_INVALID,
               "kernel %s: wrong number of operands (%td); see 'bitbudget kernel --help'",
               found->name, rest);
    BB_TRY(check_options(found, options));
    BB_REQUIRE(found->accepts_device || options->device == NULL, BB_INVALID,
               "kernel %s: remove --device", found->name);
    BB_TRY(found->act(options, &source));
done:
    bb_kernel_source_release(&source);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// bitbudget kernel: kernels of the user's own, and shipped ones, checked, run and printed.
#include "core/log.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "core/thread.h"
#include "sim/command.h"
#include "sim/device_choice.h"
#include "sim/kernels/kernel_report.h"
#include "sim/kernels/kernel_run.h"
#include "sim/kernels/kernel_source.h"
#include "sim/kernels/object_file.h"
#include "sim/kernels/object_sizes.h"
#include "sim/kernels/parameter_values.h"
#include "sim/output/file.h"
#include "solvers/kernels/assembled_kernel.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 22 };

typedef struct action {
    const char *name;
    bb_index fewest, most; // operands after the word
    bool runs;             // takes what is bound
    bool takes_device, takes_variant, explains;
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
    bb_status status = BB_OK;
    bb_problems problems = {0};
    BB_TRY(read_description(options, source));
    BB_TRY(bb_kernel_source_bind(source, options->operands + 2, options->operand_count - 2,
                                 &problems));
    BB_TRY(bb_kernel_source_report(source, &problems));
done:
    bb_problems_release(&problems);
    return status;
}

static bb_status check(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(read_program(options, source));
    BB_TRY(bb_kernel_report_write(&source->program, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}

static bb_choice_wish wish_of(const bb_options *options)
{
    return (bb_choice_wish){options->variant, options->wisdom, options->deterministic,
                            options->reorder};
}

static bb_status check_run(const bb_options *options, bb_device_kind *device)
{
    bb_status status = BB_OK;
    BB_REQUIRE(options->input != NULL && options->output != NULL, BB_INVALID,
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
    const bb_object_file_record said = {record.device, record.compiler, record.choice.text,
                                        record.choice.origin};
    BB_TRY(bb_object_file_write(options->output, options->force, &source->program, data, said));
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
    BB_TRY(bb_parameter_values_read(&source->program, options->parameters.words,
                                    options->parameters.count, NULL, &problems, parameters));
    BB_TRY(bb_kernel_source_report(source, &problems));
    BB_TRY(bb_command_inputs(options, NULL, &inputs));
    BB_TRY(bb_file_list_add(&inputs, source->path));
    BB_TRY(bb_file_check(options->output, false, options->force, 0.0, &inputs));
    BB_TRY(bb_object_file_read(options->input, &source->program, &data));
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

// The sizes of a file's datasets, or of a set.
static bb_status find_sizes(const bb_options *options, const bb_kernel_source *source,
                            bb_object_file_data *out)
{
    bb_status status = BB_OK;
    if (options->input != NULL) {
        BB_TRY(bb_object_file_read(options->input, &source->program, out));
        goto done;
    }
    BB_TRY(BB_ZEROED(source->program.object_count + 1, &out->objects));
    out->count = source->program.object_count;
    BB_TRY(bb_object_sizes_read(options->set != NULL ? options->set : "seed", source->path,
                                &source->program, out->objects));
done:
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
    BB_REQUIRE(options->input == NULL || options->set == NULL, BB_INVALID,
               "sizes are those of --in or of --set, not both");
    BB_TRY(bb_kernel_run_find_device(options->device, &kind));
    BB_TRY(read_program(options, source));
    BB_TRY(find_sizes(options, source, &data));
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

// A kernel that is gone since the folder was listed, or that may not be read, has no title.
static bb_status list(const bb_options *options, bb_kernel_source *source)
{
    bb_status status = BB_OK;
    bb_shipped_names known = {0};
    bb_text title = {0};
    (void)options;
    (void)source;
    BB_TRY(bb_kernel_source_list(&known));
    BB_REQUIRE(known.count > 0, BB_IO,
               "no shipped kernels: none in 'configs/kernels' here, none beside the program; "
               "BITBUDGET_SHARE names the folder that has 'configs'");
    for (bb_index i = 0; i < known.count; ++i) {
        bb_text_release(&title);
        status = bb_kernel_source_title(known.names[i], &title);
        BB_REQUIRE(status == BB_OK || status == BB_IO, status, "no memory for a title");
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
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    for (int i = 0; i < ACTIONS; ++i) {
        if (strcmp(actions[i].name, name) == 0) {
            *out = &actions[i];
            goto done;
        }
        bb_suggestion_consider(name, actions[i].name, &distance, &nearest);
    }
    BB_FAIL(BB_INVALID, "kernel %s: expected one of check, run, source, explain, xml, list%s%s%s",
            name, nearest == NULL ? "" : " (did you mean ", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "?)");
done:
    return status;
}

static bb_status check_options(const action *found, const bb_options *options)
{
    bb_status status = BB_OK;
    BB_REQUIRE(found->runs ||
                   (options->output == NULL && options->parameters.count == 0 && !options->force),
               BB_INVALID, "kernel %s runs nothing: -o, -p and --force go with run", found->name);
    BB_REQUIRE(found->explains || (options->input == NULL && options->wisdom == NULL &&
                                   !options->reorder && !options->deterministic),
               BB_INVALID,
               "kernel %s: --in, --wisdom, --reorder and --deterministic go with run and explain",
               found->name);
    BB_REQUIRE(found->takes_variant || options->variant == NULL, BB_INVALID,
               "kernel %s: --variant goes with run, source and explain", found->name);
    BB_REQUIRE(options->set == NULL || (found->explains && !found->runs), BB_INVALID,
               "kernel %s: --set goes with explain", found->name);
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
               "kernel %s: %td operands after it; see 'bitbudget kernel --help'", found->name,
               rest);
    BB_TRY(check_options(found, options));
    BB_REQUIRE(found->takes_device || options->device == NULL, BB_INVALID,
               "kernel %s takes no --device", found->name);
    BB_TRY(found->act(options, &source));
done:
    bb_kernel_source_release(&source);
    return status;
}

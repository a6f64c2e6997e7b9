// SPDX-License-Identifier: Apache-2.0
//
// bitbudget check: prints the plan of a study without computing or writing anything. It refuses the
// studies that `run` refuses.
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/run/device_choice.h"
#include "sim/run/dump.h"
#include "sim/run/plan.h"
#include "sim/run/study.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static void print_bytes(const char *what, double bytes)
{
    (void)printf("  %-28s %.1f MB\n", what, 1e-6 * bytes);
}

static bb_status print_fields(const bb_experiment *experiment, const void *study)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(experiment->list_fields(study, &text));
    (void)printf("\n%s", bb_text_string(&text));
done:
    bb_text_release(&text);
    return status;
}

// Describes a shortage of memory on this machine. A shortage on the machine of --machine is an
// error, which require_memory() reports.
static bb_status find_shortage(const bb_options *options, const bb_plan *plan,
                               char shortage[BB_PLAN_LINE])
{
    bb_status status = BB_OK;
    double bytes = 0.0;
    shortage[0] = '\0';
    if (options->machine == NULL) {
        BB_TRY(bb_plan_machine_bytes(&bytes));
        bb_plan_shortage(plan, bytes, shortage);
    }
done:
    return status;
}

// Refuses a study that this machine, or the machine of --machine, cannot run.
static bb_status require_memory(const bb_options *options, const bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_machine machine;
    bb_problems problems = {0};
    double bytes = 0.0;
    if (options->machine != NULL) {
        status = bb_machine_load(options->machine, &problems, &machine);
        bb_text_print(bb_text_string(&problems.lines), stderr);
        BB_TRY(status);
        BB_TRY(bb_machine_require(&machine, plan));
        goto done;
    }
    BB_TRY(bb_plan_machine_bytes(&bytes));
    BB_TRY(bb_plan_require(plan, bytes, bb_plan_limit_bytes(options->threads)));
    BB_TRY(bb_plan_require_device(plan));
done:
    bb_problems_release(&problems);
    return status;
}

bb_status bb_command_check(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_plan plan = {.estimated_seconds = NAN};
    char *path = NULL;
    char shortage[BB_PLAN_LINE];
    bb_file_list inputs = {0};
    const bb_run_options run = {.threads = options->threads, .dump = options->dump};
    BB_TRY(bb_command_load(options, experiments,
                           options->machine == NULL ? bb_device_choice_note : NULL, &config));
    const bb_study *study = bb_config_study(config);
    const bb_experiment *experiment =
        bb_experiment_find(experiments, bb_config_schema(config)->name);
    BB_TRY(bb_command_output(options, experiment, &path));
    BB_TRY(bb_command_inputs(options, config, &inputs));
    BB_TRY(bb_file_list_refuse(&inputs, path));
    BB_TRY(bb_dump_check(run.dump, experiment->operators));
    BB_REQUIRE(!options->fields || experiment->list_fields != NULL, BB_INVALID,
               "--fields: experiment %s has no fields to list; remove --fields", experiment->name);
    BB_TRY(bb_study_place_failure(experiment->plan(study, &run, &plan), config));
    BB_TRY(find_shortage(options, &plan, shortage));
    (void)printf("%s: ", experiment->name);
    bb_text_print(study->title, stdout);
    (void)printf("\n");
    bb_text_print(bb_text_string(&plan.lines), stdout);
    print_bytes("memory on the host", plan.host_bytes);
    if (plan.device_bytes > 0.0) {
        print_bytes("memory on the device", plan.device_bytes);
    }
    if (shortage[0] != '\0') {
        (void)printf("  %s\n", shortage);
    }
    if (isnan(plan.estimated_seconds)) {
        (void)printf("  %-28s not estimated\n", "time");
    } else {
        (void)printf("  %-28s %.3g s\n", "time, estimated", plan.estimated_seconds);
    }
    bool exists = access(path, F_OK) == 0 && !options->force;
    (void)printf("  %-28s %s%s\n", "output", path, exists ? " (exists; --force replaces it)" : "");
    if (options->fields) {
        BB_TRY(print_fields(experiment, study));
    }
    (void)fflush(stdout);
    BB_TRY(require_memory(options, &plan));
done:
    bb_file_list_release(&inputs);
    BB_RELEASE(&path);
    bb_plan_release(&plan);
    bb_config_destroy(&config);
    return status;
}

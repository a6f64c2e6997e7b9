// SPDX-License-Identifier: Apache-2.0
//
// bitbudget new: writes a commented configuration with every key of an experiment, or a copy of a
// shipped study.
#include "core/file.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/config/study_file.h"
#include "sim/run/study.h"

#include <math.h>
#include <stdio.h>

static bb_status make_text(const bb_experiment *experiment, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out,
                       "# A study for bitbudget: 'bitbudget check' prints its plan, 'bitbudget "
                       "run' computes it.\n# Omitted keys have the values shown, except those "
                       "marked required by\n# 'bitbudget config --list %s'.\n",
                       experiment->name));
    BB_TRY(bb_config_template(experiment->schema, experiment->starter, out));
done:
    return status;
}

// Writes a duration: "1.5 s", "4 min", "2.5 h".
static void write_time(double seconds, char out[16])
{
    if (isnan(seconds)) {
        (void)snprintf(out, 16, "-");
    } else if (seconds < 120.0) {
        (void)snprintf(out, 16, "%.0f s", fmax(seconds, 1.0));
    } else if (seconds < 7200.0) {
        (void)snprintf(out, 16, "%.0f min", seconds / 60.0);
    } else {
        (void)snprintf(out, 16, "%.1f h", seconds / 3600.0);
    }
}

// Prints memory and time of one run as `check` estimates them. For the plan of a sweep these are
// the values of one run of its study.
static bb_status list_plan(const bb_experiment_table *experiments, const bb_config_base *base,
                           const char *name, bool sweeps, const bb_run_options *run)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_config *config = NULL;
    bb_plan plan = {.estimated_seconds = NAN};
    char seconds[16];
    BB_TRY(bb_experiment_base_bind(experiments, base, NULL, 0, &problems, &config));
    const bb_study *study = bb_config_study(config);
    const bb_experiment *experiment = bb_experiment_find(experiments, study->experiment);
    BB_TRY(experiment->plan(study, run, &plan));
    write_time(plan.estimated_seconds, seconds);
    (void)printf("%-26s %8.1f MB %8s  ", name, 1e-6 * plan.host_bytes, seconds);
    bb_text_print(study->title, stdout);
    (void)printf("%s\n", sweeps ? " (a sweep: one of its points)" : "");
done:
    bb_plan_release(&plan);
    bb_config_destroy(&config);
    bb_problems_release(&problems);
    return status;
}

// Skips files that are not studies of these experiments, such as tables of machines.
static bb_status list_study(const bb_experiment_table *experiments, const char *name,
                            const bb_run_options *run)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_config_base *base = NULL;
    char *path = NULL;
    BB_TRY(bb_study_file_find(name, &path));
    const bb_config_request request = {.path = path};
    status = bb_experiment_base_read(experiments, request, &problems, &base);
    if (status == BB_OK) {
        const bool sweeps = bb_config_base_extract(base, "sweep") != NULL;
        status = list_plan(experiments, base, name, sweeps, run);
    }
    if (status != BB_MEMORY) {
        status = BB_OK;
    }
done:
    bb_config_base_destroy(&base);
    bb_problems_release(&problems);
    BB_RELEASE(&path);
    return status;
}

static bb_status list_studies(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_shipped_names known = {0};
    const bb_run_options run = {.threads = options->threads};
    BB_REQUIRE(options->operand_count == 0, BB_INVALID, "--list accepts no operands");
    BB_TRY(bb_study_file_list(&known));
    BB_REQUIRE(known.count > 0, BB_IO,
               "shipped studies not found in 'configs' here or next to the program; set "
               "BITBUDGET_SHARE to the folder with 'configs'");
    for (bb_index i = 0; i < known.count; ++i) {
        BB_TRY(list_study(experiments, known.names[i], &run));
    }
done:
    bb_shipped_names_release(&known);
    return status;
}

// Finds the text of an experiment's template or of a study.
static bb_status find_text(const char *name, const bb_experiment_table *experiments, bb_text *out,
                           bb_file_list *inputs)
{
    bb_status status = BB_OK;
    bb_text words = {0};
    char *path = NULL;
    const bb_experiment *experiment = bb_experiment_find(experiments, name);
    if (experiment != NULL) {
        BB_TRY(make_text(experiment, out));
        goto done;
    }
    status = bb_study_file_find(name, &path);
    if (status == BB_IO) {
        for (bb_index i = 0; i < experiments->count; ++i) {
            BB_TRY(bb_text_add(&words, "%s%s", i == 0 ? "" : ", ", experiments->rows[i]->name));
        }
        bb_status_record record;
        bb_status_save(&record);
        BB_FAIL(BB_INVALID, "unknown experiment '%s'; use one of %s, or a study: %s", name,
                bb_text_string(&words), record.message);
    }
    BB_TRY(status);
    BB_TRY(bb_study_file_copy(path, out));
    BB_TRY(bb_file_list_add(inputs, path));
done:
    BB_RELEASE(&path);
    bb_text_release(&words);
    return status;
}

bb_status bb_command_new(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bb_file_list inputs = {0};
    if (options->list) {
        return list_studies(options, experiments);
    }
    BB_REQUIRE(options->operand_count > 0, BB_INVALID,
               "name an experiment or a study; see 'bitbudget new --help'");
    BB_REQUIRE(options->operand_count > 1 || !options->force, BB_INVALID,
               "--force replaces a file; give its name after '%s'", options->operands[0]);
    BB_TRY(find_text(options->operands[0], experiments, &text, &inputs));
    if (options->operand_count == 1) {
        (void)fputs(bb_text_string(&text), stdout);
        goto done;
    }
    BB_TRY(
        bb_file_check(options->operands[1], false, options->force, (double)text.length, &inputs));
    BB_TRY(bb_file_write(options->operands[1], options->force, text.data, text.length));
    (void)printf("configuration: %s\n", options->operands[1]);
done:
    bb_file_list_release(&inputs);
    bb_text_release(&text);
    return status;
}

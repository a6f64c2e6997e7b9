// SPDX-License-Identifier: Apache-2.0
//
// bitbudget convergence, live, realtime: load a study, run the measurement of its experiment, print
// and write the result.
#include "core/address_space.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/thread.h"
#include "sim/cli/command.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/run/device_choice.h"

#include <stdio.h>

// Upper limit of the size of tables, histograms, texts and provenance.
enum { FILE_BYTES = 1 << 19 };

// Measurement that an experiment offers.
typedef struct measurement {
    bb_status (*run)(const void *study, bb_results *results, bb_text *table); // NULL: not available
    // reason why this build lacks a measurement of other builds; NULL: no build has it
    const char *absent;
    // function for a stream; NULL: `run` measures
    bb_status (*live)(const void *study, const bb_live_options *options, bb_results *results,
                      bb_text *table);
} measurement;

// Error that stopped the stream; earlier results are kept.
typedef struct late_failure {
    bb_status status;
    bb_status_record record;
} late_failure;

static bb_status stream(const bb_options *options, measurement measure, const void *study,
                        bb_results *results, bb_text *table, late_failure *late)
{
    bb_status status = measure.live(study, &options->live, results, table);
    if (status != BB_OK && bb_text_string(table)[0] != '\0') {
        late->status = status;
        bb_status_save(&late->record);
        status = BB_OK;
    }
    return status;
}

static bb_status compute(const bb_options *options, measurement measure, const bb_config *config,
                         bb_results *results, bb_text *table, late_failure *late)
{
    bb_status status = BB_OK;
    const void *study = bb_config_study(config);
    BB_TRY(bb_provenance_begin(results, config, study, options->argument_count, options->arguments,
                               options->threads));
    BB_TRY(measure.live != NULL ? stream(options, measure, study, results, table, late)
                                : measure.run(study, results, table));
    BB_TRY(bb_provenance_end(results));
done:
    return status;
}

// Runs the measurement that `of` finds in the experiment of the study. `help` is the text of that
// member; `missing` names the measurement in the message for an experiment without it.
static bb_status measure_study(const bb_options *options, const bb_experiment_table *experiments,
                               measurement (*of)(const bb_experiment *experiment), const char *name,
                               const char *missing)
{
    bb_status status = BB_OK;
    const bb_command *command = NULL;
    bb_config *config = NULL;
    bb_results *results = NULL;
    late_failure late = {BB_OK, {"", ""}};
    bb_text table = {0}, having = {0};
    bb_file_list inputs = {0};
    double start = bb_clock_seconds();
    BB_TRY(bb_device_choice_require(bb_command_device(options)));
    BB_REQUIRE(options->output != NULL || !options->force, BB_INVALID,
               "--force replaces a file; give its name with -o");
    BB_TRY(bb_command_load(options, experiments, bb_device_choice_require, &config));
    const bb_experiment *experiment =
        bb_experiment_find(experiments, bb_config_schema(config)->name);
    const measurement measure = of(experiment);
    BB_TRY(bb_command_table_find(name, &command));
    BB_REQUIRE(measure.run != NULL || measure.absent == NULL, BB_DEVICE, "%s", measure.absent);
    BB_TRY(bb_experiment_list(experiments, command->by_experiment, &having));
    BB_REQUIRE(measure.run != NULL || measure.live != NULL, BB_INVALID,
               "experiment %s has no %s; experiments with one: %s", experiment->name, missing,
               bb_text_string(&having));
    if (options->output != NULL) {
        BB_TRY(bb_command_inputs(options, config, &inputs));
        BB_TRY(bb_file_check(options->output, false, options->force, FILE_BYTES, &inputs));
    }
    BB_TRY(bb_address_space_reserve(options->threads));
    BB_TRY(bb_threads_set(options->threads));
    BB_TRY(bb_results_create(&results));
    BB_TRY(compute(options, measure, config, results, &table, &late));
    (void)fputs(bb_text_string(&table), stdout);
    (void)fflush(stdout);
    if (options->output != NULL) {
        BB_TRY(bb_image_save(results, options->output, options->force));
        (void)printf("results: %s\n", options->output);
    }
    if (late.status != BB_OK) {
        (void)fflush(stdout); // so that the output comes before the error
        bb_status_restore(&late.record);
        status = late.status;
        goto done;
    }
    bb_log_info("done in %.1f s", bb_clock_seconds() - start);
done:
    bb_file_list_release(&inputs);
    bb_text_release(&having);
    bb_text_release(&table);
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    return status;
}

static measurement find_convergence(const bb_experiment *experiment)
{
    return (measurement){.run = experiment->converge};
}

bb_status bb_command_convergence(const bb_options *options, const bb_experiment_table *experiments)
{
    return measure_study(options, experiments, find_convergence, "convergence",
                         "convergence study");
}

static measurement find_realtime(const bb_experiment *experiment)
{
    return (measurement){.run = experiment->realtime, .absent = experiment->realtime_absent};
}

bb_status bb_command_realtime(const bb_options *options, const bb_experiment_table *experiments)
{
    return measure_study(options, experiments, find_realtime, "realtime", "control loop");
}

static measurement find_live(const bb_experiment *experiment)
{
    return (measurement){.live = experiment->live};
}

bb_status bb_command_live(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_options streamed = *options;
    streamed.live.pipelines = options->pipeline;
    return measure_study(&streamed, experiments, find_live, "live", "stream");
}

// SPDX-License-Identifier: Apache-2.0
//
// Execution of `run`: checks a configuration, computes the study and writes its result file.
#include "sim/cli/execution.h"

#include "core/address_space.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/kernels/kernel_keys.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/results.h"
#include "sim/output/summary.h"
#include "sim/pipelines/energy.h"
#include "sim/run/device_choice.h"
#include "sim/run/dump.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Size of configuration and provenance in a result file, added to the planned size of the data.
enum { METADATA_BYTES = 1 << 18 };

// Refuses to replace an existing checkpoint unless the run resumes from it or --force is set.
static bb_status check_restart(const bb_options *options, const char *path,
                               const bb_file_list *inputs)
{
    bb_status status = BB_OK;
    const char *target = options->restart.checkpoint;
    const char *source = options->restart.resume;
    struct stat about;
    if (target == NULL) {
        goto done;
    }
    BB_REQUIRE(lstat(target, &about) != 0 || !S_ISLNK(about.st_mode), BB_IO,
               "checkpoint '%s' is a symbolic link; name a regular file or a new one", target);
    BB_REQUIRE(!bb_file_same(target, path), BB_INVALID,
               "--checkpoint '%s' is the result file; name another file", target);
    const bool own = source != NULL && bb_file_same(target, source);
    BB_TRY(own ? BB_OK : bb_file_list_refuse(inputs, target));
    BB_REQUIRE(own || options->force || access(target, F_OK) != 0, BB_IO,
               "checkpoint '%s' exists; continue it with --resume, name another, or replace it "
               "with --force",
               target);
    BB_TRY(bb_file_check(target, false, true, 0.0, NULL));
done:
    return status;
}

// Checks that the experiment's sheet next to the result, if any, can be written.
static bb_status check_sheet(const bb_options *options, const bb_experiment *experiment,
                             const void *study, const char *path, const bb_file_list *inputs)
{
    bb_status status = BB_OK;
    char *sheet = NULL;
    if (experiment->sheet != NULL && experiment->has_sheet(study)) {
        BB_TRY(bb_results_sheet_path(path, experiment->sheet, &sheet));
        BB_TRY(bb_file_check(sheet, false, options->force, 0.0, inputs));
    }
done:
    BB_RELEASE(&sheet);
    return status;
}

// Checks the planned memory. Plans are estimates and memory may be swapped, so a moderate shortage
// is only a warning.
static bb_status check_memory(const bb_plan *plan, bb_index threads)
{
    bb_status status = BB_OK;
    double machine_bytes = 0.0;
    char shortage[BB_PLAN_LINE];
    BB_TRY(bb_plan_machine_bytes(&machine_bytes));
    machine_bytes /= (double)bb_team_joined()->host_size;
    BB_TRY(bb_plan_require(plan, machine_bytes, bb_plan_limit_bytes(threads)));
    BB_TRY(bb_plan_require_device(plan));
    bb_plan_shortage(plan, machine_bytes, shortage);
    if (shortage[0] != '\0') {
        bb_log_warning("%s", shortage);
    }
done:
    return status;
}

static const char *checkpoint_help(const bb_experiment *experiment)
{
    return experiment->checkpoint_help;
}

// Checks that every output file can be written.
static bb_status check_files(const bb_execution *work, const bb_experiment *experiment,
                             double output_bytes)
{
    bb_status status = BB_OK;
    const bb_options *options = work->options;
    bb_file_list inputs = {0};
    BB_TRY(bb_command_inputs(options, work->config, &inputs));
    BB_TRY(bb_file_check(work->path, options->output == NULL, options->force,
                         output_bytes + METADATA_BYTES, &inputs));
    BB_TRY(check_restart(options, work->path, &inputs));
    BB_TRY(check_sheet(options, experiment, bb_config_study(work->config), work->path, &inputs));
done:
    bb_file_list_release(&inputs);
    return status;
}

static bb_status check_execution(const bb_execution *work, const bb_experiment *experiment,
                                 const bb_run_options *run)
{
    bb_status status = BB_OK;
    bb_plan plan = {0};
    bb_text restarting = {0};
    BB_REQUIRE(!work->options->energy || bb_team_joined()->size == 1, BB_INVALID,
               "--energy: energy counters cannot be attributed to %d processes; use one process",
               bb_team_joined()->size);
    BB_TRY(bb_dump_check(run->dump, experiment->operators));
    BB_TRY(bb_experiment_list(work->experiments, checkpoint_help, &restarting));
    BB_REQUIRE(experiment->checkpoint_help != NULL ||
                   (run->checkpoint == NULL && run->resume == NULL),
               BB_INVALID,
               "--checkpoint and --resume: experiment %s has no checkpoints; experiments with "
               "checkpoints: %s",
               experiment->name, bb_text_string(&restarting));
    const void *study = bb_config_study(work->config);
    BB_TRY(bb_study_place_failure(experiment->plan(study, run, &plan), work->config));
    if (work->path != NULL) {
        BB_TRY(check_files(work, experiment, plan.output_bytes));
    }
    BB_TRY(check_memory(&plan, run->threads));
done:
    bb_text_release(&restarting);
    bb_plan_release(&plan);
    return status;
}

// Checks that all processes of a team have the same study: hosts may have different files of one
// name.
static bb_status check_team(const bb_config *config)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    bb_text text = {0};
    char *first = NULL; // text of the first process
    if (team->size == 1) {
        goto done;
    }
    BB_TRY(bb_config_resolved(config, &text));
    bb_index length = text.length;
    BB_TRY(team->broadcast(0, &length, sizeof length));
    BB_TRY(BB_ALLOCATE(length + 1, &first));
    if (team->rank == 0) {
        memcpy(first, bb_text_string(&text), (size_t)length);
    }
    BB_TRY(team->broadcast(0, first, (size_t)length));
    BB_REQUIRE(length == text.length && memcmp(first, bb_text_string(&text), (size_t)length) == 0,
               BB_IO, "the study '%s' differs from that of process 0",
               bb_config_file_at(config, 0).name);
done:
    BB_RELEASE(&first);
    bb_text_release(&text);
    return status;
}

static bb_status compute(const bb_options *options, const bb_experiment *experiment,
                         const bb_config *config, const bb_run_options *run, bb_results *results)
{
    bb_status status = BB_OK;
    const void *study = bb_config_study(config);
    BB_TRY(bb_provenance_begin(results, config, study, options->argument_count, options->arguments,
                               run->threads));
    bb_energy_enable(options->energy);
    BB_TRY(bb_study_place_failure(experiment->run(study, run, results), config));
    BB_TRY(bb_energy_note(results));
    BB_TRY(bb_provenance_end(results));
done:
    bb_energy_enable(false);
    return status;
}

static bb_status write_sheet(const bb_options *options, const bb_experiment *experiment,
                             const bb_results *results, const char *path)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    char *sheet = NULL;
    if (experiment->sheet != NULL) {
        BB_TRY(bb_results_write_sheet(results, experiment->sheet, &text));
    }
    if (text.length > 0) {
        BB_TRY(bb_results_sheet_path(path, experiment->sheet, &sheet));
        BB_TRY(bb_file_write(sheet, options->force, text.data, text.length));
        (void)printf("%s: %s\n", experiment->sheet, sheet);
    }
done:
    BB_RELEASE(&sheet);
    bb_text_release(&text);
    return status;
}

// Records the loss that an interrupt reports from now on.
static void note_loss(const bb_run_options *run, const char *path)
{
    char text[BB_INTERRUPT_LOSS_BYTES];
    (void)snprintf(text, sizeof text, "'%s' is not written", bb_interrupt_path(path));
    bb_interrupt_loses(text);
    if (run->checkpoint != NULL) {
        (void)snprintf(text, sizeof text, "if checkpoint '%s' exists, --resume continues from it",
                       bb_interrupt_path(run->checkpoint));
        bb_interrupt_keeps(text);
    }
}

// Writes the file before printing the table, so that a closed pipe does not lose the file. Prints
// the table even if the file fails, so that a full disk does not lose the table.
static bb_status deliver(const bb_options *options, const bb_experiment *experiment,
                         const char *path, bb_results *results)
{
    bb_status status = BB_OK;
    bb_text table = {0};
    const bb_status written = bb_image_save(results, path, options->force);
    if (written == BB_OK) {
        bb_interrupt_loses("");
    }
    bb_status_record record;
    bb_status_save(&record);
    BB_TRY(bb_summary_write(experiment, results, options->max_loss, &table));
    bb_text_print(bb_text_string(&table), stdout);
    (void)fflush(stdout);
    bb_status_restore(&record);
    BB_TRY(written);
    (void)printf("results: %s\n", path);
    BB_TRY(write_sheet(options, experiment, results, path));
done:
    bb_text_release(&table);
    return status;
}

bb_status bb_execution_run(const bb_execution *work, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_options *options = work->options;
    const bb_kernel_wish kernels = {.is_deterministic = options->kernel.deterministic,
                                    .replay = work->replay};
    const bb_run_options run = {.threads = options->threads,
                                .kernels = &kernels,
                                .dump = options->dump,
                                .checkpoint = options->restart.checkpoint,
                                .checkpoint_every_s = options->restart.checkpoint_every_s,
                                .resume = options->restart.resume};
    double start = bb_clock_seconds();
    const bb_experiment *experiment =
        bb_experiment_find(work->experiments, bb_config_schema(work->config)->name);
    BB_TRY(check_team(work->config));
    BB_TRY(check_execution(work, experiment, &run));
    BB_TRY(bb_address_space_reserve(options->threads));
    BB_TRY(bb_threads_set(options->threads));
    if (work->path != NULL) {
        note_loss(&run, work->path);
    }
    BB_TRY(compute(options, experiment, work->config, &run, results));
    if (work->path != NULL) {
        BB_TRY(deliver(options, experiment, work->path, results));
    }
    bb_log_info("done in %.1f s", bb_clock_seconds() - start);
done:
    return status;
}

bb_status bb_command_run(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_results *results = NULL;
    char *path = NULL;
    BB_TRY(bb_device_choice_require(bb_command_device(options)));
    BB_TRY(bb_command_load(options, experiments, bb_device_choice_require, &config));
    const bb_experiment *experiment =
        bb_experiment_find(experiments, bb_config_schema(config)->name);
    BB_TRY(bb_command_output(options, experiment, &path));
    BB_TRY(bb_results_create(&results));
    const bool writes = bb_team_joined()->rank == 0;
    const bb_execution work = {options, experiments, config, writes ? path : NULL, NULL};
    BB_TRY(bb_execution_run(&work, results));
done:
    BB_RELEASE(&path);
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    return status;
}

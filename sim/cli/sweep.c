// SPDX-License-Identifier: Apache-2.0
//
// bitbudget sweep: runs many points of a study here or as shards of cluster jobs.
#include "core/file.h"
#include "core/isolation.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "sim/cli/command.h"
#include "sim/config/scalar.h"
#include "sim/config/study_file.h"
#include "sim/output/reader.h"
#include "sim/run/device_choice.h"
#include "sim/sweep/collection.h"
#include "sim/sweep/shard.h"
#include "sim/sweep/slurm.h"
#include "sim/sweep/sweep_lock.h"
#include "sim/sweep/sweep_search.h"
#include "sim/sweep/swept.h"
#include "solvers/distributed/engine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLANNING_SECONDS = 3600, PATH_BYTES = 4096 };

// Runs the planning in a separate process, because a study may query devices, and workers started
// later could not use a GPU initialised by this process.
typedef struct planning {
    const bb_experiment_table *experiments;
    bb_sweep_plan_request request;
    const char *folder; // NULL: list the plan, write nothing
    const char *output; // result file, NULL: none
    const char *csv;    // CSV file, NULL: none
} planning;

// Refuses output files that are inputs of the sweep.
static bb_status check_outputs(const bb_sweep_plan *plan, const char *folder, const char *output,
                               const char *csv)
{
    bb_status status = BB_OK;
    bb_file_list inputs = {0};
    BB_TRY(bb_sweep_plan_inputs(plan, &inputs));
    BB_TRY(bb_sweep_plan_folder_inputs(folder, &inputs));
    BB_TRY(output == NULL ? BB_OK : bb_file_list_refuse(&inputs, output));
    BB_TRY(csv == NULL ? BB_OK : bb_file_list_refuse(&inputs, csv));
done:
    bb_file_list_release(&inputs);
    return status;
}

static bb_status plan_sweep(void *context)
{
    bb_status status = BB_OK;
    const planning *task = context;
    bb_sweep_plan *plan = NULL;
    bb_problems problems = {0};
    bb_text text = {0};
    status = bb_sweep_plan_make(task->experiments, &task->request, &problems, &plan);
    if (problems.count > 0 && status == BB_INVALID) {
        bb_text_print(bb_text_string(&problems.lines), stderr);
    }
    BB_TRY(status);
    if (task->folder != NULL) {
        BB_TRY(check_outputs(plan, task->folder, task->output, task->csv));
        BB_TRY(bb_sweep_plan_write(plan, task->folder));
    }
    BB_TRY(bb_sweep_plan_list(plan, &text));
    bb_text_print(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    bb_problems_release(&problems);
    bb_sweep_plan_destroy(&plan);
    return status;
}

static bb_status make_plan(const bb_options *options, const bb_experiment_table *experiments,
                           bb_index first, bb_index last, bb_index shards, const char *folder,
                           const char *output)
{
    bb_status status = BB_OK;
    char *path = NULL;
    BB_TRY(bb_study_file_find(options->operands[first], &path));
    planning task = {
        .experiments = experiments,
        .request = {.path = path,
                    .overrides = (const char *const *)options->operands + first + 1,
                    .override_count = last - first - 1,
                    .device = options->device,
                    .shards = shards,
                    .begin = output == NULL ? bb_device_choice_note : bb_device_choice_require,
                    .threads = options->threads},
        .folder = folder,
        .output = output,
        .csv = options->sweep.csv,
    };
    BB_TRY(bb_isolation_run("the plan", PLANNING_SECONDS, plan_sweep, &task));
done:
    BB_RELEASE(&path);
    return status;
}

// Shards selected by a call.
typedef struct shard_list {
    bb_index *numbers; // [count] numbers from 1
    bb_index count;    // 0: all
} shard_list;

// Reads "S/K" or "S,S,.../K" for a plan with K shards.
static bb_status read_shards(const char *text, const bb_sweep_plan *plan, shard_list *out)
{
    bb_status status = BB_OK;
    const char *slash = strchr(text, '/');
    bb_index count = 0;
    BB_REQUIRE(slash != NULL && bb_scalar_integer(slash + 1, &count), BB_INVALID,
               "--shard %s: use S/K with S from 1 to K", text);
    BB_REQUIRE(count == plan->shards, BB_INVALID, "--shard %s: the plan has %td shards", text,
               plan->shards);
    BB_TRY(BB_ALLOCATE(count, &out->numbers));
    for (const char *part = text; part < slash; part += strcspn(part, ",/") + 1) {
        char digits[BB_SCALAR_BYTES];
        bb_index shard = 0;
        (void)snprintf(digits, sizeof digits, "%.*s", (int)strcspn(part, ",/"), part);
        BB_REQUIRE(bb_scalar_integer(digits, &shard) && shard >= 1 && shard <= count &&
                       out->count < count,
                   BB_INVALID, "--shard %s: shards are numbered from 1 to %td", text, count);
        out->numbers[out->count++] = shard;
    }
    BB_REQUIRE(out->count > 0, BB_INVALID, "--shard %s: use S/K", text);
done:
    return status;
}

// Selects shards by --shard, else by the element number of a job array, else all.
static bb_status find_shards(const bb_options *options, const bb_sweep_plan *plan, shard_list *out)
{
    bb_status status = BB_OK;
    static const char *const numbers[] = {"SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID",
                                          "HQ_TASK_ID", "PARALLEL_SEQ"};
    if (options->sweep.shard != NULL) {
        return read_shards(options->sweep.shard, plan, out);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && out->count == 0; ++i) {
        const char *value = getenv(numbers[i]);
        bb_index shard = 0;
        if (value != NULL) {
            BB_REQUIRE(bb_scalar_integer(value, &shard) && shard >= 1 && shard <= plan->shards,
                       BB_INVALID, "%s=%s: shards are numbered from 1 to %td", numbers[i], value,
                       plan->shards);
            BB_TRY(BB_ALLOCATE(1, &out->numbers));
            out->numbers[out->count++] = shard;
        }
    }
done:
    return status;
}

static bb_status act_status(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    (void)options;
    bb_sweep_progress progress = {0};
    bb_text text = {0};
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    BB_TRY(bb_sweep_progress_list(&progress, &text));
    (void)printf("%s\n", bb_text_string(&text));
    if (progress.message[0] != '\0') {
        (void)printf("  last failure: ");
        bb_text_print(progress.message, stdout);
        (void)printf("\n");
    }
    if (progress.torn > 0) {
        (void)printf("  %td records were truncated by ended processes; their points are pending\n",
                     progress.torn);
    }
    const bb_index done = progress.counts[BB_POINT_DONE];
    if (done > 0 && progress.open > 0) {
        const double each = progress.seconds / (double)done;
        (void)printf("  %.3g s per point; remaining time of one process: %.3g s\n", each,
                     each * (double)progress.open);
    }
done:
    bb_text_release(&text);
    bb_sweep_progress_release(&progress);
    return status;
}

static bb_status run_shards(const bb_options *options, const bb_sweep_plan *plan,
                            const shard_list *shards)
{
    bb_status status = BB_OK;
    bb_shard_report report;
    bool *wanted = NULL;
    bb_index generation = 0;
    if (plan->sweep->searches) {
        BB_TRY(BB_ALLOCATE(plan->sweep->point_count, &wanted));
        BB_TRY(bb_sweep_search_wanted(plan, wanted, &generation));
        bb_log_info("generation %td of the search", generation);
    }
    const bb_shard_request request = {
        .plan = plan,
        .wanted = wanted,
        .shards = shards->numbers,
        .shard_count = shards->count,
        .jobs = options->sweep.jobs > 0 || shards->count == 0 ? options->sweep.jobs : 1,
        .threads = options->threads};
    if (plan->is_other_build) {
        bb_log_warning("another build made the plan; results may differ in the last bits");
    }
    BB_TRY(bb_shard_run(&request, &report));
    bb_log_info("%td points completed, %td failed, %td completed earlier, %.1f s", report.done,
                report.failed, report.before, report.seconds);
done:
    BB_RELEASE(&wanted);
    return status;
}

// Creates a plan. The folder is the only operand without '='; it may come before or after
// key=value.
static bb_status act_plan(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    const char *folder = NULL;
    bb_index last = options->operand_count;
    for (bb_index i = 2; i < last; ++i) {
        if (strchr(options->operands[i], '=') == NULL) {
            BB_REQUIRE(folder == NULL, BB_INVALID, "two folders are given, '%s' and '%s'; name one",
                       folder, options->operands[i]);
            folder = options->operands[i];
            for (bb_index k = i; k + 1 < last; ++k) {
                options->operands[k] = options->operands[k + 1];
            }
            --i;
            --last;
        }
    }
    BB_REQUIRE(folder != NULL, BB_INVALID,
               "usage: bitbudget sweep plan PLAN.yaml DIR [key=value ...]");
    BB_TRY(make_plan(options, experiments, 1, last, options->sweep.jobs, folder, NULL));
done:
    return status;
}

static bb_status act_run(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    shard_list shards = {0};
    int lock = -1;
    BB_TRY(find_shards(options, plan, &shards));
    if (bb_team_joined()->rank == 0) {
        BB_TRY(bb_sweep_lock_acquire(plan->folder, shards.count == 0, &lock));
    }
    BB_TRY(run_shards(options, plan, &shards));
done:
    bb_sweep_lock_release(&lock);
    BB_RELEASE(&shards.numbers);
    return status;
}

// Refuses --max-loss for a search, which has its own limit.
static bb_status check_max_loss(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    BB_REQUIRE(isnan(options->max_loss) || !plan->sweep->searches, BB_INVALID,
               "--max-loss %g: the plan sets sweep.search.max_loss; remove the option",
               options->max_loss);
done:
    return status;
}

static bb_status collect(const bb_options *options, const bb_sweep_plan *plan, const char *output)
{
    bb_status status = BB_OK;
    bb_text answer = {0};
    const bb_sweep_collect_request request = {.plan = plan,
                                              .output = output,
                                              .csv = options->sweep.csv,
                                              .partial = options->sweep.partial,
                                              .force = options->force,
                                              .max_loss = options->max_loss,
                                              .argument_count = options->argument_count,
                                              .arguments = options->arguments,
                                              .threads = options->threads};
    BB_TRY(check_outputs(plan, plan->folder, output, options->sweep.csv));
    BB_TRY(bb_sweep_collect(&request, &answer));
    bb_text_print(bb_text_string(&answer), stdout);
    if (output != NULL) {
        (void)printf("results: %s\n", output);
    }
done:
    bb_text_release(&answer);
    return status;
}

static bb_status act_collect(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    BB_REQUIRE(options->output != NULL || options->sweep.csv != NULL, BB_INVALID,
               "sweep collect needs -o FILE.h5 or --csv FILE");
    BB_TRY(collect(options, plan, options->output));
done:
    return status;
}

static bb_status act_retry(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    BB_TRY(bb_shard_retry(plan, options->sweep.only, &count));
    (void)printf("%td points are pending again: bitbudget sweep run %s\n", count, plan->folder);
done:
    return status;
}

static bb_status act_next(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    bb_index open = 0;
    bool advanced = false;
    bool finished = false;
    BB_REQUIRE(plan->sweep->searches, BB_INVALID, "'%s': the plan has no sweep.search",
               plan->folder);
    BB_TRY(bb_sweep_search_next(plan, &open, &advanced, &finished));
    if (finished) {
        BB_TRY(collect(options, plan, options->output));
    } else {
        (void)printf("%td points of %s generation are pending: bitbudget sweep run %s\n", open,
                     advanced ? "the next" : "this", plan->folder);
    }
done:
    return status;
}

// Submits jobs. A search first plans its next generation; at its end the results are collected
// instead.
static bb_status submit(const bb_options *options, const bb_sweep_plan *plan, const char *output)
{
    bb_status status = BB_OK;
    bb_index open = 0;
    bool advanced = false;
    bool finished = false;
    bb_text text = {0};
    bb_slurm_request request = {.plan = plan,
                                .output = output,
                                .max_loss = options->max_loss,
                                .nodes = options->sweep.nodes,
                                .extras = (const char *const *)options->operands + 2,
                                .extra_count = options->operand_count - 2,
                                .print_only = options->sweep.print_only};
    if (plan->sweep->searches) {
        BB_TRY(options->sweep.print_only ? bb_sweep_search_open(plan, &open)
                                         : bb_sweep_search_next(plan, &open, &advanced, &finished));
    }
    if (finished) {
        BB_TRY(collect(options, plan, output));
        goto done;
    }
    const char *before = getenv(BB_SLURM_OPEN);
    BB_REQUIRE(before == NULL || advanced || open < strtol(before, NULL, 10), BB_IO,
               "the last jobs completed none of %td points; see '%s/log'", open, plan->folder);
    request.open = open;
    BB_TRY(bb_slurm_submit(&request, &text));
    bb_text_print(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}

static bb_status act_submit(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    char *folder = NULL;
    char *output = NULL;
    BB_REQUIRE(options->sweep.slurm, BB_INVALID,
               "sweep submit needs --slurm; for another scheduler call 'sweep run' in its jobs");
    folder = realpath(plan->folder, NULL);
    BB_REQUIRE(folder != NULL, BB_IO, "'%s': %s", plan->folder, strerror(errno));
    BB_TRY(options->output != NULL ? bb_memory_text(options->output, &output)
                                   : bb_memory_printf(&output, "%s/all.h5", folder));
    BB_TRY(check_outputs(plan, folder, output, NULL));
    BB_TRY(submit(options, plan, output));
done:
    free(folder);
    BB_RELEASE(&output);
    return status;
}

// Names the outputs of a sweep that is run at once: the folder "outputs/sweep-NAME" next to the
// result file "outputs/sweep-NAME.h5".
static bb_status name_outputs(const bb_options *options, char **output, char **folder)
{
    bb_status status = BB_OK;
    if (options->output != NULL) {
        BB_TRY(bb_memory_text(options->output, output));
    } else {
        const char *slash = strrchr(options->operands[0], '/');
        const char *name = slash == NULL ? options->operands[0] : slash + 1;
        BB_TRY(bb_memory_printf(output, "outputs/sweep-%.*s.h5", (int)strcspn(name, "."), name));
    }
    const char *dot = strrchr(*output, '.');
    const bool named = dot != NULL && strcmp(dot, ".h5") == 0;
    BB_REQUIRE(
        named && dot != *output && dot[-1] != '/', BB_INVALID,
        "-o %s: the name must end in .h5; points are stored in the folder of that name without .h5",
        *output);
    BB_TRY(bb_memory_printf(folder, "%.*s", (int)(dot - *output), *output));
done:
    return status;
}

// Runs all generations of a search; other sweeps have one.
static bb_status run_all(const bb_options *options, const bb_sweep_plan *plan)
{
    bb_status status = BB_OK;
    const shard_list every = {0};
    bb_index open = 0;
    bool advanced = false;
    bool finished = false;
    int lock = -1;
    BB_TRY(bb_sweep_lock_acquire(plan->folder, true, &lock));
    do {
        BB_TRY(run_shards(options, plan, &every));
        if (plan->sweep->searches) {
            BB_TRY(bb_sweep_search_next(plan, &open, &advanced, &finished));
        }
    } while (plan->sweep->searches && !finished);
done:
    bb_sweep_lock_release(&lock);
    return status;
}

static bb_status require_device(void *name)
{
    return bb_device_choice_require(name);
}

// True if the sweep was run before: its results exist next to the folder of its plan.
static bool was_run(const bb_options *options, const char *output, const char *folder)
{
    char path[PATH_BYTES];
    const int length = snprintf(path, sizeof path, "%s/plan.json", folder);
    return !options->force && length < PATH_BYTES && access(output, F_OK) == 0 &&
           access(path, F_OK) == 0;
}

// Prints the answer of a finished sweep. Errors: BB_IO (results of another plan, or incomplete).
static bb_status show_finished(const bb_options *options, const bb_sweep_plan *plan,
                               const char *output)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    bb_sweep_progress progress = {0};
    const bool is_read = bb_reader_read(output, &results) == BB_OK;
    BB_TRY(bb_sweep_progress_read(plan, &progress));
    const char *id = is_read ? bb_results_note_text(results, "", "sweep_plan") : NULL;
    const bb_index done = progress.counts[BB_POINT_DONE];
    const bool all = plan->sweep->searches || done == bb_sweep_plan_points(plan);
    if (id == NULL || strcmp(id, plan->id) != 0 || bb_swept_partial(results) != NULL || !all) {
        BB_TRY(bb_file_check(output, false, false, 0.0, NULL));
    }
    BB_TRY(collect(options, plan, NULL));
    (void)printf("all %td runs are complete in %s\n", done, output);
done:
    bb_sweep_progress_release(&progress);
    bb_results_destroy(&results);
    return status;
}

static bb_status act_whole(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    char *device = NULL;
    bb_sweep_plan *plan = NULL;
    bb_file_list inputs = {0};
    char *output = NULL;
    char *folder = NULL;
    const bb_index jobs = options->sweep.jobs > 0 ? options->sweep.jobs : options->threads;
    if (options->list) {
        return make_plan(options, experiments, 0, options->operand_count, jobs, NULL, NULL);
    }
    if (options->device != NULL) { // probed in a separate process, as in planning
        BB_TRY(bb_memory_text(options->device, &device));
        BB_TRY(bb_isolation_run("the device", PLANNING_SECONDS, require_device, device));
    }
    BB_TRY(name_outputs(options, &output, &folder));
    BB_TRY(bb_command_inputs(options, NULL, &inputs));
    const bool ran = was_run(options, output, folder);
    BB_TRY(bb_file_check(output, options->output == NULL, options->force || ran, 0.0, &inputs));
    BB_TRY(make_plan(options, experiments, 0, options->operand_count, jobs, folder, output));
    BB_TRY(bb_sweep_plan_open(experiments, folder, &plan));
    BB_TRY(check_max_loss(options, plan));
    BB_TRY(ran ? BB_OK : run_all(options, plan));
    BB_TRY(ran ? show_finished(options, plan, output) : collect(options, plan, output));
done:
    BB_RELEASE(&device);
    bb_file_list_release(&inputs);
    bb_sweep_plan_destroy(&plan);
    BB_RELEASE(&folder);
    BB_RELEASE(&output);
    return status;
}

// Action on a planned sweep, whose folder is the second operand.
typedef struct verb {
    const char *name;
    bb_status (*act)(const bb_options *options, const bb_sweep_plan *plan);
    const char *usage;    // usage after the folder
    bool accepts_options; // accepts options of another program as operands
} verb;

static const verb verbs[] = {
    {"run", act_run, "[--shard S/K] [--jobs N]", false},
    {"status", act_status, "", false},
    {"submit", act_submit, "--slurm [--nodes N] [--print-only] [-- options of sbatch]", true},
    {"collect", act_collect, "-o FILE.h5 [--csv FILE] [--partial]", false},
    {"retry", act_retry, "[--only CLASS]", false},
    {"next", act_next, "[-o FILE.h5]", false},
};

static bb_status act(const verb *row, const bb_options *options,
                     const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_sweep_plan *plan = NULL;
    const bool fits =
        options->operand_count == 2 || (options->operand_count > 2 && row->accepts_options);
    BB_REQUIRE(fits, BB_INVALID, "usage: bitbudget sweep %s DIR %s", row->name, row->usage);
    BB_TRY(bb_sweep_plan_open(experiments, options->operands[1], &plan));
    BB_TRY(check_max_loss(options, plan));
    BB_TRY(row->act(options, plan));
done:
    bb_sweep_plan_destroy(&plan);
    return status;
}

bb_status bb_command_sweep(const bb_options *options, const bb_experiment_table *experiments)
{
    if (strcmp(options->operands[0], "run") != 0) { // a team runs it collectively
        if (bb_team_joined()->rank > 0) {
            return BB_OK;
        }
        bb_team_join(NULL);
        bb_engine_register(NULL);
    }
    if (strcmp(options->operands[0], "plan") == 0) {
        return act_plan(options, experiments);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; ++i) {
        if (strcmp(verbs[i].name, options->operands[0]) == 0) {
            return act(&verbs[i], options, experiments);
        }
    }
    return act_whole(options, experiments);
}

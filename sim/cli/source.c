// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/source.h"

#include "core/isolation.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/output/reader.h"
#include "sim/run/study.h"
#include "sim/sweep/collection.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { READING_SECONDS = 60 };

static bb_status collect(const bb_options *options, const bb_experiment_table *experiments,
                         const char *folder, bb_results **out)
{
    bb_status status = BB_OK;
    bb_sweep_plan *plan = NULL;
    BB_TRY(bb_sweep_plan_open(experiments, folder, &plan));
    const bb_sweep_collect_request request = {.plan = plan,
                                              .partial = true,
                                              .max_loss = NAN,
                                              .argument_count = options->argument_count,
                                              .arguments = options->arguments,
                                              .threads = options->threads};
    BB_TRY(bb_sweep_collect_results(&request, out));
done:
    bb_sweep_plan_destroy(&plan);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bb_status bb_source_inputs(const bb_options *options, bb_file_list *inputs)
{
    bb_status status = BB_OK;
    BB_TRY(bb_command_inputs(options, NULL, inputs));
    for (bb_index i = 0; i < options->operand_count; ++i) {
        BB_TRY(bb_sweep_plan_folder_inputs(options->operands[i], inputs));
    }
done:
    return status;
}

bb_status bb_source_is_sweep(const char *path, bool *out)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    *out = is_folder(path);
    if (!*out) {
        BB_TRY(bb_reader_read(path, &results));
        *out = bb_results_note_text(results, "", "sweep_plan") != NULL;
    }
done:
    bb_results_destroy(&results);
    return status;
}

bb_status bb_source_read(const bb_options *options, const bb_experiment_table *experiments,
                         const char *path, bb_results **out)
{
    // Disables file locks, which fail on many cluster file systems; a file under its final name is
    // complete.
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    return is_folder(path) ? collect(options, experiments, path, out)
                           : bb_reader_read_all(path, NULL, out);
}

static bb_status read_once(void *context)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    BB_TRY(bb_reader_read_all(context, NULL, &results));
done:
    bb_results_destroy(&results);
    return status;
}

bb_status bb_source_read_recorded(char *path, const char *verb, bb_results **out)
{
    // Disables file locks, which fail on many cluster file systems; a file under its final name is
    // complete.
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    bb_status status = bb_isolation_run(path, READING_SECONDS, read_once, path);
    if (status == BB_OK) {
        status = bb_reader_read_all(path, NULL, out);
    }
    return bb_status_prefix(status, "cannot %s '%s'", verb, path);
}

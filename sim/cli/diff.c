// SPDX-License-Identifier: Apache-2.0
//
// bitbudget diff: prints the differences between two result files of one experiment. Files are read
// in a child process, because the HDF5 library can crash on damaged ones.
#include "core/isolation.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/config/difference.h"
#include "sim/output/comparison.h"
#include "sim/output/grid.h"
#include "sim/output/reader.h"
#include "sim/run/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READING_SECONDS = 120 };

typedef struct request {
    const bb_options *options;
    const bb_experiment_table *experiments;
} request;

static bb_status read_file(const char *path, bb_results **out)
{
    return bb_status_prefix(bb_reader_read_all(path, NULL, out), "cannot compare '%s'", path);
}

// Resolved configuration of a result, NULL if the file has none.
static const char *study_of(const bb_results *results)
{
    const bb_dataset *resolved = bb_results_find(results, "provenance/config_resolved");
    return resolved != NULL && resolved->is_text && resolved->count == 1 ? resolved->texts[0]
                                                                         : NULL;
}

static bb_status write_keys(const bb_comparison *pair, bb_text *out, bb_index *count)
{
    bb_status status = BB_OK;
    bb_text lines = {0};
    bb_index keys = 0;
    const char *const texts[2] = {study_of(pair->results[0]), study_of(pair->results[1])};
    if (texts[0] == NULL || texts[1] == NULL) {
        BB_TRY(bb_text_add(out, "configuration: missing in %s\n",
                           texts[0] == NULL ? pair->names[0] : pair->names[1]));
        goto done;
    }
    BB_TRY(bb_difference_write_keys(texts, pair->names, &lines, &keys));
    BB_TRY(keys == 0 ? bb_text_add(out, "configuration: equal\n")
                     : bb_text_add(out, "configuration: %td key%s\n%s", keys,
                                   keys == 1 ? " differs" : "s differ", bb_text_string(&lines)));
    *count += keys;
done:
    bb_text_release(&lines);
    return status;
}

static bb_status write_results(const bb_comparison *pair, bb_text *out, bb_index *count)
{
    bb_status status = BB_OK;
    bb_text lines = {0};
    bb_index datasets = 0;
    BB_TRY(bb_comparison_write_results(pair, &lines, &datasets));
    BB_TRY(bb_text_add(out, "results except times: %s", datasets == 0 ? "equal" : "different"));
    if (pair->tolerance > 0.0) {
        BB_TRY(bb_text_add(out, " at tolerance %g", pair->tolerance));
    }
    BB_TRY(bb_text_add(out, "\n%s", bb_text_string(&lines)));
    *count += datasets;
done:
    bb_text_release(&lines);
    return status;
}

static bb_status compare(const request *job, bb_results *const results[2], char *const labels[2])
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bb_index count = 0;
    char *const *paths = job->options->operands;
    const char *names[2];
    for (int side = 0; side < 2; ++side) {
        names[side] = bb_results_note_text(results[side], "", "experiment");
    }
    BB_REQUIRE(strcmp(names[0], names[1]) == 0, BB_INVALID,
               "'%s' is a result of %s, '%s' of %s; compare results of one experiment", paths[0],
               names[0], paths[1], names[1]);
    const bb_experiment *experiment = bb_experiment_find(job->experiments, names[0]);
    BB_REQUIRE(experiment != NULL, BB_IO, "cannot compare '%s': unknown experiment '%s'", paths[0],
               names[0]);
    const bb_comparison pair = {
        experiment, {results[0], results[1]}, {labels[0], labels[1]}, job->options->show.tolerance};
    BB_TRY(write_keys(&pair, &text, &count));
    BB_TRY(write_results(&pair, &text, &count));
    BB_TRY(bb_comparison_write_origins(&pair, &text));
    (void)alarm(0); // printing to a slow reader may exceed the reading time limit
    bb_text_print(bb_text_string(&text), stdout);
    BB_REQUIRE(count == 0, BB_DIFFERENT, "'%s' and '%s' differ", paths[0], paths[1]);
done:
    bb_text_release(&text);
    return status;
}

static bb_status diff(void *context)
{
    bb_status status = BB_OK;
    const request *job = context;
    bb_results *results[2] = {NULL, NULL};
    char *labels[2] = {NULL, NULL};
    // Disables file locks, which fail on many cluster file systems; a file under its final name is
    // complete.
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    for (int side = 0; side < 2; ++side) {
        BB_TRY(read_file(job->options->operands[side], &results[side]));
        BB_TRY(bb_grid_find_label((const char *const *)job->options->operands, 2, side,
                                  &labels[side]));
    }
    BB_TRY(compare(job, results, labels));
done:
    for (int side = 0; side < 2; ++side) {
        BB_RELEASE(&labels[side]);
        bb_results_destroy(&results[side]);
    }
    return status;
}

bb_status bb_command_diff(const bb_options *options, const bb_experiment_table *experiments)
{
    request job = {options, experiments};
    return bb_isolation_run(options->operands[0], READING_SECONDS, diff, &job);
}

// SPDX-License-Identifier: Apache-2.0
//
// bitbudget show: the result table of a file, and what its experiment reports below. Files are read
// in a child process, because the HDF5 library can crash on damaged ones.
#include "sim/command.h"
#include "sim/isolation.h"
#include "sim/output/reader.h"
#include "sim/output/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READING_SECONDS = 60 };

typedef struct request {
    const char *path;
    double within;
    const bb_experiment_table *experiments;
} request;

static bb_status show(void *context)
{
    bb_status status = BB_OK;
    const request *asked = context;
    bb_results *results = NULL;
    bb_text table = {0};
    // A file under its final name is whole, and locks fail on many cluster file systems.
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    status = bb_reader_read(asked->path, &results);
    if (status != BB_OK) {
        bb_status_record record;
        bb_status_save(&record);
        BB_FAIL(status, "cannot show '%s': %s", asked->path, record.message);
    }
    const char *name = bb_results_note_text(results, "", "experiment");
    const bb_experiment *experiment = bb_experiment_find(asked->experiments, name);
    BB_REQUIRE(strcmp(name, "bench") != 0, BB_IO,
               "cannot show '%s': a file of 'bitbudget bench', which prints its table when it "
               "measures; its datasets are those of docs/lab/performance.md, section 5",
               asked->path);
    BB_REQUIRE(experiment != NULL, BB_IO, "cannot show '%s': unknown experiment '%s'", asked->path,
               name);
    const char *title = bb_results_note_text(results, "", "title");
    BB_TRY(bb_text_add(&table, "%s: %s\n", name, title == NULL ? "" : title));
    BB_TRY(bb_table_write(experiment, results, asked->within, &table));
    if (experiment->report != NULL) {
        BB_TRY(experiment->report(results, &table));
    }
    (void)alarm(0); // who reads what is printed may take his time
    bb_text_print(bb_text_string(&table), stdout);
done:
    bb_text_release(&table);
    bb_results_destroy(&results);
    return status;
}

bb_status bb_command_show(const bb_options *options, const bb_experiment_table *experiments)
{
    request asked = {options->operands[0], options->within, experiments};
    return bb_isolation_run(options->operands[0], READING_SECONDS, show, &asked);
}

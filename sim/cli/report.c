// SPDX-License-Identifier: Apache-2.0
//
// bitbudget report: writes a result file or a sweep as one page. Files are read in a child process,
// because the HDF5 library can crash on damaged ones.
#include "sim/report/report.h"

#include "core/file.h"
#include "core/isolation.h"
#include "sim/cli/command.h"
#include "sim/cli/source.h"
#include "sim/run/study.h"

#include <string.h>
#include <unistd.h>

enum { READING_SECONDS = 60 };

typedef struct request {
    const bb_options *options;
    const bb_experiment_table *experiments;
    const bb_file_list *inputs;
} request;

static bb_status report(void *context)
{
    bb_status status = BB_OK;
    const request *job = context;
    const bb_options *options = job->options;
    bb_results *results = NULL;
    bb_text page = {0};
    BB_TRY(
        bb_status_prefix(bb_source_read(options, job->experiments, options->operands[0], &results),
                         "cannot report on '%s'", options->operands[0]));
    (void)alarm(0); // gnuplot has its own time limit
    const char *name = bb_results_note_text(results, "", "experiment");
    const bb_report_request wanted = {.results = results,
                                      .experiment = bb_experiment_find(job->experiments, name),
                                      .path = options->operands[0],
                                      .max_loss = options->max_loss,
                                      .inputs = job->inputs};
    if (options->output != NULL) {
        BB_TRY(bb_report_write(&wanted, &page));
        BB_TRY(bb_file_write(options->output, options->force, bb_text_string(&page), page.length));
    }
    if (options->picture.tex != NULL) {
        BB_TRY(bb_report_write_tex(&wanted, options->picture.tex, options->force));
    }
done:
    bb_text_release(&page);
    bb_results_destroy(&results);
    return status;
}

bb_status bb_command_report(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_file_list inputs = {0};
    request job = {options, experiments, &inputs};
    const char *output = options->output;
    const size_t length = output == NULL ? 0 : strlen(output);
    BB_REQUIRE(output != NULL || options->picture.tex != NULL, BB_INVALID,
               "report needs -o REPORT.html, --tex DIR or both");
    BB_REQUIRE(output == NULL || (length > 5 && strcmp(output + length - 5, ".html") == 0),
               BB_INVALID, "output '%s': the name must end in .html", output);
    BB_TRY(bb_source_inputs(options, &inputs));
    BB_TRY(output == NULL ? BB_OK : bb_file_check(output, false, options->force, 0.0, &inputs));
    BB_TRY(bb_isolation_run(options->operands[0], READING_SECONDS, report, &job));
    if (output != NULL) {
        bb_log_info("report: %s", output);
    }
    if (options->picture.tex != NULL) {
        bb_log_info("LaTeX: include %s/all.tex", options->picture.tex);
    }
done:
    bb_file_list_release(&inputs);
    return status;
}

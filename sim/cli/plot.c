// SPDX-License-Identifier: Apache-2.0
//
// bitbudget plot: draws a picture of a result file. Files are read, and pictures drawn, in a child
// process, because the HDF5 library can crash on damaged ones.
#include "sim/report/plot.h"

#include "core/isolation.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/cli/source.h"
#include "sim/config/study_file.h"
#include "sim/output/provenance.h"
#include "sim/report/gnuplot.h"
#include "sim/report/machine_table.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { READING_SECONDS = 60 };

static const double page_cm = 17.0;

typedef struct request {
    const bb_options *options;
    const bb_experiment_table *experiments;
    const bb_file_list *inputs;
} request;

static bb_status read_machines(const bb_options *options, const char *path, bb_results **out)
{
    bb_status status = BB_OK;
    const bb_study study = {.experiment = "machines", .title = "", .device = BB_DEVICE_CPU};
    BB_TRY(bb_results_create(out));
    BB_TRY(bb_provenance_begin(*out, NULL, &study, options->argument_count, options->arguments, 1));
    BB_TRY(bb_machine_table_read(path, *out));
done:
    return status;
}

// Finds a file or folder, or a shipped table of machines by name.
static bb_status find_source(const char *name, char **out)
{
    if (access(name, F_OK) == 0 || bb_study_file_find(name, out) != BB_OK) {
        return bb_memory_text(name, out);
    }
    return BB_OK;
}

static bb_status read_source(const request *job, bb_index operand, bb_results **out)
{
    bb_status status = BB_OK;
    const char *name = job->options->operands[operand];
    char *path = NULL;
    BB_TRY(find_source(name, &path));
    BB_TRY(bb_status_prefix(bb_study_file_has_machines(path)
                                ? read_machines(job->options, path, out)
                                : bb_source_read(job->options, job->experiments, name, out),
                            "cannot plot '%s'", name));
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status list_kinds(const bb_plot_scene *scene)
{
    bb_status status = BB_OK;
    bb_text list = {0};
    BB_TRY(bb_plot_list(scene, &list));
    (void)alarm(0);
    bb_text_print(bb_text_string(&list), stdout);
done:
    bb_text_release(&list);
    return status;
}

static bb_status draw(const bb_plot_scene *scene, const bb_options *options,
                      const bb_file_list *inputs)
{
    bb_status status = BB_OK;
    bb_figure figure = {.width_cm = page_cm, .height_cm = NAN};
    BB_TRY(bb_figure_format_of(options->output, &figure.format));
    if (options->size != NULL) {
        BB_TRY(bb_figure_size(options->size, &figure.width_cm, &figure.height_cm));
    }
    BB_TRY(bb_plot_draw(scene, options->picture.kind, &figure));
    (void)alarm(0); // gnuplot has its own time limit
    BB_TRY(
        bb_gnuplot_draw(&figure, options->output, options->picture.script, options->force, inputs));
done:
    bb_figure_release(&figure);
    return status;
}

static bb_status plot(void *context)
{
    bb_status status = BB_OK;
    const request *job = context;
    const bb_options *options = job->options;
    bb_results *results = NULL;
    bb_results *more[BB_PLOT_MOST_FILES] = {NULL};
    BB_TRY(read_source(job, 0, &results));
    for (bb_index i = 1; i < options->operand_count; ++i) {
        BB_TRY(read_source(job, i, &more[i - 1]));
    }
    const char *name = bb_results_note_text(results, "", "experiment");
    const bb_plot_scene scene = {.results = results,
                                 .experiment = bb_experiment_find(job->experiments, name),
                                 .x = options->picture.x,
                                 .y = options->picture.y,
                                 .pipeline = options->pipeline,
                                 .value = options->picture.value,
                                 .exposure = options->picture.exposure,
                                 .step = options->picture.step,
                                 .more = (const bb_results *const *)more,
                                 .more_count = (int)options->operand_count - 1};
    BB_TRY(options->list ? list_kinds(&scene) : draw(&scene, options, job->inputs));
done:
    for (int i = 0; i < BB_PLOT_MOST_FILES; ++i) {
        bb_results_destroy(&more[i]);
    }
    bb_results_destroy(&results);
    return status;
}

bb_status bb_command_plot(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_file_list inputs = {0};
    request job = {options, experiments, &inputs};
    bb_figure_format format = BB_FIGURE_PDF;
    double width = 0.0;
    double height = 0.0;
    BB_REQUIRE(!options->list || options->operand_count == 1, BB_INVALID,
               "--list accepts one file, got %td", options->operand_count);
    if (!options->list) {
        BB_REQUIRE(options->picture.kind != NULL && options->output != NULL, BB_INVALID,
                   "plot needs --kind KIND and -o FILE; 'bitbudget plot --list FILE' lists the "
                   "kinds");
        BB_TRY(bb_plot_check(options->picture.kind));
        BB_TRY(bb_figure_format_of(options->output, &format));
        if (options->size != NULL) {
            BB_TRY(bb_figure_size(options->size, &width, &height));
        }
    }
    BB_TRY(bb_source_inputs(options, &inputs));
    BB_TRY(bb_isolation_run(options->operands[0], READING_SECONDS, plot, &job));
    if (!options->list) {
        bb_log_info("picture: %s", options->output);
    }
done:
    bb_file_list_release(&inputs);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// bitbudget show: prints the answer and the table of result files. Files are read in a child
// process, because the HDF5 library can crash on damaged ones.
#include "core/isolation.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/cli/command.h"
#include "sim/cli/source.h"
#include "sim/output/cell.h"
#include "sim/output/grid.h"
#include "sim/output/grid_format.h"
#include "sim/output/reader.h"
#include "sim/output/summary.h"
#include "sim/run/study.h"
#include "sim/sweep/swept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READING_SECONDS = 60 };

enum format { TABLE, CSV, JSON, MARKDOWN, LATEX, FORMATS };

static const char *const format_names[FORMATS] = {"table", "csv", "json", "md", "latex"};
static const char *const measure_names[BB_FRONT_MEASURES] = {"bytes", "time", "joules", "cost"};

typedef struct request {
    const bb_options *options;
    const bb_experiment_table *experiments;
    enum format format;
    bb_answer_question question;
} request;

// Results to show, with one source for each file.
typedef struct exhibit {
    bb_grid_source *sources; // [count]
    bb_results **results;    // [count]
    bb_front *fronts;        // [count]
    bb_index count;
    bb_grid grid;
} exhibit;

static void release_exhibit(exhibit *shown)
{
    bb_grid_release(&shown->grid);
    for (bb_index i = 0; i < shown->count; ++i) {
        if (shown->sources != NULL) {
            BB_RELEASE(&shown->sources[i].label);
        }
        if (shown->fronts != NULL) {
            bb_front_release(&shown->fronts[i]);
        }
        if (shown->results != NULL) {
            bb_results_destroy(&shown->results[i]);
        }
    }
    BB_RELEASE(&shown->sources);
    BB_RELEASE(&shown->fronts);
    BB_RELEASE(&shown->results);
}

// Index of the word given for an option, 0 if the option is not given.
static bb_status choose_word(const char *option, const char *word, const char *const *words,
                             int count, int *out)
{
    bb_status status = BB_OK;
    bb_text list = {0};
    bb_suggestion near = {.word = word};
    *out = 0;
    for (int i = 0; i < count && word != NULL; ++i) {
        if (strcmp(words[i], word) == 0) {
            *out = i;
            goto done;
        }
        bb_suggestion_add(&near, words[i]);
        BB_TRY(bb_text_add(&list, "%s%s", i == 0 ? "" : ", ", words[i]));
    }
    BB_REQUIRE(word == NULL, BB_INVALID, "--%s %s: use one of %s%s", option, word,
               bb_text_string(&list), bb_suggestion_text(&near));
done:
    bb_text_release(&list);
    return status;
}

static bb_status read_source(const request *job, bb_index i, exhibit *shown)
{
    bb_status status = BB_OK;
    const char *path = job->options->operands[i];
    BB_TRY(bb_status_prefix(bb_reader_read(path, &shown->results[i]), "cannot show '%s'", path));
    const char *name = bb_results_note_text(shown->results[i], "", "experiment");
    const bb_experiment *experiment = bb_experiment_find(job->experiments, name);
    BB_REQUIRE(strcmp(name, "bench") != 0, BB_IO,
               "cannot show '%s': files of 'bitbudget-bench' are printed only when measured; "
               "docs/lab/performance.md, section 5, describes their datasets",
               path);
    BB_REQUIRE(experiment != NULL, BB_IO, "cannot show '%s': unknown experiment '%s'", path, name);
    BB_REQUIRE(
        i == 0 || experiment == shown->sources[0].experiment, BB_INVALID,
        "'%s' is a result of %s, '%s' of %s; losses of different experiments cannot be compared",
        path, name, job->options->operands[0], shown->sources[0].experiment->name);
    BB_TRY(bb_front_find(experiment, shown->results[i], &shown->fronts[i]));
    shown->sources[i].experiment = experiment;
    shown->sources[i].results = shown->results[i];
    shown->sources[i].front = &shown->fronts[i];
    shown->sources[i].path = path;
done:
    return status;
}

static bb_status read_sources(const request *job, exhibit *shown)
{
    bb_status status = BB_OK;
    const bb_index count = job->options->operand_count;
    shown->count = count;
    BB_TRY(BB_ZEROED(count, &shown->sources));
    BB_TRY(BB_ZEROED(count, &shown->results));
    BB_TRY(BB_ZEROED(count, &shown->fronts));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(read_source(job, i, shown));
        BB_TRY(bb_grid_find_label((const char *const *)job->options->operands, count, i,
                                  &shown->sources[i].label));
    }
done:
    return status;
}

static bb_status fill_grid(const request *job, exhibit *shown)
{
    bb_status status = BB_OK;
    const bb_options *options = job->options;
    const bool for_people = job->format != CSV && job->format != JSON;
    if (options->pipeline != NULL) {
        BB_TRY(bb_grid_check_names(options->pipeline, shown->sources, shown->count));
    }
    for (bb_index i = 0; i < shown->count; ++i) {
        BB_TRY(bb_grid_add_rows(&shown->grid, shown->results[i], options->pipeline));
    }
    for (bb_index i = 0; i < shown->count; ++i) {
        const bb_grid_source *source = &shown->sources[i];
        if (options->show.columns != NULL) {
            BB_TRY(bb_grid_add_named(&shown->grid, source, options->show.columns));
        } else if (options->show.full) {
            BB_TRY(bb_grid_add_full(&shown->grid, source));
        } else {
            BB_TRY(bb_grid_add_brief(&shown->grid, source, for_people));
        }
    }
done:
    return status;
}

static bb_status write_title(const bb_grid_source *source, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    const char *title = bb_results_note_text(source->results, "", "title");
    BB_TRY(bb_text_add(&line, "%s: %s", source->experiment->name, title == NULL ? "" : title));
    BB_TRY(bb_cell_add_lines(bb_text_string(&line), BB_SUMMARY_WIDTH, out));
done:
    bb_text_release(&line);
    return status;
}

// Writes every column of every pipeline, file by file, without a width limit.
static bb_status write_full(const request *job, const exhibit *shown, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < shown->count; ++i) {
        const bb_grid_source *source = &shown->sources[i];
        if (shown->count > 1) {
            BB_TRY(bb_text_add(out, "%s%s\n", i == 0 ? "" : "\n", source->path));
        }
        BB_TRY(write_title(source, out));
        BB_TRY(bb_summary_write_full(source->experiment, source->results, job->question.max_loss,
                                     out));
        BB_TRY(bb_summary_add_front(source->experiment, source->results, source->front, out));
        BB_TRY(bb_text_add(out, "\n"));
        if (source->experiment->report != NULL) {
            BB_TRY(source->experiment->report(source->results, out));
        }
    }
done:
    return status;
}

static bb_status write_table(const request *job, exhibit *shown, bb_text *out)
{
    bb_status status = BB_OK;
    if (job->options->show.full && job->options->pipeline == NULL) {
        BB_TRY(write_full(job, shown, out));
        goto done;
    }
    BB_TRY(fill_grid(job, shown));
    if (shown->count == 1) {
        BB_TRY(write_title(&shown->sources[0], out));
    }
    BB_TRY(bb_summary_write_grid(&shown->grid, shown->sources, shown->count, &job->question, out));
done:
    return status;
}

// Writes a grid in a form other than the table; `answers` [count] are those of the sources.
static bb_status write_form(enum format format, const bb_grid *grid, const bb_grid_source *sources,
                            const char *const *answers, bb_index count, bb_text *out)
{
    return format == CSV        ? bb_grid_format_csv(grid, out)
           : format == JSON     ? bb_grid_format_json(grid, sources, answers, count, out)
           : format == MARKDOWN ? bb_grid_format_markdown(grid, out)
                                : bb_grid_format_latex(grid, out);
}

static bb_status write_exhibit(const request *job, exhibit *shown, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text *answers = NULL;
    const char **texts = NULL;
    if (job->format == TABLE) {
        BB_TRY(write_table(job, shown, out));
        goto done;
    }
    BB_TRY(fill_grid(job, shown));
    BB_TRY(BB_ZEROED(shown->count, &answers));
    BB_TRY(BB_ZEROED(shown->count, &texts));
    for (bb_index i = 0; i < shown->count; ++i) {
        const bb_grid_source *source = &shown->sources[i];
        BB_TRY(bb_summary_add_answer(source->experiment, source->results, source->front,
                                     &job->question, &answers[i]));
        texts[i] = bb_text_string(&answers[i]);
    }
    BB_TRY(write_form(job->format, &shown->grid, shown->sources, texts, shown->count, out));
done:
    for (bb_index i = 0; answers != NULL && i < shown->count; ++i) {
        bb_text_release(&answers[i]);
    }
    BB_RELEASE(&answers);
    BB_RELEASE(&texts);
    return status;
}

// Writes the answer of a collection or sweep folder and one row for each choice.
static bb_status write_sweep(const request *job, const bb_results *results, bb_text *out)
{
    bb_status status = BB_OK;
    bb_swept swept = {0};
    bb_grid grid = {0};
    bb_text answer = {0};
    const bb_options *options = job->options;
    const bool for_people = job->format != CSV && job->format != JSON;
    const char *name = bb_results_note_text(results, "", "experiment");
    const bb_experiment *experiment = bb_experiment_find(job->experiments, name);
    BB_REQUIRE(options->operand_count == 1, BB_INVALID, "'%s' is a sweep; show it separately",
               options->operands[0]);
    BB_REQUIRE(!options->show.full && options->show.columns == NULL && options->pipeline == NULL &&
                   options->show.by == NULL,
               BB_INVALID,
               "--full, --columns, --pipeline and --by need a single run; for a sweep the choices "
               "are shown");
    BB_TRY(bb_swept_read(results, experiment, &swept));
    BB_TRY(bb_swept_fill_grid(&swept, for_people, &grid));
    BB_TRY(bb_swept_answer(&swept, job->question.max_loss, &answer));
    const bb_grid_source source = {.experiment = experiment,
                                   .results = results,
                                   .path = options->operands[0],
                                   .label = (char[]){""}};
    const char *const answers[] = {bb_text_string(&answer)};
    if (job->format != TABLE) {
        BB_TRY(write_form(job->format, &grid, &source, answers, 1, out));
        goto done;
    }
    BB_TRY(write_title(&source, out));
    BB_TRY(bb_cell_add_lines(answers[0], BB_SUMMARY_WIDTH, out));
    BB_TRY(bb_summary_write_table(&grid, out));
    BB_TRY(bb_text_add(out,
                       "* safe, and on the Pareto front of worst loss and bytes\nmedian, p99, "
                       "worst: %s over the conditions where it succeeded\n",
                       experiment->loss_name));
done:
    bb_text_release(&answer);
    bb_grid_release(&grid);
    bb_swept_release(&swept);
    return status;
}

// Reads the results of the first operand if it is a sweep; NULL for other files.
static bb_status read_sweep(const request *job, bb_results **out)
{
    bb_status status = BB_OK;
    const char *path = job->options->operands[0];
    bool sweep = false;
    status = bb_source_is_sweep(path, &sweep);
    if (status == BB_OK && sweep) {
        status = bb_source_read(job->options, job->experiments, path, out);
    }
    BB_TRY(bb_status_prefix(status, "cannot show '%s'", path));
done:
    return status;
}

static bb_status show(void *context)
{
    bb_status status = BB_OK;
    const request *job = context;
    exhibit shown = {0};
    bb_results *sweep = NULL;
    bb_text text = {0};
    // Disables file locks, which fail on many cluster file systems; a file under its final name is
    // complete.
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    BB_TRY(read_sweep(job, &sweep));
    if (sweep != NULL) {
        BB_TRY(write_sweep(job, sweep, &text));
    } else {
        BB_TRY(read_sources(job, &shown));
        BB_TRY(write_exhibit(job, &shown, &text));
    }
    (void)alarm(0); // printing to a slow reader may exceed the reading time limit
    bb_text_print(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    bb_results_destroy(&sweep);
    release_exhibit(&shown);
    return status;
}

bb_status bb_command_show(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    int format = 0;
    int measure = 0;
    BB_TRY(choose_word("format", options->show.format, format_names, FORMATS, &format));
    BB_TRY(choose_word("by", options->show.by, measure_names, BB_FRONT_MEASURES, &measure));
    BB_REQUIRE(options->show.by == NULL || !isnan(options->max_loss), BB_INVALID,
               "--by needs a limit of the loss; set --max-loss");
    BB_REQUIRE(!options->show.full || options->show.columns == NULL, BB_INVALID,
               "--full and --columns are both set; set one of them");
    request job = {
        options, experiments, (enum format)format, {options->max_loss, (bb_front_measure)measure}};
    BB_TRY(bb_isolation_run(options->operands[0],
                            (unsigned)options->operand_count * READING_SECONDS, show, &job));
done:
    return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "core/file.h"
#include "sim/output/grid.h"
#include "sim/output/grid_format.h"
#include "sim/output/summary.h"
#include "sim/report/gnuplot.h"
#include "sim/report/html.h"
#include "sim/report/plot.h"
#include "sim/report/swept.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct page {
    const bb_report_request *request;
    const bb_results *results;
    bool is_sweep;
    bool has_table;
    bb_swept swept; // data of a sweep
    bb_front front; // data of a run
    bb_grid_source source;
    bb_grid grid;
} page;

static void release(page *made)
{
    bb_grid_release(&made->grid);
    bb_swept_release(&made->swept);
    bb_front_release(&made->front);
}

static bb_status prepare(const bb_report_request *request, page *out)
{
    bb_status status = BB_OK;
    out->request = request;
    out->results = request->results;
    out->is_sweep = bb_swept_is(request->results);
    out->has_table = request->experiment != NULL &&
                     (out->is_sweep || bb_results_find(request->results, "results/status") != NULL);
    if (out->is_sweep) {
        BB_TRY(bb_swept_read(request->results, request->experiment, &out->swept));
        BB_TRY(bb_swept_fill_grid(&out->swept, true, &out->grid));
    } else if (out->has_table) {
        BB_TRY(bb_front_find(request->experiment, request->results, &out->front));
        out->source = (bb_grid_source){.experiment = request->experiment,
                                       .results = request->results,
                                       .front = &out->front,
                                       .path = request->path,
                                       .label = (char[]){""}};
        BB_TRY(bb_grid_add_rows(&out->grid, request->results, NULL));
        BB_TRY(bb_grid_add_full(&out->grid, &out->source));
    }
done:
    return status;
}

static const char *note_of(const page *made, const char *group, const char *name)
{
    const char *text = bb_results_note_text(made->results, group, name);
    return text == NULL ? "" : text;
}

enum { PATH_BYTES = 4096, PREFIX_BYTES = 32 };

static const double wide_cm = 17.0;
static const double narrow_cm = 8.5;

static bb_status draw(const page *made, const char *kind, double width_cm, bb_figure *figure)
{
    const bb_plot_scene scene = {.results = made->results, .experiment = made->request->experiment};
    *figure = (bb_figure){.format = BB_FIGURE_SVG, .width_cm = width_cm, .height_cm = NAN};
    return bb_plot_draw(&scene, kind, figure);
}

static bb_status add_picture(const page *made, const char *kind, double width_cm, bb_text *out)
{
    bb_status status = BB_OK;
    bb_figure figure = {.format = BB_FIGURE_SVG};
    bb_text svg = {0};
    char prefix[PREFIX_BYTES];
    const bool wide = width_cm == wide_cm;
    (void)snprintf(prefix, sizeof prefix, "%.20s-%c-", kind, wide ? 'w' : 'n');
    BB_TRY(draw(made, kind, width_cm, &figure));
    BB_TRY(bb_gnuplot_render(&figure, &svg));
    BB_TRY(bb_html_add_picture(bb_text_string(&svg), prefix, wide ? "wide" : "narrow", kind,
                               bb_text_string(&figure.hovers), out));
done:
    bb_text_release(&svg);
    bb_figure_release(&figure);
    return status;
}

// Adds a caption: the description of a kind without its options.
static bb_status add_caption(const char *kind, const char *shows, bb_text *out)
{
    bb_status status = BB_OK;
    const int length = (int)strcspn(shows, ";");
    BB_TRY(bb_text_add(out, "<figcaption><b>%s</b>: %.*s.</figcaption>\n", kind, length, shows));
done:
    return status;
}

static bb_status add_figure(const page *made, const char *kind, const char *shows, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text pictures = {0};
    bb_status_record record;
    BB_TRY(bb_text_add(out, "<figure id=\"%s\">\n", kind));
    status = add_picture(made, kind, wide_cm, &pictures);
    if (status == BB_OK) {
        status = add_picture(made, kind, narrow_cm, &pictures);
    }
    BB_REQUIRE(status != BB_MEMORY, BB_MEMORY, "host memory exhausted while drawing a picture");
    if (status == BB_OK) {
        BB_TRY(bb_text_add_bytes(out, pictures.data, pictures.length));
    } else {
        bb_status_save(&record);
        BB_TRY(bb_html_add_paragraph(record.message, out));
    }
    BB_TRY(add_caption(kind, shows, out));
    BB_TRY(bb_text_add(out, "</figure>\n"));
done:
    bb_text_release(&pictures);
    return status;
}

static bb_status write_pictures(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_plot_scene scene = {.results = made->results, .experiment = made->request->experiment};
    const char *kind = "";
    const char *shows = NULL;
    bool any = false;
    if (!bb_gnuplot_is_there()) {
        return bb_html_add_paragraph("Pictures need gnuplot, which was not available when this "
                                     "page was written (Debian, Ubuntu: gnuplot-nox).",
                                     out);
    }
    for (int k = 0; kind != NULL; ++k) {
        if (bb_plot_supports(&scene, k, &kind, &shows)) {
            BB_TRY(add_figure(made, kind, shows, out));
            any = true;
        }
    }
    BB_TRY(any ? BB_OK : bb_html_add_paragraph("No picture is available for this file.", out));
done:
    return status;
}

static bb_status write_figure_tex(const page *made, const char *kind, const char *folder,
                                  bool force)
{
    bb_status status = BB_OK;
    bb_figure figure = {.format = BB_FIGURE_TEX};
    char path[PATH_BYTES];
    const bb_plot_scene scene = {.results = made->results, .experiment = made->request->experiment};
    figure = (bb_figure){.format = BB_FIGURE_TEX, .width_cm = narrow_cm, .height_cm = NAN};
    BB_TRY(bb_plot_draw(&scene, kind, &figure));
    (void)snprintf(path, sizeof path, "%s/%s.tex", folder, kind);
    BB_TRY(bb_gnuplot_draw(&figure, path, false, force, made->request->inputs));
done:
    bb_figure_release(&figure);
    return status;
}

static bb_status write_text(const page *made, const char *folder, const char *name, bool force,
                            const bb_text *text)
{
    bb_status status = BB_OK;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    BB_TRY(bb_file_check(path, false, force, 0.0, made->request->inputs));
    BB_TRY(bb_file_write(path, force, bb_text_string(text), text->length));
done:
    return status;
}

bb_status bb_report_write_tex(const bb_report_request *request, const char *folder, bool force)
{
    bb_status status = BB_OK;
    page made = {.request = NULL};
    bb_grid brief = {0};
    bb_text table = {0};
    bb_text document = {0};
    const bb_plot_scene scene = {.results = request->results, .experiment = request->experiment};
    const char *kind = "";
    const char *shows = NULL;
    BB_REQUIRE(mkdir(folder, 0777) == 0 || errno == EEXIST, BB_IO, "cannot create folder '%s': %s",
               folder, strerror(errno));
    BB_TRY(prepare(request, &made));
    BB_TRY(bb_text_add(&document, "%% \\input this in a document with graphicx and color\n"));
    if (made.has_table) {
        // A printed column is too narrow for all columns of a run.
        if (!made.is_sweep) {
            BB_TRY(bb_grid_add_rows(&brief, request->results, NULL));
            BB_TRY(bb_grid_add_brief(&brief, &made.source, true));
        }
        BB_TRY(bb_grid_format_latex(made.is_sweep ? &made.grid : &brief, &table));
        BB_TRY(write_text(&made, folder, "table.tex", force, &table));
        BB_TRY(bb_text_add(
            &document,
            "\\begin{table}\\centering\\footnotesize\\tabcolsep=4pt\\input{table}\\end{table}\n"));
    }
    for (int k = 0; kind != NULL; ++k) {
        if (bb_plot_supports(&scene, k, &kind, &shows)) {
            BB_TRY(write_figure_tex(&made, kind, folder, force));
            BB_TRY(bb_text_add(&document,
                               "\\begin{figure}\\centering\\input{%s}\\caption{%.*s.}"
                               "\\end{figure}\n",
                               kind, (int)strcspn(shows, ";"), shows));
        }
    }
    BB_TRY(write_text(&made, folder, "all.tex", force, &document));
done:
    bb_grid_release(&brief);
    bb_text_release(&table);
    bb_text_release(&document);
    release(&made);
    return status;
}

enum { LINE_BYTES = 400 };

static bb_status list_run_failures(const page *made, bb_index *count, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const headings[] = {"pipeline", "status", "why"};
    const bb_dataset *names =
        made->has_table ? bb_results_find(made->results, "results/pipeline") : NULL;
    const bb_dataset *ends = bb_results_find(made->results, "results/status");
    const bb_dataset *details = bb_results_find(made->results, "results/status_detail");
    for (bb_index p = 0; names != NULL && ends != NULL && p < names->count; ++p) {
        if (strcmp(ends->texts[p], "ok") != 0) {
            const char *const cells[] = {names->texts[p], ends->texts[p],
                                         details == NULL ? "" : details->texts[p]};
            if ((*count)++ == 0) {
                BB_TRY(bb_html_open_table(headings, 3, out));
            }
            BB_TRY(bb_html_add_row(cells, 3, out));
        }
    }
done:
    return status;
}

// Lists every choice that failed, with the first condition of failure.
static bb_status list_sweep_failures(const page *made, bb_index *count, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const headings[] = {"pipeline", "failed", "first failure at", "why"};
    const bb_swept *swept = &made->swept;
    const bb_dataset *ends = bb_results_find(made->results, "results/status");
    const bb_index pipelines = swept->pipelines->count;
    bb_text place = {0};
    char counts[LINE_BYTES];
    for (bb_index p = 0; p < pipelines; ++p) {
        bb_index failed = 0;
        bb_index first = -1;
        for (bb_index i = 0; i < swept->point_count; ++i) {
            const bool done = strcmp(bb_swept_state(swept, i), "done") == 0;
            const bool lost = done && !bb_swept_finished(swept, i, p);
            first = lost && first < 0 ? i : first;
            failed += lost;
        }
        if (failed > 0) {
            bb_text_release(&place);
            BB_TRY(bb_swept_describe(swept, first, &place));
            (void)snprintf(counts, sizeof counts, "%td of %td points", failed, swept->point_count);
            const bool has_status = ends != NULL && ends->count == swept->point_count * pipelines;
            const char *const cells[] = {swept->pipelines->texts[p], counts, bb_text_string(&place),
                                         has_status ? ends->texts[first * pipelines + p] : ""};
            if ((*count)++ == 0) {
                BB_TRY(bb_html_open_table(headings, 4, out));
            }
            BB_TRY(bb_html_add_row(cells, 4, out));
        }
    }
done:
    bb_text_release(&place);
    return status;
}

// Counts points without results by class of failure.
static bb_status count_points(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_swept *swept = &made->swept;
    BB_TRY(bb_text_add(&text, "Points without results:"));
    bb_index total = 0;
    for (bb_index i = 0; i < swept->point_count; ++i) {
        const char *outcome = bb_swept_state(swept, i);
        bb_index same = 0;
        bool before = strcmp(outcome, "done") == 0;
        for (bb_index j = 0; j < i && !before; ++j) {
            before = strcmp(bb_swept_state(swept, j), outcome) == 0;
        }
        for (bb_index j = i; j < swept->point_count && !before; ++j) {
            same += strcmp(bb_swept_state(swept, j), outcome) == 0;
        }
        if (same > 0) {
            BB_TRY(bb_text_add(&text, "%s %td (%s)", total == 0 ? "" : ",", same, outcome));
            total += same;
        }
    }
    const char *partial = bb_swept_partial(made->results);
    BB_TRY(bb_text_add(&text, "%s of %td%s.", total == 0 ? " none" : "", swept->point_count,
                       partial == NULL ? "" : " that were run"));
    if (partial != NULL) {
        BB_TRY(bb_text_add(&text, " Partial result: %s.", partial));
    }
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_failures(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    if (made->is_sweep) {
        BB_TRY(count_points(made, out));
        BB_TRY(list_sweep_failures(made, &count, out));
    } else {
        BB_TRY(list_run_failures(made, &count, out));
    }
    BB_TRY(count > 0 ? bb_html_close_table(out)
                     : bb_html_add_paragraph(
                           made->is_sweep ? "All pipelines succeeded at every point with results."
                                          : "All pipelines succeeded.",
                           out));
done:
    return status;
}

static bb_status list_keys(const bb_swept *swept, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const headings[] = {"key", "values", "from", "to", "unit"};
    bb_text low = {0};
    bb_text high = {0};
    char count[LINE_BYTES];
    BB_TRY(bb_html_open_table(headings, 5, out));
    for (bb_index k = 0; k < swept->key_count; ++k) {
        const bb_swept_key *key = &swept->keys[k];
        bb_text_release(&low);
        bb_text_release(&high);
        BB_TRY(bb_swept_add_value(key, 0, &low));
        BB_TRY(bb_swept_add_value(key, key->count - 1, &high));
        (void)snprintf(count, sizeof count, "%s%td", key->ranges ? "over " : "",
                       key->ranges ? (bb_index)BB_SWEPT_MOST_VALUES : key->count);
        const char *const cells[] = {key->path, count, bb_text_string(&low), bb_text_string(&high),
                                     strcmp(key->unit, "1") == 0 ? "" : key->unit};
        BB_TRY(bb_html_add_row(cells, 5, out));
    }
    BB_TRY(bb_html_close_table(out));
done:
    bb_text_release(&low);
    bb_text_release(&high);
    return status;
}

static bb_status write_conditions(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    if (made->is_sweep) {
        BB_TRY(list_keys(&made->swept, out));
        BB_TRY(
            bb_html_add_paragraph("Keys of a pipeline are choices; all others are conditions. Keys "
                                  "that are not listed have the values of the configuration below.",
                                  out));
    } else {
        BB_TRY(bb_html_add_paragraph("One run, under the conditions of the configuration below. "
                                     "Use a sweep to study other conditions.",
                                     out));
    }
done:
    return status;
}

static bb_status write_answer(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_answer_question question = {made->request->max_loss, BB_FRONT_BYTES};
    if (made->is_sweep) {
        BB_TRY(bb_swept_answer(&made->swept, made->request->max_loss, &text));
    } else if (made->has_table) {
        BB_TRY(bb_summary_add_answer(made->request->experiment, made->results, &made->front,
                                     &question, &text));
    } else {
        BB_TRY(bb_text_add(&text, "This is a file of %s, which has no pipelines to choose from.",
                           note_of(made, "", "experiment")));
    }
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
    bb_text_release(&text);
    BB_TRY(bb_text_add(&text, "%s; %s, %.10s; results %s.", note_of(made, "", "experiment"),
                       note_of(made, "", "source"), note_of(made, "provenance", "start_utc"),
                       note_of(made, "", "results_digest")));
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_table(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    if (!made->has_table) {
        return bb_html_add_paragraph("This file has no table of pipelines.", out);
    }
    BB_TRY(bb_html_add_grid(&made->grid, made->is_sweep ? "choice" : "pipeline", out));
    BB_TRY(bb_text_add(&text,
                       made->is_sweep
                           ? "Median, 99th percentile and worst: %s over the conditions where a "
                             "choice succeeded. Bold: safe, and on the Pareto front of worst loss "
                             "and bytes among safe ones. Click a heading to sort."
                           : "Loss: %s. Bold: on the Pareto front of loss and bytes. Click a "
                             "heading to sort; hover over it for the meaning of the column.",
                       made->request->experiment->loss_name));
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_config(const page *made, bb_text *out)
{
    const bb_dataset *config = bb_results_find(made->results, "provenance/config_resolved");
    return config != NULL && config->is_text && config->count == 1
               ? bb_html_add_code(config->texts[0], out)
               : bb_html_add_paragraph("This file has no configuration.", out);
}

static bb_status write_provenance(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const headings[] = {"what", "value"};
    char number[32];
    BB_TRY(bb_html_open_table(headings, 2, out));
    for (bb_index i = 0; i < bb_results_note_count(made->results); ++i) {
        const bb_attribute *note = bb_results_attribute(made->results, i);
        const bool ours = strcmp(note->owner, "provenance") == 0 || note->owner[0] == '\0';
        if (ours && strcmp(note->name, "sweep_plan") != 0) {
            (void)snprintf(number, sizeof number, "%.17g", note->number);
            const char *const cells[] = {note->name, note->text == NULL ? number : note->text};
            BB_TRY(bb_html_add_row(cells, 2, out));
        }
    }
    const bb_dataset *files = bb_results_find(made->results, "provenance/input_file");
    const bb_dataset *digests = bb_results_find(made->results, "provenance/input_digest");
    for (bb_index i = 0; files != NULL && digests != NULL && i < files->count; ++i) {
        const char *const cells[] = {files->texts[i], digests->texts[i]};
        BB_TRY(bb_html_add_row(cells, 2, out));
    }
    BB_TRY(bb_html_close_table(out));
done:
    return status;
}

static bb_status write_repeat(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const char *path = made->request->path;
    const char *plan = note_of(made, "provenance", "sweep_plan");
    if (!made->is_sweep) {
        BB_TRY(bb_text_add(&text, "bitbudget rerun %s --verify", path));
        BB_TRY(bb_html_add_paragraph("From the result file alone; exit code 0 if everything except "
                                     "times is bit-identical, on the same kind of machine:",
                                     out));
        BB_TRY(bb_html_add_code(bb_text_string(&text), out));
        goto done;
    }
    BB_TRY(bb_html_add_paragraph("With the plan below as plan.json in a folder DIR, and its input "
                                 "files at their original paths:",
                                 out));
    BB_TRY(bb_html_add_code("bitbudget sweep run DIR\nbitbudget sweep collect DIR -o all.h5", out));
    BB_TRY(bb_html_add_code(plan, out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_citation(const page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_text_add(&text,
                       "bitbudget maintainers: bitbudget: numerical precision of real-time optical "
                       "systems. Software, Apache-2.0; %s, commit %s, results %s.",
                       note_of(made, "", "source"), note_of(made, "provenance", "commit"),
                       note_of(made, "", "results_digest")));
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
    BB_TRY(bb_html_add_paragraph("CITATION.cff of the program contains this for reference "
                                 "managers, with the publications on which the studies are based.",
                                 out));
done:
    bb_text_release(&text);
    return status;
}

static const struct {
    const char *id, *heading;
    bb_status (*write)(const page *made, bb_text *out);
} sections[] = {
    {"answer", "Answer", write_answer},
    {"table", "Results", write_table},
    {"pictures", "Pictures", write_pictures},
    {"failures", "Failures", write_failures},
    {"conditions", "Conditions", write_conditions},
    {"config", "Resolved configuration", write_config},
    {"provenance", "Provenance", write_provenance},
    {"repeat", "How to repeat this result", write_repeat},
    {"cite", "How to cite this result", write_citation},
};

bb_status bb_report_write(const bb_report_request *request, bb_text *out)
{
    bb_status status = BB_OK;
    page made = {.request = NULL};
    BB_TRY(prepare(request, &made));
    const char *title = note_of(&made, "", "title");
    BB_TRY(bb_html_begin(title[0] == '\0' ? request->path : title, out));
    for (size_t s = 0; s < sizeof sections / sizeof *sections; ++s) {
        BB_TRY(bb_html_open_section(sections[s].id, sections[s].heading, out));
        BB_TRY(sections[s].write(&made, out));
        BB_TRY(bb_html_close_section(out));
    }
    BB_TRY(bb_html_end(out));
done:
    release(&made);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// The pictures of a report: inline on its page, each in two widths, and as files for LaTeX.
#include "core/memory.h"
#include "sim/output/file.h"
#include "sim/output/grid_format.h"
#include "sim/report/gnuplot.h"
#include "sim/report/html.h"
#include "sim/report/plot.h"
#include "sim/report/report_page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, PREFIX_BYTES = 32 };

static const double wide_cm = 17.0;
static const double narrow_cm = 8.5;

static bb_status draw(const bb_report_page *made, const char *kind, double width_cm,
                      bb_figure *figure)
{
    const bb_plot_scene scene = {.results = made->results, .experiment = made->request->experiment};
    *figure = (bb_figure){.format = BB_FIGURE_SVG, .width_cm = width_cm, .height_cm = NAN};
    return bb_plot_draw(&scene, kind, figure);
}

static bb_status add_picture(const bb_report_page *made, const char *kind, double width_cm,
                             bb_text *out)
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

// A sentence of what a kind shows: without what options it takes.
static bb_status add_caption(const char *kind, const char *shows, bb_text *out)
{
    bb_status status = BB_OK;
    const int length = (int)strcspn(shows, ";");
    BB_TRY(bb_text_add(out, "<figcaption><b>%s</b>: %.*s.</figcaption>\n", kind, length, shows));
done:
    return status;
}

static bb_status add_figure(const bb_report_page *made, const char *kind, const char *shows,
                            bb_text *out)
{
    bb_status status = BB_OK;
    bb_text pictures = {0};
    bb_status_record record;
    BB_TRY(bb_text_add(out, "<figure id=\"%s\">\n", kind));
    status = add_picture(made, kind, wide_cm, &pictures);
    if (status == BB_OK) {
        status = add_picture(made, kind, narrow_cm, &pictures);
    }
    BB_REQUIRE(status != BB_MEMORY, BB_MEMORY, "host memory exhausted: a picture");
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

bb_status bb_report_page_pictures(const bb_report_page *made, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_plot_scene scene = {.results = made->results, .experiment = made->request->experiment};
    const char *kind = "";
    const char *shows = NULL;
    bool any = false;
    if (!bb_gnuplot_is_there()) {
        return bb_html_add_paragraph("Pictures need gnuplot, which was not there when this page "
                                     "was made (Debian, Ubuntu: gnuplot-nox).",
                                     out);
    }
    for (int k = 0; kind != NULL; ++k) {
        if (bb_plot_gives(&scene, k, &kind, &shows)) {
            BB_TRY(add_figure(made, kind, shows, out));
            any = true;
        }
    }
    BB_TRY(any ? BB_OK : bb_html_add_paragraph("This file gives no picture.", out));
done:
    return status;
}

static bb_status write_figure_tex(const bb_report_page *made, const char *kind, const char *folder,
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

static bb_status write_text(const bb_report_page *made, const char *folder, const char *name,
                            bool force, const bb_text *text)
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
    bb_report_page made = {.request = NULL};
    bb_grid brief = {0};
    bb_text table = {0};
    bb_text document = {0};
    const bb_plot_scene scene = {.results = request->results, .experiment = request->experiment};
    const char *kind = "";
    const char *shows = NULL;
    BB_REQUIRE(mkdir(folder, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               folder, strerror(errno));
    BB_TRY(bb_report_page_prepare(request, &made));
    BB_TRY(bb_text_add(&document, "%% \\input this in a document with graphicx and color\n"));
    if (made.has_table) {
        // A column of paper has no room for every column of a run.
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
        if (bb_plot_gives(&scene, k, &kind, &shows)) {
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
    bb_report_page_release(&made);
    return status;
}

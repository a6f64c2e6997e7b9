// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "sim/output/answer.h"
#include "sim/report/choice_grid.h"
#include "sim/report/html.h"
#include "sim/report/report_page.h"

#include <stdio.h>
#include <string.h>

void bb_report_page_release(bb_report_page *made)
{
    bb_grid_release(&made->grid);
    bb_swept_release(&made->swept);
    bb_front_release(&made->front);
}

bb_status bb_report_page_prepare(const bb_report_request *request, bb_report_page *out)
{
    bb_status status = BB_OK;
    out->request = request;
    out->results = request->results;
    out->is_sweep = bb_swept_is(request->results);
    out->has_table = request->experiment != NULL &&
                     (out->is_sweep || bb_results_find(request->results, "results/status") != NULL);
    if (out->is_sweep) {
        BB_TRY(bb_swept_read(request->results, request->experiment, &out->swept));
        BB_TRY(bb_choice_grid_fill(&out->swept, true, &out->grid));
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

const char *bb_report_page_note(const bb_report_page *made, const char *group, const char *name)
{
    const char *text = bb_results_note_text(made->results, group, name);
    return text == NULL ? "" : text;
}

static bb_status write_answer(const bb_report_page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_answer_question question = {made->request->within, BB_FRONT_BYTES};
    if (made->is_sweep) {
        BB_TRY(bb_swept_answer(&made->swept, made->request->within, &text));
    } else if (made->has_table) {
        BB_TRY(bb_answer_write(made->request->experiment, made->results, &made->front, &question,
                               &text));
    } else {
        BB_TRY(bb_text_add(&text, "A file of %s, which has no pipelines to choose from.",
                           bb_report_page_note(made, "", "experiment")));
    }
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
    bb_text_release(&text);
    BB_TRY(bb_text_add(&text, "%s; %s, %.10s; results %s.",
                       bb_report_page_note(made, "", "experiment"),
                       bb_report_page_note(made, "", "source"),
                       bb_report_page_note(made, "provenance", "start_utc"),
                       bb_report_page_note(made, "", "results_digest")));
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_table(const bb_report_page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    if (!made->has_table) {
        return bb_html_add_paragraph("This file has no table of pipelines.", out);
    }
    BB_TRY(bb_html_add_grid(&made->grid, made->is_sweep ? "choice" : "pipeline", out));
    BB_TRY(bb_text_add(&text,
                       made->is_sweep
                           ? "Median, 99th percentile and worst: %s over the conditions that a "
                             "choice finished. Bold: safe, and no other safe one has less of worst "
                             "price and bytes. A heading sorts."
                           : "Price: %s. Bold: on the Pareto front of price and bytes. A heading "
                             "sorts; its text under the pointer says what a column is.",
                       made->request->experiment->price_name));
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_config(const bb_report_page *made, bb_text *out)
{
    const bb_dataset *config = bb_results_find(made->results, "provenance/config_resolved");
    return config != NULL && config->is_text && config->count == 1
               ? bb_html_add_code(config->texts[0], out)
               : bb_html_add_paragraph("This file has no configuration.", out);
}

static bb_status write_provenance(const bb_report_page *made, bb_text *out)
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

static bb_status write_repeat(const bb_report_page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const char *path = made->request->path;
    const char *plan = bb_report_page_note(made, "provenance", "sweep_plan");
    if (!made->is_sweep) {
        BB_TRY(bb_text_add(&text, "bitbudget rerun %s --verify", path));
        BB_TRY(bb_html_add_paragraph("From the result file alone; exit code 0 where all but times "
                                     "is equal to the bit, on the same kind of machine:",
                                     out));
        BB_TRY(bb_html_add_code(bb_text_string(&text), out));
        goto done;
    }
    BB_TRY(
        bb_html_add_paragraph("The plan below, as plan.json in a folder DIR, with the files that "
                              "it names where they were:",
                              out));
    BB_TRY(bb_html_add_code("bitbudget sweep run DIR\nbitbudget sweep collect DIR -o all.h5", out));
    BB_TRY(bb_html_add_code(plan, out));
done:
    bb_text_release(&text);
    return status;
}

static bb_status write_citation(const bb_report_page *made, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    BB_TRY(bb_text_add(&text,
                       "bitbudget maintainers: bitbudget: how few bits can a real-time optical "
                       "system live on? Software, Apache-2.0; %s, commit %s, results %s.",
                       bb_report_page_note(made, "", "source"),
                       bb_report_page_note(made, "provenance", "commit"),
                       bb_report_page_note(made, "", "results_digest")));
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
    BB_TRY(
        bb_html_add_paragraph("CITATION.cff of the program has this for reference managers, with "
                              "the studies that it starts from.",
                              out));
done:
    bb_text_release(&text);
    return status;
}

static const struct {
    const char *id, *heading;
    bb_status (*write)(const bb_report_page *made, bb_text *out);
} sections[] = {
    {"answer", "The answer", write_answer},
    {"table", "Results", write_table},
    {"pictures", "Pictures", bb_report_page_pictures},
    {"failures", "What failed", bb_report_page_failures},
    {"conditions", "Conditions", bb_report_page_conditions},
    {"config", "Configuration, resolved", write_config},
    {"provenance", "Provenance", write_provenance},
    {"repeat", "How to repeat it", write_repeat},
    {"cite", "How to cite it", write_citation},
};

bb_status bb_report_write(const bb_report_request *request, bb_text *out)
{
    bb_status status = BB_OK;
    bb_report_page made = {.request = NULL};
    BB_TRY(bb_report_page_prepare(request, &made));
    const char *title = bb_report_page_note(&made, "", "title");
    BB_TRY(bb_html_begin(title[0] == '\0' ? request->path : title, out));
    for (size_t s = 0; s < sizeof sections / sizeof *sections; ++s) {
        BB_TRY(bb_html_open_section(sections[s].id, sections[s].heading, out));
        BB_TRY(sections[s].write(&made, out));
        BB_TRY(bb_html_close_section(out));
    }
    BB_TRY(bb_html_end(out));
done:
    bb_report_page_release(&made);
    return status;
}

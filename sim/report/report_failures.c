// SPDX-License-Identifier: Apache-2.0
//
// What a report says of failures and of the conditions under which they came.
#include "core/memory.h"
#include "sim/report/html.h"
#include "sim/report/report_page.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 400 };

static bb_status list_run_failures(const bb_report_page *made, bb_index *count, bb_text *out)
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

// A line a choice that failed, with the first condition where it did.
static bb_status list_sweep_failures(const bb_report_page *made, bb_index *count, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const headings[] = {"pipeline", "failed", "first at", "why"};
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
            const bool told = ends != NULL && ends->count == swept->point_count * pipelines;
            const char *const cells[] = {swept->pipelines->texts[p], counts, bb_text_string(&place),
                                         told ? ends->texts[first * pipelines + p] : ""};
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

// Points without results, by why: as many classes as there are words.
static bb_status count_points(const bb_report_page *made, bb_text *out)
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
        BB_TRY(bb_text_add(&text, " Partial: %s.", partial));
    }
    BB_TRY(bb_html_add_paragraph(bb_text_string(&text), out));
done:
    bb_text_release(&text);
    return status;
}

bb_status bb_report_page_failures(const bb_report_page *made, bb_text *out)
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
                     : bb_html_add_paragraph(made->is_sweep ? "Every pipeline finished at every "
                                                              "point that has results."
                                                            : "Every pipeline finished.",
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

bb_status bb_report_page_conditions(const bb_report_page *made, bb_text *out)
{
    bb_status status = BB_OK;
    if (made->is_sweep) {
        BB_TRY(list_keys(&made->swept, out));
        BB_TRY(bb_html_add_paragraph("Keys of a pipeline are chosen; all others are conditions. "
                                     "What is not listed is as in the configuration below.",
                                     out));
    } else {
        BB_TRY(bb_html_add_paragraph("One run, at the conditions of the configuration below; a "
                                     "sweep says how a choice holds over others.",
                                     out));
    }
done:
    return status;
}

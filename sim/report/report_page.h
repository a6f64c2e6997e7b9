// SPDX-License-Identifier: Apache-2.0
//
// What the parts of a page share. Its pictures stand in report_pictures.c, what failed and under
// which conditions in report_failures.c, the rest and the order in report.c.
#ifndef BB_SIM_REPORT_REPORT_PAGE_H
#define BB_SIM_REPORT_REPORT_PAGE_H

#include "sim/output/grid.h"
#include "sim/report/report.h"
#include "sim/report/swept.h"

typedef struct bb_report_page {
    const bb_report_request *request;
    const bb_results *results;
    bool is_sweep;
    bool has_table;
    bb_swept swept; // of a sweep
    bb_front front; // of a run
    bb_grid_source source;
    bb_grid grid;
} bb_report_page;

/// Reads what all parts need. `*out` is zero-initialised; release it in any case. Errors: BB_IO,
/// BB_MEMORY.
BB_CHECKED bb_status bb_report_page_prepare(const bb_report_request *request, bb_report_page *out);
void bb_report_page_release(bb_report_page *made);

/// A text among a group's attributes, "" where there is none.
const char *bb_report_page_note(const bb_report_page *made, const char *group, const char *name);

/// Append a part as HTML. Errors: BB_MEMORY; of pictures also those of gnuplot.
BB_CHECKED bb_status bb_report_page_pictures(const bb_report_page *made, bb_text *out);
BB_CHECKED bb_status bb_report_page_failures(const bb_report_page *made, bb_text *out);
BB_CHECKED bb_status bb_report_page_conditions(const bb_report_page *made, bb_text *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A result as one page: a table of sections, each a heading and a function that writes it.
#ifndef BB_SIM_REPORT_REPORT_H
#define BB_SIM_REPORT_REPORT_H

#include "core/file.h"
#include "core/text.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// What a report is made of.
typedef struct bb_report_request {
    const bb_results *results;       ///< all groups
    const bb_experiment *experiment; ///< NULL of a file that is none's
    const char *path;                ///< of the file or folder, as a reader may type it
    double max_loss;                 ///< of the answer, NaN: none
    const bb_file_list *inputs;      ///< files that no output may replace, NULL: none
} bb_report_request;

/// Appends the page. Pictures are left out, with a sentence, where there is no gnuplot; one that
/// cannot be drawn says why in its place. Errors: BB_INVALID, BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_report_write(const bb_report_request *request, bb_text *out);

/// Writes the table and the pictures for a paper into `folder`, which is made, its last part,
/// unless it is there: table.tex, KIND.tex with KIND.pdf, and all.tex, which reads them. Errors:
/// also BB_UNSUPPORTED (no gnuplot), BB_INVALID (a name of an input).
BB_CHECKED bb_status bb_report_write_tex(const bb_report_request *request, const char *folder,
                                         bool force);

#endif

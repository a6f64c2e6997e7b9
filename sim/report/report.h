// SPDX-License-Identifier: Apache-2.0
//
// Report of a result as one page: a table of sections, each with a heading and a function that
// writes it.
#ifndef BB_SIM_REPORT_REPORT_H
#define BB_SIM_REPORT_REPORT_H

#include "core/file.h"
#include "core/text.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// Input of a report.
typedef struct bb_report_request {
    const bb_results *results;       ///< all groups
    const bb_experiment *experiment; ///< NULL for a file without experiment
    const char *path;                ///< path of the file or folder, as typed by a reader
    double max_loss;                 ///< limit for the answer, NaN: none
    const bb_file_list *inputs;      ///< files that no output may replace, NULL: none
} bb_report_request;

/// Appends the page. Without gnuplot a sentence replaces the pictures; a picture that cannot be
/// drawn is replaced by the reason. Errors: BB_INVALID, BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_report_write(const bb_report_request *request, bb_text *out);

/// Writes the table and the pictures for a paper into `folder`, whose last component is created if
/// needed: table.tex, KIND.tex with KIND.pdf, and all.tex, which includes them. Errors: also
/// BB_UNSUPPORTED (no gnuplot), BB_INVALID (a name of an input).
BB_CHECKED bb_status bb_report_write_tex(const bb_report_request *request, const char *folder,
                                         bool force);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Pictures by gnuplot, which runs as a separate process, without a shell, in a separate folder.
#ifndef BB_SIM_REPORT_GNUPLOT_H
#define BB_SIM_REPORT_GNUPLOT_H

#include "core/file.h"
#include "sim/report/figure.h"

#include <stdbool.h>

/// Draws a figure to `path`, whose name appears in no script; a .tex file is accompanied by the
/// .pdf of its lines. With `scripts`, the figure's data and script are written next to it as
/// NAME.dat and NAME.gp; the script derives its file names from its own. Files are complete or
/// absent, and replaced only with `force`; none of `inputs` (NULL: none) is replaced. Errors:
/// BB_INVALID (an input), BB_UNSUPPORTED (no gnuplot), BB_IO (an output; gnuplot failed, with its
/// message), BB_MEMORY.
BB_CHECKED bb_status bb_gnuplot_draw(const bb_figure *figure, const char *path, bool scripts,
                                     bool force, const bb_file_list *inputs);

/// Sets the time limit of a picture, for tests; 0 restores one minute.
void bb_gnuplot_set_limit(double seconds);

/// True if gnuplot is available.
bool bb_gnuplot_is_there(void);

/// Draws a figure in SVG and appends its text. Errors: as above.
BB_CHECKED bb_status bb_gnuplot_render(const bb_figure *figure, bb_text *out);

#endif

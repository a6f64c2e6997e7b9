// SPDX-License-Identifier: Apache-2.0
//
// Pictures by gnuplot, which runs as a process of its own, without a shell, in a folder of its own.
#ifndef BB_SIM_REPORT_GNUPLOT_H
#define BB_SIM_REPORT_GNUPLOT_H

#include "core/file.h"
#include "sim/report/figure.h"

#include <stdbool.h>

/// Draws a figure into `path`, whose name no script contains; a .tex comes with the .pdf of its
/// lines beside it. With `scripts`, the figure's data and script stay beside it too, as NAME.dat
/// and NAME.gp, which draws under the name that it has. Files are whole or absent, and replaced
/// only with `force`; none of `inputs` (NULL: none) is replaced. Errors: BB_INVALID (an input),
/// BB_UNSUPPORTED (no gnuplot), BB_IO (an output; gnuplot failed, with its message), BB_MEMORY.
BB_CHECKED bb_status bb_gnuplot_draw(const bb_figure *figure, const char *path, bool scripts,
                                     bool force, const bb_file_list *inputs);

/// For tests: how long a picture may take; 0 is again a minute.
void bb_gnuplot_set_limit(double seconds);

/// Whether there is a gnuplot to draw with.
bool bb_gnuplot_is_there(void);

/// Draws a figure in SVG and appends its text. Errors: as above.
BB_CHECKED bb_status bb_gnuplot_render(const bb_figure *figure, bb_text *out);

#endif

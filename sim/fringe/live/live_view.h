// SPDX-License-Identifier: Apache-2.0
//
// Live page for any browser, without a server: a folder with index.html, the wavefront in
// wavefront.png and its numbers in state.js. Each file is written to a temporary name and renamed,
// so that readers never see a partial file. The page loads state.js five times a second and shows a
// new picture once it is loaded, without flicker.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_VIEW_H
#define BB_SIM_FRINGE_LIVE_LIVE_VIEW_H

#include "core/status.h"

#include <stdbool.h>

/// Numbers shown next to the picture; NaN: omitted.
typedef struct bb_live_facts {
    const char *state; ///< "running", "no frames for 3 s", "ended"
    const char *pipeline;
    bb_index frame; ///< number of phases so far
    double rate_hz, p50_ms, p99_ms, max_ms, dropped, rejected_share, wrong;
} bb_live_facts;

typedef struct bb_live_view bb_live_view;

/// Creates the folder if it does not exist, and the page. `title` is copied; `rad_per_nm` converts
/// phases to nm. Errors: BB_IO, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_live_view_open(const char *folder, const char *title, double rad_per_nm,
                                       bb_live_view **out);
void bb_live_view_close(bb_live_view **view);

/// True if a tenth of a second has passed since the last picture.
bool bb_live_view_is_due(const bb_live_view *view);

/// Updates picture and numbers. `phase` [rows][columns] in rad, NaN without data; NULL: the picture
/// stays. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_live_view_show(bb_live_view *view, bb_index columns, bb_index rows,
                                       const double *phase, const bb_live_facts *facts);

/// Encodes values [rows][columns] as a PNG with colours from `low` to `high`; values outside get
/// the end colours. Maps above 1024 pixels a side are thinned by an integer stride. Errors:
/// BB_MEMORY. Owner of `*png` [bytes]: the caller.
BB_CHECKED bb_status bb_live_view_draw(bb_index columns, bb_index rows, const double *values,
                                       double low, double high, unsigned char **png,
                                       bb_index *bytes);

#endif

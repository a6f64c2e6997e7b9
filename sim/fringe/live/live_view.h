// SPDX-License-Identifier: Apache-2.0
//
// A folder that any browser looks at without a server: index.html, the wavefront as wavefront.png
// and its numbers in state.js. Each is written beside and renamed, so that none is ever seen in
// part; the page asks for state.js five times a second and shows a new picture once it is loaded,
// without a flicker.
#ifndef BB_SIM_FRINGE_LIVE_LIVE_VIEW_H
#define BB_SIM_FRINGE_LIVE_LIVE_VIEW_H

#include "core/status.h"

#include <stdbool.h>

/// What stands beside the picture; NaN: left out.
typedef struct bb_live_facts {
    const char *state; ///< "running", "no frames for 3 s", "ended"
    const char *pipeline;
    bb_index frame; ///< phases so far
    double rate_hz, p50_ms, p99_ms, max_ms, dropped, rejected_share, wrong;
} bb_live_facts;

typedef struct bb_live_view bb_live_view;

/// Makes the folder where there is none, and the page. `title` is copied; `rad_per_nm` says what a
/// phase is in nm. Errors: BB_IO, BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_live_view_open(const char *folder, const char *title, double rad_per_nm,
                                       bb_live_view **out);
void bb_live_view_close(bb_live_view **view);

/// Whether a tenth of a second is over since the last picture.
bool bb_live_view_is_due(const bb_live_view *view);

/// Replaces picture and numbers. `phase` [rows][columns] in rad, NaN without data; NULL: the
/// picture stays. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_live_view_show(bb_live_view *view, bb_index columns, bb_index rows,
                                       const double *phase, const bb_live_facts *facts);

/// Draws values [rows][columns] as a PNG from `low` to `high`; beyond them the colours at the ends.
/// A map of over 1024 pixels a side is drawn by every second, third ... pixel. Errors: BB_MEMORY.
/// Owner of
/// `*png` [bytes]: the caller.
BB_CHECKED bb_status bb_live_view_draw(bb_index columns, bb_index rows, const double *values,
                                       double low, double high, unsigned char **png,
                                       bb_index *bytes);

#endif

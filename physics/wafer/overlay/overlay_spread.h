// SPDX-License-Identifier: Apache-2.0
//
// How overlay errors differ from wafer to wafer of a lot.
//
// e_wk is an error at point k of wafer w, W wafers of n points each:
//     mean_sigma    standard deviation (W - 1) over wafers of the wafer's mean, m_w = mean_k e_wk
//     point_sigma   sqrt(mean_k s_k^2), s_k the standard deviation (W - 1) over wafers of e_wk
//     point_max     the largest s_k
//     m3s           |mean| + 3 sigma (W n - 1) of the errors of all wafers together
// Of the vector: s_k^2 and the square of mean_sigma are the sums over x and y; m3s is that of the
// lengths. What all wafers have in common is in m3s alone: point_sigma >= mean_sigma, and a lot of
// equal wafers has 0 in all but m3s.
#ifndef BB_PHYSICS_WAFER_OVERLAY_OVERLAY_SPREAD_H
#define BB_PHYSICS_WAFER_OVERLAY_OVERLAY_SPREAD_H

#include "core/status.h"

/// nm. NaN where there are too few: of one wafer all but m3s, without points everything.
typedef struct bb_overlay_spread_axis {
    double mean_sigma;
    double point_sigma;
    double point_max;
    double m3s;
} bb_overlay_spread_axis;

typedef struct bb_overlay_spread {
    bb_overlay_spread_axis x;
    bb_overlay_spread_axis y;
    bb_overlay_spread_axis vector;
} bb_overlay_spread;

/// Spread in nm of errors in m, dx and dy [wafers][points]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_overlay_spread_of(bb_index wafers, bb_index points, const double *dx,
                                          const double *dy, bb_overlay_spread *out);

#endif

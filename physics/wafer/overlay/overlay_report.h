// SPDX-License-Identifier: Apache-2.0
//
// Overlay report of one placement error: statistics of the wafer, of each field and of parts of the
// wafer, and the non-correctable error (NCE) after each correction model.
//
// The error is any of
//     raw heating overlay       u_ref                                (nothing is corrected)
//     feed-forward residual     u_ref - the correction in force (physics/wafer/overlay/delivery.h)
//     numerical                 u_candidate - u_ref                  (precision and codec only)
// as its dose-weighted mean over the dwell at the scored points. The headline is max(M3S_x, M3S_y),
// M3S = |mean| + 3 sigma. Edge fields are those not completely inside the usable radius. The mean
// square is split by models: removed[m] is the fraction that model m removes beyond the previous
// ones, and 1 - their sum remains; it is not negative if every field has enough points for its own
// fit, as the models are then nested.
#ifndef BB_PHYSICS_WAFER_OVERLAY_OVERLAY_REPORT_H
#define BB_PHYSICS_WAFER_OVERLAY_OVERLAY_REPORT_H

#include "physics/wafer/overlay/overlay.h"

#include <stdbool.h>

/// A field among the scored points; the points of a field are adjacent, in the fields' order.
typedef struct bb_overlay_field {
    bb_index count; ///< number of its points
    bool full;      ///< completely inside the usable radius
    bool up;        ///< scanned towards greater y
} bb_overlay_field;

typedef enum bb_overlay_part {
    BB_OVERLAY_CENTRE, ///< full fields
    BB_OVERLAY_EDGE,   ///< the others
    BB_OVERLAY_UP,
    BB_OVERLAY_DOWN,
    BB_OVERLAY_PARTS
} bb_overlay_part;

/// Names of the parts: "centre", "edge", "up", "down".
extern const char *const bb_overlay_part_names[BB_OVERLAY_PARTS];

/// Returns whether a field is in a part.
bool bb_overlay_field_in(const bb_overlay_field *field, bb_overlay_part part);

/// Read-only to users; nm. NaN where there are too few points.
typedef struct bb_overlay_report {
    bb_index field_count;
    bb_overlay_statistics wafer;
    bb_overlay_statistics *fields; ///< [field_count]
    bb_overlay_statistics parts[BB_OVERLAY_PARTS];
    double headline;                              ///< headline of the wafer
    double *field_headlines;                      ///< [field_count]
    double worst;                                 ///< of the fields' headlines, ignoring NaN
    double median;                                ///< of the fields' headlines, ignoring NaN
    bb_index worst_field;                         ///< index of the worst field, -1: none
    bb_overlay_fit fits[BB_OVERLAY_MODELS];       ///< by bb_overlay_model
    bb_overlay_statistics nce[BB_OVERLAY_MODELS]; ///< after each; for raw, the wafer's
    double removed[BB_OVERLAY_MODELS];            ///< 0 for raw
    bb_overlay_fit *corrections;                  ///< [field_count] six parameters of each field
} bb_overlay_report;

/// Reports on `points` in `fields` [field_count], whose counts must add up to points->count.
/// Errors: BB_INVALID (they do not), BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_overlay_report_create(const bb_overlay_points *points, bb_index field_count,
                                              const bb_overlay_field *fields,
                                              bb_overlay_report **out);
void bb_overlay_report_destroy(bb_overlay_report **report);

// Spread of overlay errors over the wafers of a lot: e_wk is an error at point k of wafer w, W
// wafers of n points each:
//     mean_sigma    standard deviation (W - 1) over wafers of the wafer's mean, m_w = mean_k e_wk
//     point_sigma   sqrt(mean_k s_k^2), s_k the standard deviation (W - 1) over wafers of e_wk
//     point_max     the largest s_k
//     m3s           |mean| + 3 sigma (W n - 1) of the errors of all wafers together
// For the vector: s_k^2 and the square of mean_sigma are the sums over x and y; m3s is that of the
// lengths. The part common to all wafers is in m3s only: point_sigma >= mean_sigma, and a lot of
// equal wafers has 0 in all but m3s.

/// nm. NaN if there are too few: for one wafer all but m3s, without points everything.
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

/// Computes the spread in nm of errors in m, dx and dy [wafers][points]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_overlay_spread_of(bb_index wafers, bb_index points, const double *dx,
                                          const double *dy, bb_overlay_spread *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What an overlay engineer asks of one error of placement: of the wafer, of each field, of parts of
// the wafer, and what is left after each model of corrections (the non-correctable error, NCE).
//
// The error is any of
//     raw heating overlay       u_ref                                (nothing is corrected)
//     feed-forward residual     u_ref - the correction in force (physics/wafer/overlay/delivery.h)
//     numerical                 u_candidate - u_ref                  (precision and codec alone)
// as its dose-weighted mean over the dwell at the scored points. The headline is max(M3S_x, M3S_y),
// M3S = |mean| + 3 sigma. Edge fields are those that are not wholly inside the usable radius. The
// mean square splits by models: removed[m] is the part that model m removes beyond the ones before
// it, and 1 - sum of them is left; it is not negative where every field has the points for its own
// fit, as the models are nested then.
#ifndef BB_PHYSICS_WAFER_OVERLAY_OVERLAY_REPORT_H
#define BB_PHYSICS_WAFER_OVERLAY_OVERLAY_REPORT_H

#include "physics/wafer/overlay/overlay.h"

#include <stdbool.h>

/// A field among the scored points; those of a field stand together, in the fields' order.
typedef struct bb_overlay_field {
    bb_index count; ///< its points
    bool full;      ///< wholly inside the usable radius
    bool up;        ///< scanned to greater y
} bb_overlay_field;

typedef enum bb_overlay_part {
    BB_OVERLAY_CENTRE, ///< full fields
    BB_OVERLAY_EDGE,   ///< the others
    BB_OVERLAY_UP,
    BB_OVERLAY_DOWN,
    BB_OVERLAY_PARTS
} bb_overlay_part;

/// "centre", "edge", "up", "down".
extern const char *const bb_overlay_part_names[BB_OVERLAY_PARTS];

/// Whether a field is in a part.
bool bb_overlay_field_in(const bb_overlay_field *field, bb_overlay_part part);

/// Read-only to users; nm. NaN where too few points are.
typedef struct bb_overlay_report {
    bb_index field_count;
    bb_overlay_statistics wafer;
    bb_overlay_statistics *fields; ///< [field_count]
    bb_overlay_statistics parts[BB_OVERLAY_PARTS];
    double headline;                              ///< of the wafer
    double *field_headlines;                      ///< [field_count]
    double worst;                                 ///< of the fields' headlines, NaN left out
    double median;                                ///< of the fields' headlines, NaN left out
    bb_index worst_field;                         ///< index of the worst field, -1: none
    bb_overlay_fit fits[BB_OVERLAY_MODELS];       ///< by bb_overlay_model
    bb_overlay_statistics nce[BB_OVERLAY_MODELS]; ///< after each; of raw the wafer's
    double removed[BB_OVERLAY_MODELS];            ///< of raw 0
    bb_overlay_fit *corrections;                  ///< [field_count] six parameters of each field
} bb_overlay_report;

/// Reports on `points` in `fields` [field_count], whose counts sum to points->count. Errors:
/// BB_INVALID (they do not), BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_overlay_report_create(const bb_overlay_points *points, bb_index field_count,
                                              const bb_overlay_field *fields,
                                              bb_overlay_report **out);
void bb_overlay_report_destroy(bb_overlay_report **report);

#endif

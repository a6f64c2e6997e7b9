// SPDX-License-Identifier: Apache-2.0
//
// What one field and axis adds to an evaluation. Fields are dealt over the processes of a team
// (core/team.h), and what they gave is added in their order by all: so the sums are those of one
// process, which adds the same parts.
#ifndef BB_SIM_WAFER_PASS_WAFER_PART_H
#define BB_SIM_WAFER_PASS_WAFER_PART_H

#include "sim/wafer/wafer_evaluation.h"

/// The numbers of an evaluation that grow from field to field.
typedef struct bb_wafer_part {
    bb_outcome outcome;
    double flops, solve_seconds, live_values; ///< live_values NaN: the pipeline does not hold
    bb_coding_report coding;                  ///< of the axis
    bb_certificate_tally certificate;         ///< of the axis
    double *squares; ///< [2 wafer_count] squared errors and norms of the wafers
} bb_wafer_part;

/// Takes those numbers of an evaluation and an axis out and leaves zeros, so that what follows is a
/// part by itself; of one that does not hold they stay. Errors: BB_MEMORY. Release it.
BB_CHECKED bb_status bb_wafer_part_take(bb_wafer_evaluation *evaluation, int axis,
                                        bb_wafer_part *out);
void bb_wafer_part_release(bb_wafer_part *part);

/// Adds a part, or takes all from an evaluation of `points` points a wafer where one does not hold.
void bb_wafer_part_add(const bb_wafer_part *part, int axis, bb_index points,
                       bb_wafer_evaluation *evaluation);

/// The points of a field and axis of an evaluation.
typedef struct bb_wafer_span {
    int axis;
    bb_index first, count; ///< points
} bb_wafer_span;

/// A part and the displacements of its points go from process `root` to all, who have made `part`
/// by bb_wafer_part_take. Collective. Errors: the team's.
BB_CHECKED bb_status bb_wafer_part_share(int root, const bb_wafer_span *span,
                                         bb_wafer_evaluation *evaluation, bb_wafer_part *part);

#endif

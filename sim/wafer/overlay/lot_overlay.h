// SPDX-License-Identifier: Apache-2.0
//
// The overlay of every wafer of a lot in /results, over the axis `wafer`, and how it differs from
// wafer to wafer (physics/wafer/overlay/overlay_spread.h): where a study scores all wafers of
// several.
#ifndef BB_SIM_WAFER_OVERLAY_LOT_OVERLAY_H
#define BB_SIM_WAFER_OVERLAY_LOT_OVERLAY_H

#include "sim/wafer/overlay/wafer_overlay.h"

/// Doubles that it writes, of `points` scored points a wafer. 0 for a single scored wafer.
double bb_lot_overlay_values(double wafers, double pipelines, double axes, double points);

/// Takes the average over the scored wafers out of the displacements and residuals of a pipeline's
/// draws, each its own, at every axis and point, where the study asks for it (metrology.lot_mean):
/// what a correction per lot takes away. Deviations and errors of u stay. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_lot_overlay_centre(const bb_wafer_study *study,
                                           const bb_wafer_problem *problem,
                                           bb_wafer_evaluation *evaluation);

extern const bb_output_table bb_lot_overlay_outputs, bb_lot_overlay_wafers,
    bb_lot_overlay_displacements, bb_lot_overlay_spreads;

/// Writes them; nothing for a single scored wafer. The axes pipeline, error, direction, axis and
/// point are there already. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_lot_overlay_publish(const bb_wafer_overlay *overlay, bb_results *results);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a wafer study's numbers leave out and about how much: sentences that `check` prints and a
// run warns with. Sizes are estimates from closed forms, before anything is computed.
#ifndef BB_SIM_WAFER_WAFER_CAUTIONS_H
#define BB_SIM_WAFER_WAFER_CAUTIONS_H

#include "sim/plan.h"
#include "sim/wafer/wafer_study.h"

/// Of scored points within two l_s of the rim, where rows of the closed-form kernel lack the edge.
typedef struct bb_wafer_edge_loss {
    bb_index points; ///< scored ones of all scored fields
    bb_index near;   ///< of them within two l_s
    double reach;    ///< two l_s, m
    double radius;   ///< of the outermost, m
    double part;     ///< of the displacement in the plane at the outermost, bb_disc_edge_part
    double height;   ///< of the height there
} bb_wafer_edge_loss;

/// Errors: those of the study's layout, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_edge_loss_find(const bb_wafer_study *study, bb_wafer_edge_loss *out);

/// Lines of `check`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_cautions_plan(const bb_wafer_study *study, bb_plan *plan);

/// Warnings of a run. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_cautions_warn(const bb_wafer_study *study);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Prices of the draws of a wafer study's pipelines (sim/pipelines/draws.h), as the result table
// takes them: the larger overlay error of x and y, or the residual where corrections come late and
// it is larger.
#ifndef BB_SIM_WAFER_OVERLAY_WAFER_DRAWS_H
#define BB_SIM_WAFER_OVERLAY_WAFER_DRAWS_H

#include "sim/wafer/overlay/wafer_overlay.h"

/// Prices of the draws of one evaluation, the plain one first, into `draws`, which starts empty:
/// nm, of the study's axes x and y. `evaluations` of the overlay, and its points, are not used.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_draws_find(const bb_wafer_overlay *overlay,
                                         const bb_wafer_evaluation *evaluation, bb_draws *draws);

/// Fills the draws of every evaluation [pipelines of the study], the plain one first. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_draws_price(const bb_wafer_overlay *overlay,
                                          bb_wafer_evaluation *evaluations);

#endif

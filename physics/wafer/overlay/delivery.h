// SPDX-License-Identifier: Apache-2.0
//
// Delivery of feed-forward corrections to the machine, and the residual displacement.
//
// The correction of light step k, computed for the slit window of that step, is available
// late_steps steps later; a missed one never is. In light step n the newest available one is in
// force:
//     k(n) = max {k : k + late_steps <= n, k not missed}
// Before the first, and so at the start of every field, nothing is corrected: the machine starts a
// field from zero. Corrections are setpoints of the stages in the frame of the slit: the window of
// step k is applied to the rows of the window of step n, point by point. The residual is
//     e_n = u_ref,n - u_model,k(n) at the slit points,
// and its dose-weighted mean and deviation over the dwell follow as for u
// (physics/wafer/overlay/dwell.h). Stages follow setpoints exactly, for any spatial content of the
// window.
//
// Missed steps are those in the list, in every field, and random ones: a uniform number on (0, 1)
// below missed_fraction at the address (seed, BB_STREAM_MISSED_DEADLINE, exposure * light_steps +
// step), the same for all axes.
#ifndef BB_PHYSICS_WAFER_OVERLAY_DELIVERY_H
#define BB_PHYSICS_WAFER_OVERLAY_DELIVERY_H

#include "core/schema.h"
#include "physics/wafer/overlay/dwell.h"

/// Keys of `delivery:` of a pipeline. All zero: every correction arrives on time.
typedef struct bb_delivery_config {
    bb_index late_steps;
    double missed_fraction;
    bb_list missed_steps; ///< bb_index: light steps of every field, from 0
    bb_index seed;
} bb_delivery_config;

extern const bb_schema bb_delivery_schema;

/// Returns whether all corrections arrive in their own step.
bool bb_delivery_on_time(const bb_delivery_config *config);

/// Returns whether the correction of light step `step` of exposure `exposure` is missed.
bool bb_delivery_misses(const bb_delivery_config *config, bb_index exposure, bb_index light_steps,
                        bb_index step);

/// Finds the step whose correction is in force in each light step of a field, in_force
/// [light_steps]; -1 if none is.
void bb_delivery_plan(const bb_delivery_config *config, bb_index exposure, bb_index light_steps,
                      bb_index *in_force);

/// Fills a reset dwell with the residual of a field: `truth` and `model`
/// [light_steps][window_points] are u_ref and the corrections computed for each step. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_delivery_residual(bb_index light_steps, const bb_index *in_force,
                                          const double *truth, const double *model,
                                          bb_dwell *dwell);

#endif

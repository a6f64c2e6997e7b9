// SPDX-License-Identifier: Apache-2.0
//
// An exposure as a period of a control loop (solvers/loop/control_loop.h): nodes that get heat in
// each light step, windows of the slit, and dose-weighted displacements of the scored points.
#ifndef BB_SIM_WAFER_REALTIME_EXPOSURE_PERIOD_H
#define BB_SIM_WAFER_REALTIME_EXPOSURE_PERIOD_H

#include "physics/wafer/wafer_problem.h"
#include "solvers/loop/control_loop.h"

/// A period, and what it borrows while it is added.
typedef struct bb_exposure_period {
    bb_loop_period period;
    bb_exposure *exposure;
    double *energy;       ///< [covered nodes] of a step
    int32_t *input_begin; ///< [light_steps + 1]
    int32_t *input_where;
    double *input;
    int32_t *window; ///< [light_steps]
    int32_t *output_begin;
    bb_loop_output *output;
} bb_exposure_period;

/// Of exposure `field`, which is number `scored` of the scored ones and multiplied with `set`, or,
/// with `scored` -1, has heat alone. Errors: BB_MEMORY. Release with bb_exposure_period_release.
BB_CHECKED bb_status bb_exposure_period_make(const bb_wafer_problem *problem, bb_index field,
                                             bb_index scored, bb_index set,
                                             bb_exposure_period *out);
void bb_exposure_period_release(bb_exposure_period *data);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The temperatures that the pipelines of a wafer study share: the wafer is heated exposure by
// exposure in fp64, and the input of every scored light step is kept.
#ifndef BB_SIM_WAFER_WAFER_HEATING_H
#define BB_SIM_WAFER_WAFER_HEATING_H

#include "physics/wafer/wafer_problem.h"
#include "sim/output/results.h"

typedef struct bb_wafer_heating {
    bb_index exposed_count; ///< fields heated: up to the last scored one
    bb_index light_steps;
    bb_index cell_count;
    double *inputs;         ///< [scored][light_steps][cell_count], K: mean over each light step
    bb_ledger *ledgers;     ///< [exposed_count] balance since the first exposure, at each one's end
    double *imbalance;      ///< [exposed_count] relative, of the same
    double *clipped_joules; ///< [exposed_count] dose that fell beside wafer and ring
} bb_wafer_heating;

/// Runs the thermal model over all exposures up to the last scored one. Errors: BB_MEMORY,
/// BB_INVALID. Release with bb_wafer_heating_release.
BB_CHECKED bb_status bb_wafer_heating_run(const bb_wafer_problem *problem, bb_wafer_heating *out);

/// Writes /energy: the ledger at the end of each exposure.
BB_CHECKED bb_status bb_wafer_heating_publish(const bb_wafer_heating *heating, bb_results *results);
void bb_wafer_heating_release(bb_wafer_heating *heating);

/// Input of light step `step` of scored field `index`: [cell_count], K.
const double *bb_wafer_heating_input(const bb_wafer_heating *heating, bb_index index,
                                     bb_index step);

#endif

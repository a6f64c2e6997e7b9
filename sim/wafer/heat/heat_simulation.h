// SPDX-License-Identifier: Apache-2.0
//
// The heat of a wafer problem step by step: dose into wafer and ring, hood over the wafer, ledger.
#ifndef BB_SIM_WAFER_HEAT_HEAT_SIMULATION_H
#define BB_SIM_WAFER_HEAT_HEAT_SIMULATION_H

#include "physics/wafer/wafer_problem.h"
#include "solvers/step/stepper.h"

/// Zero-initialise, open, release. Read-only to users.
typedef struct bb_heat_simulation {
    const bb_wafer_problem *problem; ///< borrowed
    bb_stepper *stepper;
    bb_ledger ledger; ///< since the start
    double clipped;   ///< dose of the running exposure beside wafer and ring, J
    bb_index field;   ///< running exposure
    bb_exposure *wafer_exposure;
    bb_exposure *ring_exposure; ///< NULL without a ring
    bb_index covered;           ///< unknowns that the running exposure heats
    int32_t *where;             ///< [covered]
    double *energy;             ///< [covered] J in the last light part
    int32_t *hood_node;         ///< [hood most] NULL without a hood
    double *hood_exchange;      ///< [hood most] J/K
} bb_heat_simulation;

/// Starts from a cold wafer. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_heat_simulation_open(const bb_wafer_problem *problem,
                                             bb_heat_simulation *out);
void bb_heat_simulation_release(bb_heat_simulation *simulation);

/// Makes `field` the running exposure. Errors: BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_heat_simulation_expose(bb_heat_simulation *simulation, bb_index field);

/// One step of heat of the running exposure: `part` counts from 0 to (light + dark steps) substeps
/// - 1. Errors: the stepper's.
BB_CHECKED bb_status bb_heat_simulation_step(bb_heat_simulation *simulation, bb_index part);

/// One step of heat of a wafer at rest, without dose or hood. Errors: the stepper's.
BB_CHECKED bb_status bb_heat_simulation_rest(bb_heat_simulation *simulation);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// One wafer leaves the table with its heat, clamp and ring cool bare, another one arrives.
#ifndef BB_SIM_WAFER_HEAT_WAFER_LOADING_H
#define BB_SIM_WAFER_HEAT_WAFER_LOADING_H

#include "sim/output/output_table.h"
#include "sim/wafer/heat/heat_simulation.h"

/// What a wafer of the lot met and took along.
typedef struct bb_loaded_wafer {
    double clamp_joules; ///< stored in the clamp when the wafer was loaded
    double clamp_rise;   ///< mean rise of the clamp then, K
    double ring_joules;
    double unloaded_joules; ///< left with the wafer; NaN while it has not left
} bb_loaded_wafer;

/// Zero-initialise, open, release. It holds nothing between steps: the state is the simulation's.
typedef struct bb_wafer_loading {
    const bb_bare_clamp *bare; ///< borrowed; NULL for a single wafer
    bb_stepper *stepper;
} bb_wafer_loading;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_loading_open(const bb_wafer_problem *problem, bb_wafer_loading *out);
void bb_wafer_loading_release(bb_wafer_loading *loading);

/// What a wafer that is loaded on to the state of `simulation` meets.
bb_loaded_wafer bb_wafer_loading_state(const bb_heat_simulation *simulation);

/// Takes the wafer off, its rises become 0: returns what leaves with it, J, and books it.
double bb_wafer_loading_unload(bb_heat_simulation *simulation);

/// One of the bare clamp's steps. Errors: the stepper's.
BB_CHECKED bb_status bb_wafer_loading_step(bb_wafer_loading *loading,
                                           bb_heat_simulation *simulation);

/// Puts a wafer on that has the problem's rise on arrival, and books what it brings.
void bb_wafer_loading_load(bb_heat_simulation *simulation);

extern const bb_output_table bb_wafer_loading_outputs;

/// Writes /wafers from `wafers` [count]; nothing for a single wafer.
BB_CHECKED bb_status bb_wafer_loading_publish(const bb_loaded_wafer *wafers, bb_index count,
                                              bb_results *results);

#endif

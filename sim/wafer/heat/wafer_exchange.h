// SPDX-License-Identifier: Apache-2.0
//
// One wafer leaves the table with its heat, clamp and ring cool bare, another one arrives.
#ifndef BB_SIM_WAFER_HEAT_WAFER_EXCHANGE_H
#define BB_SIM_WAFER_HEAT_WAFER_EXCHANGE_H

#include "sim/output/results.h"
#include "sim/wafer/heat/wafer_march.h"

/// What a wafer of the lot met and took along.
typedef struct bb_wafer_visit {
    double clamp_joules; ///< stored in the clamp when the wafer was loaded
    double clamp_rise;   ///< mean rise of the clamp then, K
    double ring_joules;
    double unloaded_joules; ///< left with the wafer; NaN while it has not left
} bb_wafer_visit;

/// Zero-initialise, open, release. It holds nothing between steps: the state is the march's.
typedef struct bb_wafer_exchange {
    const bb_bare_clamp *bare; ///< borrowed; NULL for a single wafer
    bb_stepper *stepper;
} bb_wafer_exchange;

/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_exchange_open(const bb_wafer_problem *problem,
                                            bb_wafer_exchange *out);
void bb_wafer_exchange_release(bb_wafer_exchange *exchange);

/// What a wafer that is loaded on to the state of `march` meets.
bb_wafer_visit bb_wafer_exchange_visit(const bb_wafer_march *march);

/// Takes the wafer off, its rises become 0: returns what leaves with it, J, and books it.
double bb_wafer_exchange_unload(bb_wafer_march *march);

/// One of the bare clamp's steps. Errors: the stepper's.
BB_CHECKED bb_status bb_wafer_exchange_step(bb_wafer_exchange *exchange, bb_wafer_march *march);

/// Puts a wafer on that has the problem's rise on arrival, and books what it brings.
void bb_wafer_exchange_load(bb_wafer_march *march);

/// Writes /wafers from `visits` [count]; nothing for a single wafer.
BB_CHECKED bb_status bb_wafer_visits_publish(const bb_wafer_visit *visits, bb_index count,
                                             bb_results *results);

#endif

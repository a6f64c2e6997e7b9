// SPDX-License-Identifier: Apache-2.0
//
// Clamp and ring between two wafers: bare, in contact with the water only,
//     C_c dT_c/dt = d_c k_c lap T_c - h_w T_c,    C_r dT_r/dt = d_r k_r lap T_r - h_w,r T_r,
// by Crank-Nicolson in equal steps of at most 10 ms. The matrix is that of the thermal model
// without the wafer's unknowns and all exchanges with them.
//
// Limits: heat loss to gas over the bare clamp and during lifting is neglected.
#ifndef BB_PHYSICS_WAFER_HEAT_BARE_CLAMP_H
#define BB_PHYSICS_WAFER_HEAT_BARE_CLAMP_H

#include "physics/wafer/heat/thermal.h"

#define BB_BARE_CLAMP_STEP 10e-3 ///< longest step, s

/// Read-only to users.
typedef struct bb_bare_clamp {
    const bb_thermal *thermal; ///< borrowed
    bb_index first;            ///< index of the first unknown in a thermal state
    bb_index count;            ///< number of clamp and ring unknowns
    double step;               ///< s
    bb_index steps;            ///< number of steps in the whole duration
    bb_csr conductance;        ///< K + H, [count][count] symmetric, W/K
} bb_bare_clamp;

/// Prepares `duration` s without a wafer. Errors: BB_INVALID (a duration not above 0), BB_MEMORY.
/// Owner: the caller; the thermal model must outlive it.
BB_CHECKED bb_status bb_bare_clamp_create(const bb_thermal *thermal, double duration,
                                          bb_bare_clamp **out);
void bb_bare_clamp_destroy(bb_bare_clamp **bare);

/// Accounts for the heat given to the water in a step at the temperatures `mean` [count].
void bb_bare_clamp_account(const bb_bare_clamp *bare, const double *mean, bb_ledger *ledger);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Heat in wafer and clamp as one linear step T <- A T + B e, in rises above the water, K.
//
// Wafer (thin plate, mean over the thickness), insulated at its edge:
//     C dT/dt = d k lap T - h_c (T - T_c) + q,              C = rho c d
// Clamp (layer on a coarse grid):
//     C_c dT_c/dt = d_c k_c lap T_c + h_c (T - T_c) - h_w T_c
// Q1 elements with lumped mass and forward Euler: A = I - dt M^-1 (K + H), B = M^-1 for energies in
// joules that are deposited in the step. Wafer and clamp exchange heat through one conductance for
// each pair of a wafer node i and a coarse node j, h_c m_i P_ij, where P is the bilinear
// prolongation: A then has no negative entry off its diagonal, and no heat is lost between them.
// The coarse cells are those that touch a wafer cell, with their whole area as capacity.
//
// Limits: linear; no drop of temperature through the thickness (about 0.44 K under the slit, gone
// within 0.7 ms); no exchange at the top. The step is limited by lambda_max <= the bound
//     wafer: 4 k / (rho c h^2) + 2 h_c / C
//     clamp: 4 k_c / (c_c s^2) + 2 h_c sum_i m_i P_ij / (C_c a_j) + h_w / C_c
// that full square cells obey (each element's pencil K_e, M_e has lambda_max = 4 k / (rho c h^2)).
#ifndef BB_PHYSICS_WAFER_THERMAL_H
#define BB_PHYSICS_WAFER_THERMAL_H

#include "core/csr.h"
#include "physics/wafer/disc_mesh.h"
#include "physics/wafer/wafer_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the wafer lies on. ISOTHERMAL keeps the clamp at T_0 (for closed forms).
typedef enum bb_clamp_model { BB_CLAMP_LAYER, BB_CLAMP_ISOTHERMAL } bb_clamp_model;

/// Read-only to users. A state is [node_count wafer rises | clamp_count clamp rises], K.
typedef struct bb_thermal {
    bb_index node_count;  ///< wafer nodes, numbered as in the mesh
    bb_index clamp_count; ///< clamp nodes
    bb_index size;        ///< node_count + clamp_count
    double step;          ///< dt, s
    double stable_step;   ///< largest step that is surely stable, s
    double positive_step; ///< largest step for which A has no negative entry, s
    bb_csr step_matrix;   ///< A, [size][size]
    double *per_joule;    ///< B, [size]: K per J deposited in a node
    double *capacity;     ///< [size] J/K
    double *loss;         ///< [size] conductance to the water (or isothermal clamp), W/K
} bb_thermal;

/// Assembles A and B for steps of `step` seconds. Errors: BB_INVALID for a step over stable_step
/// (the message names the limit in ms), clamp spacing under the mesh's, or a periodic mesh with a
/// clamp layer; BB_MEMORY.
BB_CHECKED bb_status bb_thermal_create(const bb_disc_mesh *mesh,
                                       const bb_wafer_material_config *wafer,
                                       const bb_clamp_config *clamp, bb_clamp_model model,
                                       double step, bb_thermal **out);

/// The wafer's part of the stability limit, s: no step above it is stable on a mesh of `spacing` m,
/// whatever the clamp adds. For checks before anything is built.
double bb_thermal_wafer_limit(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                              double spacing);

/// Heat stored in a range of a state: sum of capacity * T, J. With state [size].
double bb_thermal_wafer_energy(const bb_thermal *thermal, const double *state);
double bb_thermal_clamp_energy(const bb_thermal *thermal, const double *state);

/// Heat that the step which starts at `state` loses to the water, J.
double bb_thermal_step_loss(const bb_thermal *thermal, const double *state);

/// Balance of energy over steps, J; zero-initialise.
typedef struct bb_ledger {
    double deposited;
    double lost;
    double stored_wafer;
    double stored_clamp;
} bb_ledger;

/// Books one step: `state` is the one at its start, `deposited` the energy put in, J.
void bb_ledger_add(bb_ledger *ledger, const bb_thermal *thermal, const double *state,
                   double deposited);

/// Books the state at the end and returns (deposited - lost - stored) / deposited.
double bb_ledger_close(bb_ledger *ledger, const bb_thermal *thermal, const double *state);

void bb_thermal_destroy(bb_thermal **thermal);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Heat in wafer, clamp and edge ring as one linear step T <- A T + B e, in rises above the water,
// K.
//
// Wafer (thin plate, mean over the thickness), insulated at its edge except for the gap to a ring:
//     C dT/dt = d k lap T - h_c (T - T_c) - h_t(x, t) (T - T_hood) + q,      C = rho c d
// Clamp (layer on a coarse grid):
//     C_c dT_c/dt = d_c k_c lap T_c + h_c (T - T_c) - h_w T_c
// Ring: edge_ring.h. The hood's part, h_t, moves: it is not part of A but an input of the step, T_i
// <- ... - B_i g_i (T_i - T_hood) with g_i = dt h_t times the covered area (exposure.h). Q1
// elements with lumped mass and forward Euler: A = I - dt M^-1 (K + H), B = M^-1 for energies in
// joules deposited in the step. Wafer and clamp exchange heat through one conductance for each pair
// of a wafer node i and a coarse node j, h_c m_i P_ij, where P is the bilinear prolongation: A then
// has no negative off-diagonal entry, and no heat is lost between them. The coarse cells are those
// that overlap a wafer cell, with their whole area as capacity.
//
// With two modes through the thickness the state also has tau (thermal.c): bottom and top exchange
// at T - tau and T + tau. A then has negative entries.
//
// Limits: linear; without the second mode no temperature drop through the thickness (about 0.44 K
// under the slit, gone within 0.7 ms). An explicit step is limited by lambda_max <= the largest of
//     wafer: 4 k / (rho c h^2) + 2 h_c / C + h_t / C + 2 max_i g_i / (C m_i)
//     clamp: 4 k_c / (c_c s^2) + 2 h_c sum_i m_i P_ij / (C_c a_j) + h_w / C_c
//     ring:  4 k_r / (c_r h^2) + 2 max_i g_i / (C_r m_i) + h_w / C_r        (g_i: of the gap)
// which holds for full square cells (each element's pencil K_e, M_e has lambda_max = 4 k / (rho c
// h^2); a pair of unknowns that exchange through g has at most 2 g over each one's capacity). With
// tau an exchange is between three unknowns, or two instead of one: 3 h_c, 2 h_t.
#ifndef BB_PHYSICS_WAFER_HEAT_THERMAL_H
#define BB_PHYSICS_WAFER_HEAT_THERMAL_H

#include "core/csr.h"
#include "physics/wafer/heat/edge_ring.h"

/// Support of the wafer. ISOTHERMAL keeps the clamp at T_0 (for closed forms).
typedef enum bb_clamp_model { BB_CLAMP_LAYER, BB_CLAMP_ISOTHERMAL } bb_clamp_model;

/// Surroundings of wafer and clamp, and the time stepping. Zero: none, explicit.
typedef struct bb_thermal_setting {
    const bb_edge_ring *ring; ///< NULL: none; read only during creation
    double hood_exchange;     ///< h_t, W/(m2 K), for the limits of the step
    int stepping;             ///< bb_mesh_stepping
    int through_thickness;    ///< bb_through_thickness
} bb_thermal_setting;

/// Read-only to users. A state is [node_count wafer rises | clamp_count | ring_count | tau_count],
/// K.
typedef struct bb_thermal {
    bb_index node_count;  ///< wafer nodes, numbered as in the mesh
    bb_index clamp_count; ///< clamp nodes
    bb_index ring_count;  ///< ring nodes, numbered as in the ring's mesh; 0 without a ring
    bb_index tau_count;   ///< node_count with two modes through the thickness, else 0
    bb_index size;        ///< length of a state
    double step;          ///< dt, s
    double stable_step;   ///< largest explicit step guaranteed stable, s
    double positive_step; ///< largest step for which A has no negative entry, s; 0 with tau
    bb_csr step_matrix;   ///< A, [size][size]; empty for crank-nicolson
    bb_csr conductance;   ///< K + H, [size][size] symmetric, W/K; empty for explicit
    double *per_joule;    ///< B, [size]: K per J deposited in a node
    double *capacity;     ///< [size] J/K; for tau, M_tau of thermal.c
    double *loss;         ///< [size] conductance to the water (or isothermal clamp), W/K; 0 for tau
} bb_thermal;

/// Assembles A and B for explicit steps of `step` seconds of wafer and clamp only. Errors:
/// BB_INVALID for a step above stable_step (the message gives the limit in ms), clamp spacing below
/// the mesh's, or a periodic mesh with a clamp layer; BB_MEMORY.
BB_CHECKED bb_status bb_thermal_create(const bb_disc_mesh *mesh,
                                       const bb_wafer_material_config *wafer,
                                       const bb_clamp_config *clamp, bb_clamp_model model,
                                       double step, bb_thermal **out);

/// Creates the model as bb_thermal_create, with surroundings; Crank-Nicolson steps have no limit.
BB_CHECKED bb_status bb_thermal_create_in(const bb_disc_mesh *mesh,
                                          const bb_wafer_material_config *wafer,
                                          const bb_clamp_config *clamp, bb_clamp_model model,
                                          double step, const bb_thermal_setting *setting,
                                          bb_thermal **out);

/// Rejects the same steps as bb_thermal_create_in, with the same messages, without assembling
/// anything. Errors: as there.
BB_CHECKED bb_status bb_thermal_check_step(const bb_disc_mesh *mesh,
                                           const bb_wafer_material_config *wafer,
                                           const bb_clamp_config *clamp, bb_clamp_model model,
                                           double step, const bb_thermal_setting *setting);

/// Returns a stable step, s, for a clamp layer without a ring on any mesh of `spacing` m, from the
/// sizes of cells only: at most the model's own stable_step, and closer to it on finer meshes.
double bb_thermal_sure_step(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                            const bb_thermal_setting *setting, double spacing);

/// The wafer's part of the stability limit under a hood (NULL: none), s: no explicit step above it
/// is stable on a mesh of `spacing` m, whatever the clamp and ring contribute. For checks before
/// anything is created.
double bb_thermal_wafer_limit(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp,
                              const bb_hood_config *hood, double spacing);

/// As bb_thermal_wafer_limit, for the clamp by itself; its exchange with the wafer makes it
/// smaller.
double bb_thermal_clamp_limit(const bb_wafer_material_config *wafer, const bb_clamp_config *clamp);

/// Rounds a positive limit down to four digits, for messages.
double bb_thermal_round_down(double limit);

/// Computes the heat stored in a range of a state, J: sum of capacity * T. `state` is [size].
double bb_thermal_wafer_energy(const bb_thermal *thermal, const double *state);
double bb_thermal_clamp_energy(const bb_thermal *thermal, const double *state);

double bb_thermal_ring_energy(const bb_thermal *thermal, const double *state);

/// Computes the heat lost to the water in a step at the temperatures `state`, J: from wafer and
/// clamp, and from the ring.
double bb_thermal_step_loss(const bb_thermal *thermal, const double *state);
double bb_thermal_ring_loss(const bb_thermal *thermal, const double *state);

/// Energy balance over steps, J; zero-initialise.
typedef struct bb_ledger {
    double deposited;
    double lost; ///< to the water, except from the ring
    double stored_wafer;
    double stored_clamp;
    double lost_hood; ///< to the hood; negative if it warms the wafer
    double lost_ring; ///< from the ring to the water
    double stored_ring;
    double arrived;  ///< brought by wafers warmer than the water
    double unloaded; ///< removed with wafers
} bb_ledger;

/// Accounts for one step that exchanges heat at the temperatures `state` (explicit: those at its
/// start; Crank-Nicolson: the mean of both ends), `deposited` the deposited energy, J.
void bb_ledger_add(bb_ledger *ledger, const bb_thermal *thermal, const double *state,
                   double deposited);

/// Returns the index of node 0's tau; 0 without a second mode.
bb_index bb_thermal_tau_first(const bb_thermal *thermal);

/// Accounts for the heat given in the step of bb_ledger_add to a hood of rise `level`, K: node[i]
/// exchanges exchange[i] J/K, `count` of them, at T + tau.
void bb_ledger_add_hood(bb_ledger *ledger, const bb_thermal *thermal, const double *state,
                        bb_index count, const int32_t *node, const double *exchange, double level);

/// Accounts for the final state and returns (deposited + arrived - lost - unloaded - stored) /
/// (deposited + |arrived|).
double bb_ledger_close(bb_ledger *ledger, const bb_thermal *thermal, const double *state);

/// Memory and time of assembling the model of a wafer, and of the model alone; `ring` may be NULL.
bb_need bb_thermal_need(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                        const bb_clamp_config *clamp, const bb_ring_config *ring);
bb_need bb_thermal_resident(const bb_wafer_material_config *wafer, const bb_mesh_config *mesh,
                            const bb_clamp_config *clamp, const bb_ring_config *ring);

void bb_thermal_destroy(bb_thermal **thermal);

#endif

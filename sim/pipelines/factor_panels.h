// SPDX-License-Identifier: Apache-2.0
//
// Factorization of a pipeline by panels on the GPUs of a study, from sources to R in host memory.
// Linked in CUDA builds only; called by factor_device.c.
#ifndef BB_SIM_PIPELINES_FACTOR_PANELS_H
#define BB_SIM_PIPELINES_FACTOR_PANELS_H

#include "sim/pipelines/factor_device.h"
#include "solvers/factor/panels/panel_cholesky.h"

/// Factors and solves as bb_factor_device_solve does, for a plan whose `sides` are the rows of all
/// targets and of the low-rank part.
BB_CHECKED bb_status bb_factor_panels_solve(const bb_factor_problem *problem,
                                            const bb_panel_plan *planned, const bb_policy_map *map,
                                            double **r, bb_outcome *outcome,
                                            bb_factor_device_times *times);

#endif

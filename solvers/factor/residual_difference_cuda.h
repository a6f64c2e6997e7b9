// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: scoring by what differs from a base.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_DIFFERENCE_CUDA_H
#define BB_SOLVERS_FACTOR_RESIDUAL_DIFFERENCE_CUDA_H

#include "solvers/factor/residual_scorer_cuda.h"

/// What a difference takes beside the base.
double bb_residual_difference_bytes(const bb_residual_scorer *scorer, bb_index m);

/// Scores `task` against `base`, whose R0 has as many rows. Waits.
bb_status bb_residual_difference_score(bb_residual_scorer *scorer, const bb_residual_base *base,
                                       const bb_residual_task *task);

/// Units of the scorer from Cmm's diagonal.
bb_status bb_residual_difference_units(bb_residual_scorer *scorer);

/// sum[i] += addend[i], on the scorer's stream.
bb_status bb_residual_difference_add(const bb_residual_scorer *scorer, const double *addend,
                                     bb_index items, double *sum);

#endif

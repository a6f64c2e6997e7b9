// SPDX-License-Identifier: Apache-2.0
//
// Loss from narrow sums in products of a stored reconstructor with slopes (narrow_sum.h), summed
// from the first column to the last.
//
// The loss of an estimate y = R s is estimated by sampling. With d the errors of the sums for
// slopes s of the covariance A (rounding_norm.h), normal and without added modes,
//
//     Cee <- Cee + mean over draws of d d^T,
//
// because the residual of y is independent of s. A trace dominated by few modes has a relative
// error of up to sqrt(2 / draws), 3 % of the added part.
#ifndef BB_SIM_PIPELINES_SUM_ROUNDING_H
#define BB_SIM_PIPELINES_SUM_ROUNDING_H

#include "sim/pipelines/factor_storage.h"

enum { BB_SUM_ROUNDING_DRAWS = 2048 };

/// Adds the covariance of errors of narrow sums to `cee` [m][m] for r [m][n]; no effect if the
/// pipeline's sums are not narrow. The bits do not depend on the number of threads. A covariance
/// that cannot be factored sets `outcome`. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_sum_rounding_add(bb_factor_storage *storage,
                                         const bb_factor_pipeline *pipeline, bb_index m,
                                         const double *r, double *cee, bb_outcome *outcome);

/// Checks `multiply`, `accumulate` and `accumulate_run` against each other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sum_rounding_check(const bb_factor_pipeline *pipeline, bb_index index,
                                           const bb_config *config, bb_problems *problems);

/// Need of the sampling, in addition to the factor.
bb_need bb_sum_rounding_need(bb_index n, bb_index m, double threads);

#endif

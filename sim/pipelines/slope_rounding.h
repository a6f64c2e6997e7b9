// SPDX-License-Identifier: Apache-2.0
//
// Rounding of slopes before a reconstructor multiplies them: to a format, or to equal steps of a
// range. Rounding errors are independent between slopes, so the residual of an estimate by R grows
// by R D R^T. D is the mean square error of normal slopes with the variances of the covariance.
#ifndef BB_SIM_PIPELINES_SLOPE_ROUNDING_H
#define BB_SIM_PIPELINES_SLOPE_ROUNDING_H

#include "sim/pipelines/factor_storage.h"

/// True if a pipeline's slopes are rounded.
bool bb_slope_rounding_is_given(const bb_factor_pipeline *pipeline);

/// Adds R D R^T to `cee` [m][m] for r [m][n]; the pipeline's filter selects the rounded slopes. No
/// effect if its slopes are not rounded. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_slope_rounding_add(bb_factor_storage *storage,
                                           const bb_factor_pipeline *pipeline, bb_index m,
                                           const double *r, double *cee);

/// Rounding step of slopes with `bits`, for a range relative to the largest of `deviations` [n]; 0
/// without `bits`.
double bb_slope_rounding_step(const bb_slope_config *slopes, bb_index n, const double *deviations);

/// Checks the keys of `slopes:` against each other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_slope_rounding_check(const bb_factor_pipeline *pipeline, bb_index index,
                                             const bb_config *config, bb_problems *problems);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Covariance of the residual of an estimate R s of t, for any R, exact or not:
//     Cee = Ctt - R Ctm^T - Ctm R^T + R Cmm R^T,
// with the unperturbed Cmm pulled from its source in panels. All in fp64.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H
#define BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H

#include "core/device/device_source.h"
#include "core/need.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One estimate to score.
typedef struct bb_residual_task {
    const double *r;             ///< [m][n]
    const bb_matrix_source *ctm; ///< m x n
    const bb_matrix_source *ctt; ///< m x m
    double *cee;                 ///< [m][m], written, symmetric
} bb_residual_task;

/// Scores `count` estimates in one pass over Cmm (n x n, symmetric source): each panel of columns
/// is filled once. Panels are of fixed width: the bits do not depend on the threads. Errors:
/// BB_MEMORY, BB_INVALID, the sources'.
BB_CHECKED bb_status bb_residual_covariance(const bb_matrix_source *cmm, bb_index count,
                                            const bb_residual_task *tasks);

/// The same on a cuda device, whose sums are in the order of cuBLAS: panels of Cmm are filled
/// there, for each estimate again (residual_scorer.h keeps what several share). Errors also:
/// BB_UNSUPPORTED (no cuda device), BB_DEVICE.
BB_CHECKED bb_status bb_residual_covariance_device(bb_device *device, const bb_matrix_source *cmm,
                                                   bb_index count, const bb_residual_task *tasks);

/// Cee = Ctt + (P + P^T) / 2 for P in `cee`: the last step of both; `ctt` NULL: without it, and
/// then of the rows of `ctm`. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_residual_covariance_close(const bb_residual_task *task);

/// Sizes of several tasks.
typedef struct bb_residual_extent {
    bb_index n;
    double rows, squared_rows, most_rows; ///< m of all tasks: sum, sum of squares, largest
} bb_residual_extent;

/// What scoring takes beside the tasks' own arrays and the filling of the sources.
bb_need bb_residual_covariance_need(const bb_residual_extent *extent, double threads);

/// What one task of m rows takes on a device.
bb_need bb_residual_covariance_device_need(bb_index n, bb_index m);

#ifdef __cplusplus
}
#endif

#endif

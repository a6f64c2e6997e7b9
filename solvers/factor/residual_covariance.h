// SPDX-License-Identifier: Apache-2.0
//
// Covariances of the residuals of estimates (residual_task.h), of any R, exact or not, with the
// unperturbed Cmm pulled from its source in panels. All in fp64.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H
#define BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H

#include "core/device/device_source.h"
#include "core/need.h"
#include "solvers/factor/residual_task.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Partial sums over panels of Cmm on GPUs, and GPUs that share them at most.
enum { BB_RESIDUAL_PARTIALS = 8, BB_RESIDUAL_GPUS = BB_RESIDUAL_PARTIALS };

/// Scores `count` estimates in one pass over Cmm (n x n, symmetric source): each panel of columns
/// is filled once, and tasks that follow one another with the same r share R Cmm R^T. Panels are of
/// fixed width: the bits do not depend on the threads. The rows of Cmm and of every R are dealt
/// over the team (core/team.h), all of which call; each gets every result. Errors: BB_MEMORY,
/// BB_INVALID, the sources', the team's.
BB_CHECKED bb_status bb_residual_covariance(const bb_matrix_source *cmm, bb_index count,
                                            const bb_residual_task *tasks);

/// The same on `gpus` cuda devices, whose sums are in the order of cuBLAS: panels of Cmm are filled
/// there, for each estimate again (residual_scorer.h keeps what several share). Errors also: those
/// of bb_residual_scorer_create.
BB_CHECKED bb_status bb_residual_covariance_device(bb_index gpus, bb_device *const *devices,
                                                   const bb_matrix_source *cmm, bb_index count,
                                                   const bb_residual_task *tasks);

/// Sizes of several tasks.
typedef struct bb_residual_extent {
    bb_index n;
    double rows, squared_rows, most_rows; ///< m of all tasks: sum, sum of squares, largest
    double shared;                        ///< r that tasks share; 0: all are plain, else none is
    double shared_rows;                   ///< of each of them
} bb_residual_extent;

/// What scoring takes beside the tasks' own arrays and the filling of the sources.
bb_need bb_residual_covariance_need(const bb_residual_extent *extent, double threads);

/// What tasks that share an r [rows][n] take on each of `gpus` devices, one after the other: of m
/// truths and q (residual_task.h) at most, weights on both sides or not; 0 of both for a plain one.
/// The memory is that of the first device, the others take less.
bb_need bb_residual_covariance_device_need(bb_index gpus, bb_index n, bb_index rows,
                                           bb_index truths, bb_index size);

#ifdef __cplusplus
}
#endif

#endif

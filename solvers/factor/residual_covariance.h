// SPDX-License-Identifier: Apache-2.0
//
// Covariances of the residuals of estimates, of any R, exact or not, with the
// unperturbed Cmm pulled from its source in panels. All in fp64.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H
#define BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H

#include "core/device/device_source.h"
#include "core/matrix_source.h"
#include "core/need.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// One estimate whose residual is to be scored, and what of that is the same on every device.
//
// The estimate R s of t has Cee = Ctt - R Ctm^T - Ctm R^T + R Cmm R^T. What is scored may be
// weighed: the estimate A R s of B t has
//     Cee = B Ctt B^T - A (R Ctm^T) B^T - B (Ctm R^T) A^T + A (R Cmm R^T) A^T,
// A the slopes that commands R s make in some direction, or B the commands that t asks for.
// R Cmm R^T, of n^2 operations a row, is the same for all directions.

/// Either plain, scored as (R Cmm - 2 Ctm) R^T, where r has m rows: A is B, or both are left out
/// and q is m; or by R Cmm R^T, which tasks that follow one another with the same r share, and
/// which other weights need.
typedef struct bb_residual_task {
    const double *r;             ///< [rows][n]; NULL where a device has it
    const void *device_r;        ///< the same on the first GPU of a scorer; NULL: `r` is read
    const bb_matrix_source *ctm; ///< m x n
    const bb_matrix_source *ctt; ///< q x q, B Ctt B^T; NULL: left out, and q is m
    double *cee;                 ///< [q][q], written, symmetric
    bb_index rows;               ///< of r, by R Cmm R^T; 0: plain
    const double *weights;       ///< A [q][rows]; NULL: of r as it is
    const double *truth_weights; ///< B [q][m]; NULL: of t as it is. A scorer keeps a plain one's.
    double *diagonal;            ///< [m], written by a plain task with B: of (R Cmm - 2 Ctm) R^T;
                                 ///< NULL: not wanted, and a GPU multiplies Cmm by B R alone
} bb_residual_task;

/// q, and rows.
bb_index bb_residual_task_size(const bb_residual_task *task);
bb_index bb_residual_task_rows(const bb_residual_task *task);

/// Whether it is plain, with B; and whether without a diagonal besides, so that B R alone may be
/// multiplied by Cmm.
bool bb_residual_task_sees_plain(const bb_residual_task *task);
bool bb_residual_task_in_commands(const bb_residual_task *task);

/// How many tasks from the first of `count` on are scored by one R Cmm R^T; 0: the first is plain.
bb_index bb_residual_task_shared(const bb_residual_task *tasks, bb_index count);

/// Whether its shapes go together, n columns of Cmm. Errors: BB_INVALID.
BB_CHECKED bb_status bb_residual_task_check(const bb_residual_task *task, bb_index n);

/// P, into `cee`, from `product` R Cmm R^T [rows][rows], on this host: A (R Cmm R^T) A^T less twice
/// A (R Ctm^T) B^T. Takes rows m + q max(rows, m) doubles. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_residual_task_assemble(const bb_residual_task *task, const double *product);

/// Cee = Ctt + (P + P^T) / 2 for P in `cee`, the last step. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_residual_task_close(const bb_residual_task *task);

/// Cee += A C A^T for a symmetric `added` C [rows][rows]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_residual_task_add(const bb_residual_task *task, const double *added);

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
/// truths and q at most, weights on both sides or not; 0 of both for a plain one.
/// The memory is that of the first device, the others take less.
bb_need bb_residual_covariance_device_need(bb_index gpus, bb_index n, bb_index rows,
                                           bb_index truths, bb_index size);

/// What the sums over pairs of so many points and actuators take on a GPU, and the products with
/// `columns` slopes before them (residual_scorer.h).
bb_need bb_residual_pairs_device_need(double points, double actuators, double columns);

#ifdef __cplusplus
}
#endif

#endif

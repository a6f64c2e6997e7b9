// SPDX-License-Identifier: Apache-2.0
//
// Covariances of the residuals of estimates, for any R, exact or not, with the unperturbed Cmm
// filled by its source in panels. All in fp64.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H
#define BB_SOLVERS_FACTOR_RESIDUAL_COVARIANCE_H

#include "core/device/device_source.h"
#include "core/matrix_source.h"
#include "core/need.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// An estimate whose residual is scored, and the device-independent parts of the score.
//
// The estimate R s of t has Cee = Ctt - R Ctm^T - Ctm R^T + R Cmm R^T. The score may be weighted:
// the estimate A R s of B t has
//     Cee = B Ctt B^T - A (R Ctm^T) B^T - B (Ctm R^T) A^T + A (R Cmm R^T) A^T,
// where A maps commands R s to the slopes they cause in some direction, or B maps t to the commands
// it requires. R Cmm R^T, with n^2 operations per row, is the same for all directions.

/// A task is plain or shared. A plain one is scored as (R Cmm - 2 Ctm) R^T, where r has m rows: A
/// equals B, or both are NULL and q is m. A shared one is scored by R Cmm R^T, which consecutive
/// tasks with the same r share, and which other weights require.
typedef struct bb_residual_task {
    const double *r;             ///< [rows][n]; NULL if only a device has it
    const void *device_r;        ///< the same r on the first GPU of a scorer; NULL: `r` is used
    const bb_matrix_source *ctm; ///< m x n
    const bb_matrix_source *ctt; ///< q x q, B Ctt B^T; NULL: omitted, and q is m
    double *cee;                 ///< [q][q], written, symmetric
    bb_index rows;               ///< rows of r for a task scored by R Cmm R^T; 0: plain
    const double *weights;       ///< A [q][rows]; NULL: identity
    /// B [q][m]; NULL: identity. A scorer caches the B of a plain task.
    const double *truth_weights;
    double *diagonal; ///< [m], diagonal of (R Cmm - 2 Ctm) R^T, written by a plain task with B;
                      ///< NULL: not needed, and a GPU multiplies Cmm by B R only
} bb_residual_task;

/// Size q of the result, and number of rows of r.
bb_index bb_residual_task_size(const bb_residual_task *task);
bb_index bb_residual_task_rows(const bb_residual_task *task);

/// True if the task is plain and has B. The second function also requires that it has no diagonal,
/// so that only B R needs to be multiplied by Cmm.
bool bb_residual_task_sees_plain(const bb_residual_task *task);
bool bb_residual_task_in_commands(const bb_residual_task *task);

/// Number of tasks from the first of `count` on that share one R Cmm R^T; 0: the first is plain.
bb_index bb_residual_task_shared(const bb_residual_task *tasks, bb_index count);

/// Checks that the shapes fit n columns of Cmm. Errors: BB_INVALID.
BB_CHECKED bb_status bb_residual_task_check(const bb_residual_task *task, bb_index n);

/// Computes P, into `cee`, on the host from `product` R Cmm R^T [rows][rows]: A (R Cmm R^T) A^T
/// minus 2 A (R Ctm^T) B^T. Allocates rows m + q max(rows, m) doubles. Errors: BB_MEMORY, those of
/// the source.
BB_CHECKED bb_status bb_residual_task_assemble(const bb_residual_task *task, const double *product);

/// Last step: Cee = Ctt + (P + P^T) / 2 for P in `cee`. Errors: BB_MEMORY, errors of the source.
BB_CHECKED bb_status bb_residual_task_close(const bb_residual_task *task);

/// Cee += A C A^T for a symmetric `added` C [rows][rows]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_residual_task_add(const bb_residual_task *task, const double *added);

/// Partial sums over panels of Cmm on GPUs, and the largest number of GPUs that share them.
enum { BB_RESIDUAL_PARTIALS = 8, BB_RESIDUAL_GPUS = BB_RESIDUAL_PARTIALS };

/// Scores `count` estimates in one pass over Cmm (n x n, symmetric source): each panel of columns
/// is filled once, and consecutive tasks with the same r share R Cmm R^T. Panels have a fixed
/// width: the bits do not depend on the threads. The rows of Cmm and of every R are distributed
/// over the team (core/team.h). The call is collective; each process gets every result. Errors:
/// BB_MEMORY, BB_INVALID, errors of the sources and of the team.
BB_CHECKED bb_status bb_residual_covariance(const bb_matrix_source *cmm, bb_index count,
                                            const bb_residual_task *tasks);

/// Scores as above on `gpus` cuda devices, with sums in the order of cuBLAS. Panels of Cmm are
/// filled there, again for each estimate (residual_scorer.h caches shared ones). Further errors:
/// those of bb_residual_scorer_create.
BB_CHECKED bb_status bb_residual_covariance_device(bb_index gpus, bb_device *const *devices,
                                                   const bb_matrix_source *cmm, bb_index count,
                                                   const bb_residual_task *tasks);

/// Sizes of several tasks.
typedef struct bb_residual_extent {
    bb_index n;
    double rows, squared_rows, most_rows; ///< m over all tasks: sum, sum of squares, largest
    double shared;      ///< number of r shared by tasks; 0: all tasks are plain, otherwise none is
    double shared_rows; ///< rows of each shared r
} bb_residual_extent;

/// Cost of scoring, without the arrays of the tasks and the filling by the sources.
bb_need bb_residual_covariance_need(const bb_residual_extent *extent, double threads);

/// Cost of tasks that share an r [rows][n], processed one after the other, on each of `gpus`
/// devices. `truths` and `size` are the largest m and q, with or without weights on both sides;
/// both 0 for a plain task. Memory is that of the first device; the others need less.
bb_need bb_residual_covariance_device_need(bb_index gpus, bb_index n, bb_index rows,
                                           bb_index truths, bb_index size);

/// Cost on a GPU of the sums over pairs of this many points and actuators, including the preceding
/// products with `columns` slopes (residual_scorer.h).
bb_need bb_residual_pairs_device_need(double points, double actuators, double columns);

#ifdef __cplusplus
}
#endif

#endif

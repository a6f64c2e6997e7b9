// SPDX-License-Identifier: Apache-2.0
//
// One estimate whose residual is to be scored, and what of that is the same on every device.
//
// The estimate R s of t has Cee = Ctt - R Ctm^T - Ctm R^T + R Cmm R^T. What is scored may be
// weighed: the estimate A R s of B t has
//     Cee = B Ctt B^T - A (R Ctm^T) B^T - B (Ctm R^T) A^T + A (R Cmm R^T) A^T,
// A the slopes that commands R s make in some direction, or B the commands that t asks for.
// R Cmm R^T, of n^2 operations a row, is the same for all directions.
#ifndef BB_SOLVERS_FACTOR_RESIDUAL_TASK_H
#define BB_SOLVERS_FACTOR_RESIDUAL_TASK_H

#include "core/matrix_source.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Either plain, scored as (R Cmm - 2 Ctm) R^T, where q is m and r has m rows; or by R Cmm R^T,
/// which tasks that follow one another with the same r share, and which weights need.
typedef struct bb_residual_task {
    const double *r;             ///< [rows][n]
    const bb_matrix_source *ctm; ///< m x n
    const bb_matrix_source *ctt; ///< q x q, B Ctt B^T; NULL: left out, and q is m
    double *cee;                 ///< [q][q], written, symmetric
    bb_index rows;               ///< of r, by R Cmm R^T; 0: plain
    const double *weights;       ///< A [q][rows]; NULL: of r as it is
    const double *truth_weights; ///< B [q][m]; NULL: of t as it is
} bb_residual_task;

/// q, and rows.
bb_index bb_residual_task_size(const bb_residual_task *task);
bb_index bb_residual_task_rows(const bb_residual_task *task);

/// How many tasks from the first of `count` on are scored by one R Cmm R^T; 0: the first is plain.
bb_index bb_residual_task_shared(const bb_residual_task *tasks, bb_index count);

/// Whether its shapes go together, n columns of Cmm. Errors: BB_INVALID.
BB_CHECKED bb_status bb_residual_task_check(const bb_residual_task *task, bb_index n);

/// P, into `cee`, from `product` R Cmm R^T [rows][rows], on this host: A (R Cmm R^T) A^T less twice
/// A (R Ctm^T) B^T. Takes rows m + q max(rows, m) doubles. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_residual_task_weigh(const bb_residual_task *task, const double *product);

/// Cee = Ctt + (P + P^T) / 2 for P in `cee`, the last step. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_residual_task_close(const bb_residual_task *task);

/// Cee += A C A^T for a symmetric `added` C [rows][rows]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_residual_task_add(const bb_residual_task *task, const double *added);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Reconstructor R = B A^-1 from a tile factor of A: undoes the scaling and applies an optional
// low-rank part of A exactly in fp64.
//
// The factor is that of D A0 D (D diagonal), and A = A0 + U C U^T with few columns U and variances
// C = diag(c), which may be infinite. With X = B A0^-1 and V = U^T A0^-1, both from the factor,
//     R = X - (X U) (C^-1 + V U)^-1 V        (Woodbury),
// so that a huge variance never enters the narrow formats.
#ifndef BB_SOLVERS_FACTOR_RECONSTRUCTOR_H
#define BB_SOLVERS_FACTOR_RECONSTRUCTOR_H

#include "core/need.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#ifdef __cplusplus
extern "C" {
#endif

// Operator that multiplies rows by the inverse of a symmetric matrix: from a factor or with
// refinement, on any device, transparently for its users.

typedef struct bb_inverse bb_inverse;

struct bb_inverse {
    bb_index n;
    /// X <- X A^-1 for X [rows][n]. A solve that does not converge is an outcome.
    bb_status (*apply)(const bb_inverse *inverse, bb_index rows, double *x, bb_outcome *outcome);
    void *context; ///< borrowed from the creator, who keeps it alive
};

/// Context of bb_inverse_of_factor: A^-1 = D (D A D)^-1 D.
typedef struct bb_factor_inverse {
    const bb_tile_matrix *factor; ///< factor of D A D
    const double *scale;          ///< [n] diagonal of D, NULL for none
} bb_factor_inverse;

bb_inverse bb_inverse_of_factor(bb_factor_inverse *context);

/// X <- X D for X [rows][n]; does nothing if D is NULL.
void bb_inverse_scale(bb_index rows, bb_index n, const double *scale, double *x);

/// Low-rank part U C U^T; count 0: none.
typedef struct bb_low_rank {
    bb_index count;
    const double *vectors;   ///< U [n][count]
    const double *variances; ///< [count], positive, INFINITY allowed
} bb_low_rank;

/// Factors the core C^-1 + V U of an update: `core` [count][count] is V U on entry and its factor
/// on return. A core that is not finite or not positive definite is an outcome. Errors: BB_INVALID
/// (a variance).
BB_CHECKED bb_status bb_low_rank_core_factor(const bb_low_rank *part, double *core,
                                             bb_outcome *outcome);

/// W <- W (C^-1 + V U)^-1 for W [m][count], with the factored core.
void bb_low_rank_core_solve(const bb_low_rank *part, const double *core, bb_index m, double *w);

/// Update with V = U^T A0^-1 of a factor, computed once and shared by all targets. Opaque, owned by
/// the caller.
typedef struct bb_low_rank_update bb_low_rank_update;

/// Creates an update from any inverse of A0; `part` is borrowed. A singular core C^-1 + V U is an
/// outcome (not_spd). Errors: BB_MEMORY, BB_INVALID, errors of the inverse.
BB_CHECKED bb_status bb_low_rank_update_make(const bb_inverse *inverse, const bb_low_rank *part,
                                             bb_outcome *outcome, bb_low_rank_update **out);

/// Creates an update from a factor of D A0 D; `scale` [n] is the diagonal of D or NULL.
BB_CHECKED bb_status bb_low_rank_update_create(const bb_tile_matrix *factor, const double *scale,
                                               const bb_low_rank *part, bb_outcome *outcome,
                                               bb_low_rank_update **out);
void bb_low_rank_update_destroy(bb_low_rank_update **update);

/// Cost of an update of `count` columns, including its use with m right-hand sides at a time.
bb_need bb_low_rank_update_need(bb_index n, bb_index count, bb_index m);

/// R <- R A^-1 in place for R [m][n]: B on entry, the reconstructor on return. `update` may be
/// NULL. NaN or infinity in R is an outcome. Errors: BB_MEMORY, errors of the inverse.
BB_CHECKED bb_status bb_reconstructor_make(const bb_inverse *inverse,
                                           const bb_low_rank_update *update, bb_index m, double *r,
                                           bb_outcome *outcome);

/// Applies the inverse as above, from a factor of D A0 D.
BB_CHECKED bb_status bb_reconstructor_solve(const bb_tile_matrix *factor, const double *scale,
                                            const bb_low_rank_update *update, bb_index m, double *r,
                                            bb_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif

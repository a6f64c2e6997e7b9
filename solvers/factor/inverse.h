// SPDX-License-Identifier: Apache-2.0
//
// How rows are multiplied by the inverse of a symmetric matrix: with a factor alone, with a factor
// that is refined, on whatever device. What is built on it does not know which.
#ifndef BB_SOLVERS_FACTOR_INVERSE_H
#define BB_SOLVERS_FACTOR_INVERSE_H

#include "core/outcome.h"
#include "solvers/factor/tiles/tile_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_inverse bb_inverse;

struct bb_inverse {
    bb_index n;
    /// X <- X A^-1 for X [rows][n]. A solve that does not converge is an outcome.
    bb_status (*apply)(const bb_inverse *inverse, bb_index rows, double *x, bb_outcome *outcome);
    void *context; ///< borrowed: whatever made the inverse keeps it alive
};

/// Context of bb_inverse_of_factor: A^-1 = D (D A D)^-1 D.
typedef struct bb_factor_inverse {
    const bb_tile_matrix *factor; ///< of D A D
    const double *scale;          ///< [n] diagonal of D, NULL for none
} bb_factor_inverse;

bb_inverse bb_inverse_of_factor(bb_factor_inverse *context);

/// X <- X D for X [rows][n]; D NULL: nothing.
void bb_inverse_scale(bb_index rows, bb_index n, const double *scale, double *x);

#ifdef __cplusplus
}
#endif

#endif

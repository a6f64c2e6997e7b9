// SPDX-License-Identifier: Apache-2.0
//
// Refinement of X A = B to fp64 with a low-precision factor of D A D as preconditioner, for many
// right-hand sides (rows) at once, each with its own stopping test.
//
// All methods work on the scaled system Y S = B D with S = D A D and X = Y D, start from the
// solution with the factor and stop a row when ||b - y S||_2 <= tolerance ||b||_2. The residual is
// recomputed in fp64; it cannot fall below about 1e-16 ||S|| ||y||. S is never stored: A is filled
// by its source in panels of columns, one pass per iteration for all rows of a block.
//   ir     y <- y + M^-1 (b - y S), converges if the factor's relative error times the condition
//          of S is below 1 (Higham, Accuracy and Stability, ch. 12)
//   cg     preconditioned conjugate gradients, restarted if the recursive residual is not the true
//   one gmres  restarted every 20 iterations, preconditioned on the right, modified Gram-Schmidt.
// Break-even with a direct x3 solve is at n / (12 m) iterations for m right-hand sides: hp1 instead
// of x3 saves (2/9) n^3 operations at the x3 rate, and an iteration costs (8/3) n^2 m.
#ifndef BB_SOLVERS_FACTOR_REFINEMENT_H
#define BB_SOLVERS_FACTOR_REFINEMENT_H

#include "core/need.h"
#include "core/schema.h"
#include "solvers/factor/reconstructor.h"

typedef enum bb_refine_method {
    BB_REFINE_NONE,
    BB_REFINE_IR,
    BB_REFINE_CG,
    BB_REFINE_GMRES,
} bb_refine_method;

/// Keys under `refine:` of a pipeline.
typedef struct bb_refine_config {
    int method; ///< bb_refine_method
    double tolerance;
    bb_index iterations; ///< limit per row
} bb_refine_config;

extern const bb_schema bb_refine_schema;

/// Statistics of the rows; zero-initialise.
typedef struct bb_refinement_report {
    bb_index rows;
    bb_index iterations; ///< sum over all rows
    bb_index slowest;    ///< maximum over the rows
    bb_index failed;     ///< rows that did not reach the tolerance
    double worst;        ///< largest relative residual of a row
} bb_refinement_report;

/// Refined inverse: the context of bb_inverse_of_refinement. Everything is borrowed.
typedef struct bb_refinement {
    const bb_matrix_source *matrix; ///< A, n x n, symmetric
    const double *scale;            ///< [n] diagonal of D, NULL for none
    const bb_tile_matrix *factor;   ///< factor of D A D
    bb_refine_config config;        ///< any method except none
    bb_refinement_report report;    ///< every solve adds to it
} bb_refinement;

/// X <- X A^-1 for X [rows][n]. Rows that reach the iteration limit, stagnate or break down give
/// the outcome not_converged, those that become NaN or infinite non_finite; its detail has the
/// numbers and causes. Errors: BB_MEMORY, BB_INVALID, errors of the source.
BB_CHECKED bb_status bb_refinement_solve(bb_refinement *refinement, bb_index rows, double *x,
                                         bb_outcome *outcome);

bb_inverse bb_inverse_of_refinement(bb_refinement *context);

/// Cost of refining `rows` right-hand sides, without these and without the solves with the factor,
/// for a typical number of iterations; `fill` is the cost of one pass over A. Zero without a
/// method.
bb_need bb_refinement_need(const bb_refine_config *config, bb_index n, bb_index rows, bb_need fill,
                           double threads);

/// Break-even number of iterations, n / (12 rows).
double bb_refinement_break_even(bb_index n, bb_index rows);

/// Operations of the refinement without the solves with the factor: 2 n^2 for each row's first
/// residual and 4 n^2 for each iteration.
double bb_refinement_flops(bb_index n, const bb_refinement_report *report);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Conjugate gradients for (D + s S) x = b with sparse symmetric S and a diagonal D, positive
// definite together, preconditioned by the diagonal of the whole (Jacobi), in fp64. Sums run over
// fixed ranges, so that bits do not depend on the thread count.
#ifndef BB_SOLVERS_STEP_SHIFTED_CG_H
#define BB_SOLVERS_STEP_SHIFTED_CG_H

#include "core/csr.h"

typedef struct bb_shifted_cg bb_shifted_cg;

/// `matrix` S [n][n] is borrowed, `scale` is s. Errors: BB_INVALID (S not square), BB_MEMORY.
BB_CHECKED bb_status bb_shifted_cg_create(const bb_csr *matrix, double scale, bb_shifted_cg **out);
bb_need bb_shifted_cg_need(double unknowns);
void bb_shifted_cg_destroy(bb_shifted_cg **solver);

/// x [n] for `diagonal` D [n] and right-hand side b [n], from x = 0, until the residual of the
/// recursion, in the norm of the preconditioner, is at most `tolerance` times b's. Errors:
/// BB_INVALID (not positive definite, not finite, or not there after 10000 iterations).
BB_CHECKED bb_status bb_shifted_cg_solve(bb_shifted_cg *solver, const double *diagonal,
                                         const double *b, double tolerance, double *x);

/// Iterations of all solves so far.
bb_index bb_shifted_cg_iterations(const bb_shifted_cg *solver);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Time stepping of a linear system with sparse inputs, in fp64; explicit steps also with narrow
// storage and arithmetic.
//
// Explicit: T <- A T + B (u - g (T - T_out)), sparse A, diagonal B. Crank-Nicolson, for M dT/dt =
// -S T + u / dt - g / dt (T - T_out) with symmetric S and diagonal M:
//     (M + dt/2 S + g/2) D = -dt S T + u - g (T - T_out),    T <- T + D
// by conjugate gradients with Jacobi preconditioning to 1e-13 of the right-hand side. The final
// update is explicit, T <- T + M^-1 (u - dt S T* - g (T* - T_out)), with T* = T + D/2 the mean of
// both ends. Exchanged and stored heat thus balance to rounding, whatever the residual. Second
// order; modes that are too fast for the step are not damped, and ring.
//
// u is the input of a step [J]. g is a time-dependent diagonal: the exchange of single unknowns
// with an outside of temperature T_out during the step [J/K]. If unknown i has a partner j, both
// exchange -g (T_i + T_j - T_out). Implicit steps solve for D without the coupling g/2 between the
// two, which is still second order; the final update includes it.
#ifndef BB_SOLVERS_STEP_STEPPER_H
#define BB_SOLVERS_STEP_STEPPER_H

#include "solvers/step/narrow_matrix.h"

#include <stdbool.h>

typedef struct bb_stepper bb_stepper;

/// Sparse inputs of one step. Each unknown occurs at most once in each list.
typedef struct bb_stepper_input {
    bb_index count;
    const int32_t *where; ///< [count] unknowns with an input
    const double *u;      ///< [count] inputs u [J]
    bb_index exchange_count;
    const int32_t *exchange_where; ///< [exchange_count] unknowns that exchange heat
    const double *exchange;        ///< [exchange_count] g [J/K], at least 0
    double outside;                ///< T_out
    bb_index partner; ///< 0: none; otherwise unknown i + partner exchanges with i, both through g
                      ///< at T_i + T_j
} bb_stepper_input;

/// Creates a stepper for explicit steps from T = 0. `a` [n][n] and `b` [n] (the diagonal of B) are
/// borrowed and must outlive the stepper. Errors: BB_INVALID (a not square), BB_MEMORY.
BB_CHECKED bb_status bb_stepper_create(const bb_csr *a, const double *b, bb_stepper **out);

/// Creates a stepper for explicit steps with A and the state stored in one format and multiplied in
/// another (narrow_matrix.h). B u is rounded as an operand and B g as a coefficient; the state is
/// rounded at the end of a step.
BB_CHECKED bb_status bb_stepper_create_narrow(const bb_csr *a, const double *b,
                                              const bb_narrow_formats *formats, bb_stepper **out);

/// Creates a stepper for Crank-Nicolson steps of length `step` from T = 0. `s` [n][n], symmetric
/// and not negative, and `m` [n], positive, are borrowed. Errors: BB_INVALID (s not square),
/// BB_MEMORY.
BB_CHECKED bb_status bb_stepper_create_implicit(const bb_csr *s, const double *m, double step,
                                                bb_stepper **out);

/// Memory of a stepper of n unknowns, and cost of a step.
bb_need bb_stepper_need(double unknowns, bool implicit);
bb_need bb_stepper_step_need(double unknowns, bool implicit, double threads);
void bb_stepper_destroy(bb_stepper **stepper);

/// Performs one step. Errors of implicit steps: BB_INVALID (no convergence, values that are not
/// finite).
BB_CHECKED bb_status bb_stepper_advance(bb_stepper *stepper, const bb_stepper_input *input);

/// Performs one step with inputs only: unknown where[i] receives u[i], for `count` of them.
BB_CHECKED bb_status bb_stepper_step(bb_stepper *stepper, bb_index count, const int32_t *where,
                                     const double *u);

/// Sets `count` unknowns from `first` on to `values` [count], rounded to the storage format.
void bb_stepper_set(bb_stepper *stepper, bb_index first, bb_index count, const double *values);

/// The state [n]; valid until the next step.
const double *bb_stepper_state(const bb_stepper *stepper);

/// State [n] at which the last step exchanged heat: the state at its start, or T* of an implicit
/// step. Valid until the next step.
const double *bb_stepper_exchanged(const bb_stepper *stepper);

// Conjugate gradients for (D + s S) x = b with sparse symmetric S and diagonal D, positive definite
// together, with Jacobi preconditioning by the diagonal of D + s S, in fp64. Sums run over fixed
// ranges, so that bits do not depend on the thread count.

typedef struct bb_shifted_cg bb_shifted_cg;

/// Creates the solver: `matrix` S [n][n] is borrowed, `scale` is s. Errors: BB_INVALID (S not
/// square), BB_MEMORY.
BB_CHECKED bb_status bb_shifted_cg_create(const bb_csr *matrix, double scale, bb_shifted_cg **out);
bb_need bb_shifted_cg_need(double unknowns);
void bb_shifted_cg_destroy(bb_shifted_cg **solver);

/// Solves for x [n] with `diagonal` D [n] and right-hand side b [n], starting at x = 0. Stops when
/// the recursive residual, in the norm of the preconditioner, is at most `tolerance` times that of
/// b. Errors: BB_INVALID (not positive definite, not finite, or no convergence in 10000
/// iterations).
BB_CHECKED bb_status bb_shifted_cg_solve(bb_shifted_cg *solver, const double *diagonal,
                                         const double *b, double tolerance, double *x);

/// Total iterations of all solves.
bb_index bb_shifted_cg_iterations(const bb_shifted_cg *solver);

#endif

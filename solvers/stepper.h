// SPDX-License-Identifier: Apache-2.0
//
// Time stepping of a linear system, T <- A T + B u, with sparse A and diagonal B, in fp64.
#ifndef BB_SOLVERS_STEPPER_H
#define BB_SOLVERS_STEPPER_H

#include "core/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_stepper bb_stepper;

/// Starts at T = 0. `a` [n][n] and `b` [n] (the diagonal of B) are borrowed and must outlive the
/// stepper. Errors: BB_INVALID (a not square), BB_MEMORY.
BB_CHECKED bb_status bb_stepper_create(const bb_csr *a, const double *b, bb_stepper **out);
void bb_stepper_destroy(bb_stepper **stepper);

/// One step with a sparse input: unknown where[i] takes b * u[i], `count` of them, each at most
/// once.
BB_CHECKED bb_status bb_stepper_step(bb_stepper *stepper, bb_index count, const int32_t *where,
                                     const double *u);

/// The state [n]; valid until the next step.
const double *bb_stepper_state(const bb_stepper *stepper);

#ifdef __cplusplus
}
#endif

#endif

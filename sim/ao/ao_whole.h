// SPDX-License-Identifier: Apache-2.0
//
// Whole residuals of an ao study: the covariances of phase and slopes of its targets, made when a
// score first asks for them.
//
// The exact score needs pairs of points and the fitting error; of mirrors that correct together no
// shake, which is known of slopes alone. Other studies add error terms as if they were independent
// (physics/ao/score/error_terms.h).
#ifndef BB_SIM_AO_AO_WHOLE_H
#define BB_SIM_AO_AO_WHOLE_H

#include "physics/ao/score/whole_residual.h"
#include "sim/ao/ao_evaluation.h"

/// Zero-initialise, then set `study` and `problem`, both borrowed; release with
/// bb_ao_whole_release.
typedef struct bb_ao_whole {
    const bb_ao_study *study; ///< NULL: error terms are independent whatever it says
    const bb_tomography *problem;
    bb_whole_residual **models; ///< [targets], NULL until they are asked for
} bb_ao_whole;

void bb_ao_whole_release(bb_ao_whole *self);

/// Whether scores by pairs of a study are of the whole residual, and whether it has any.
bool bb_ao_whole_applies(const bb_ao_study *study);
bool bb_ao_whole_is_scored(const bb_ao_whole *self);

/// The rule between the exact combination and the coefficient of the independent one. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_ao_whole_check(const bb_ao_study *study, const bb_config *config,
                                       bb_problems *problems);

/// The matrix of an evaluation that a whole residual towards a target is of: its reconstructor, or
/// M of mirrors that correct together.
const double *bb_ao_whole_matrix(const bb_tomography *problem, const bb_ao_evaluation *evaluation,
                                 bb_index target);

/// Sets what scores an evaluation towards a target by pairs into `out`; `*estimate` is `out`, or
/// NULL where error terms are independent. `product` is M Cmm M^T of mirrors that correct together,
/// borrowed. Errors: those of bb_whole_residual_create.
BB_CHECKED bb_status bb_ao_whole_estimate(bb_ao_whole *self, const bb_ao_evaluation *evaluation,
                                          bb_index target, const double *product,
                                          bb_whole_estimate *out,
                                          const bb_whole_estimate **estimate);

/// Definition of a score, by pairs or not: attribute `definition` of its datasets.
const char *bb_ao_whole_definition(const bb_ao_study *study, bool pairs);

#endif

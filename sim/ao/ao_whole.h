// SPDX-License-Identifier: Apache-2.0
//
// Whole residuals of an ao study: covariances of phase and slopes of its targets, computed on first
// use.
//
// The exact score needs pairs of points and the fitting error. With mcao it excludes shake, which
// is known for slopes only. Other studies add error terms as independent ones
// (physics/ao/score/error_terms.h).
#ifndef BB_SIM_AO_AO_WHOLE_H
#define BB_SIM_AO_AO_WHOLE_H

#include "physics/ao/score/whole_residual.h"
#include "sim/ao/ao_evaluation.h"

/// Models of whole residuals. Zero-initialise, then set `study` and `problem`, both borrowed;
/// release with bb_ao_whole_release.
typedef struct bb_ao_whole {
    const bb_ao_study *study; ///< NULL: error terms are independent, whatever the study's keys
    const bb_tomography *problem;
    bb_whole_residual **models; ///< [targets], NULL until first used
} bb_ao_whole;

void bb_ao_whole_release(bb_ao_whole *self);

/// True if a study's scores by pairs include the whole residual; true if the study of the models
/// also has such scores.
bool bb_ao_whole_applies(const bb_ao_study *study);
bool bb_ao_whole_is_scored(const bb_ao_whole *self);

/// Checks the keys of the exact combination against those of the independent one. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_ao_whole_check(const bb_ao_study *study, const bb_config *config,
                                       bb_problems *problems);

/// Matrix of an evaluation for the whole residual of a target: its reconstructor, or M with mcao.
const double *bb_ao_whole_matrix(const bb_tomography *problem, const bb_ao_evaluation *evaluation,
                                 bb_index target);

/// Fills `out`, the estimate for the score of one target by pairs; `*estimate` is `out`, or NULL
/// with independent error terms. `product` is M Cmm M^T with mcao, borrowed. Errors: those of
/// bb_whole_residual_create.
BB_CHECKED bb_status bb_ao_whole_estimate(bb_ao_whole *self, const bb_ao_evaluation *evaluation,
                                          bb_index target, const double *product,
                                          bb_whole_estimate *out,
                                          const bb_whole_estimate **estimate);

/// Definition of a score, by pairs or not, for the attribute `definition` of its datasets.
const char *bb_ao_whole_definition(const bb_ao_study *study, bool pairs);

#endif

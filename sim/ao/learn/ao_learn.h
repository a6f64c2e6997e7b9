// SPDX-License-Identifier: Apache-2.0
//
// The learn step of an ao study: a profile learned from a covariance of slopes
// (physics/ao/learn/learn.h) and the reconstructors made with it, while the score keeps the true
// profile.
#ifndef BB_SIM_AO_LEARN_AO_LEARN_H
#define BB_SIM_AO_LEARN_AO_LEARN_H

#include "sim/ao/ao_scoring.h"
#include "sim/output/checkpoint.h"
#include "sim/pipelines/factor_problem.h"

typedef struct bb_ao_learning bb_ao_learning;

/// Opens the covariance that a study learns from, if it learns from a file, as a run would: shape
/// and unit, no values. Errors: bb_matrix_file_open's, BB_INVALID (another unit, or not one of
/// the guide stars' `slopes`).
BB_CHECKED bb_status bb_ao_learning_check(const bb_ao_learn_config *learn, bb_index slopes);

/// Learns as `study->learn` says and adds the group /learn; `*out` is NULL where it is off. With
/// `apply`, `solving`, which is not prepared yet, is pointed at the covariances of the learned
/// profile. What was learned comes from `resumed` unless that is NULL. Errors: BB_MEMORY,
/// bb_matrix_file_open's, bb_checkpoint_take's, BB_INVALID (a covariance of another size),
/// BB_UNSUPPORTED (frames of a sensor that stands askew). Owner of `*out`: the caller, for as long
/// as `solving` is in use.
BB_CHECKED bb_status bb_ao_learning_start(const bb_ao_study *study, const bb_ao_config *physics,
                                          const bb_tomography *problem,
                                          bb_factor_problem *factor_problem, bb_checkpoint *resumed,
                                          bb_results *results, bb_ao_learning **out);
void bb_ao_learning_destroy(bb_ao_learning **learning);

enum { BB_AO_LEARNING_PIECES = 7 };

/// What a checkpoint has to keep of what was learned; returns how many pieces, 0 without
/// `learning`.
bb_index bb_ao_learning_list(const bb_ao_learning *learning,
                             bb_checkpoint_piece pieces[BB_AO_LEARNING_PIECES]);

/// Where nothing could be learned that was to be applied, no evaluation stands: its outcome is that
/// of the learning.
void bb_ao_learning_hold(const bb_ao_learning *learning, bb_ao_evaluation *evaluation);

/// With `apply`, solves the reference pipeline with the true profile too and adds what learning
/// costs, by the study's score: /learn/strehl_known and /learn/strehl_loss. Errors: as those of a
/// pipeline.
BB_CHECKED bb_status bb_ao_learning_compare(const bb_ao_learning *learning, bb_ao_scoring *scoring,
                                            const bb_ao_evaluation *evaluations,
                                            bb_results *results);

#endif

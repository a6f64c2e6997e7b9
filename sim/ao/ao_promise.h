// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with `policy: {kind: promise, price: x}`: the cheapest arithmetic whose Strehl
// ratio, of every target and wavelength or of the first (`over`), is at most x below the
// reference's.
//
// What is tried stands in sim/pipelines/factor_candidates.h: variants throughout from the cheapest
// on, until one keeps the promise; then mixtures of that one with cheaper ones, by bisection. A
// candidate is tried by the full chain on the pipeline's device: factor, R, residual covariance
// over the unperturbed Cmm, Strehl ratios; one that breaks down is not kept. Of a pipeline with
// draws every one has to keep the promise, and the worst is the candidate's loss. Returned is the
// trial of least cost of those that kept the promise, whatever it was: verified, and never dearer
// than another that was tried. That no other mixture is cheaper is as sure as the loss is monotone
// along them.
#ifndef BB_SIM_AO_AO_PROMISE_H
#define BB_SIM_AO_AO_PROMISE_H

#include "sim/ao/ao_evaluation.h"
#include "sim/output/checkpoint.h"
#include "sim/pipelines/factor_problem.h"

/// What a search needs; everything is borrowed.
typedef struct bb_ao_promise_task {
    const bb_tomography *problem;
    const bb_factor_problem *factor_problem;
    const bb_factor_pipeline *pipelines; ///< of the study
    bb_index wavelength_count;
    const double *wavelengths_m;       ///< [wavelength_count]
    const bb_ao_evaluation *reference; ///< scored
    int correction;                    ///< bb_ao_correction
    bb_score score;                    ///< the study's
    bool scores_on_device;             ///< as the study's results are scored
} bb_ao_promise_task;

/// Trials of all searches of a run, for the results. Opaque, owned by the caller.
typedef struct bb_ao_promises bb_ao_promises;

BB_CHECKED bb_status bb_ao_promises_create(bb_ao_promises **out);
void bb_ao_promises_destroy(bb_ao_promises **promises);

/// Searches for one of the pipelines and leaves the found candidate's work in `evaluation`
/// (created, not solved); its detail says what was found. A matrix that failed by itself gives its
/// outcome, a reference that failed underdetermined. Errors: those of bb_factor_problem_solve,
/// bb_factor_map_norms and bb_factor_device_score.
BB_CHECKED bb_status bb_ao_promise_keep(bb_ao_promises *promises, const bb_ao_promise_task *task,
                                        const bb_factor_pipeline *pipeline,
                                        bb_ao_evaluation *evaluation);

enum { BB_AO_PROMISES_PIECES = 2 };

/// What a checkpoint has to keep of the trials, and reading it back for a study of `pipelines`.
/// Errors: those of bb_checkpoint_take, BB_IO (trials that cannot be).
void bb_ao_promises_list(const bb_ao_promises *promises,
                         bb_checkpoint_piece pieces[BB_AO_PROMISES_PIECES]);
BB_CHECKED bb_status bb_ao_promises_take(bb_ao_promises *promises, bb_index pipelines,
                                         bb_checkpoint *checkpoint);

/// Writes the group /promise, one row a trial; nothing where nothing was tried.
BB_CHECKED bb_status bb_ao_promises_publish(const bb_ao_promises *promises,
                                            const bb_factor_pipeline *pipelines,
                                            bb_results *results);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Storage of estimates of `experiment: ao`: modes added to the norm, and a group for each sensor's
// slopes along an axis.
#ifndef BB_SIM_AO_AO_STORAGE_H
#define BB_SIM_AO_AO_STORAGE_H

#include "sim/ao/ao_evaluation.h"
#include "sim/pipelines/factor_storage.h"

/// What a pipeline was solved to, for those after it that are solved alike.
typedef struct bb_ao_solved {
    const bb_factor_pipeline *pipeline; ///< borrowed; NULL: nothing is kept
    bb_ao_evaluation evaluation;        ///< of which `common` and `r` stand
} bb_ao_solved;

/// Zero-initialise, then bb_ao_storage_open; release with bb_ao_storage_release.
typedef struct bb_ao_storage {
    const bb_tomography *problem;
    bool resident; ///< reconstructors that a GPU solves and nothing rounds are left there
    bb_ao_solved solved;
    bb_unknown_modes unknown;
    bb_index *groups; ///< [n] sensor and axis of a measurement, then the sizes of groups
    bb_factor_storage common;
} bb_ao_storage;

/// Borrows both problems; `study_device` is the study's wish, `inflation` the variances of what the
/// covariance does not know. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_storage_open(const bb_factor_problem *factor_problem, int study_device,
                                        const bb_tomography *problem,
                                        const bb_unknown_modes_config *inflation,
                                        bb_ao_storage *out);
void bb_ao_storage_release(bb_ao_storage *self);

/// Whether the reconstructors of a study are only scored, but for what a pipeline rounds: nothing
/// reads, dumps, shakes or averages them on the host, and no whole residual is made of them.
bool bb_ao_storage_only_scores(const bb_ao_study *study, const char *dump);

/// Whether a pipeline of such a study uses its reconstructors as they are solved, and whether any
/// pipeline of a study does not.
bool bb_ao_storage_is_unmodified(const bb_factor_pipeline *pipeline);
bool bb_ao_storage_any_modified(const bb_ao_study *study);

/// Factors and solves as the pipeline says, into the evaluation's estimates and what shares them,
/// where the evaluation computes; what rounding keeps of a device makes room before. Errors: those
/// of bb_factor_problem_solve.
BB_CHECKED bb_status bb_ao_storage_solve(bb_ao_storage *self,
                                         const bb_factor_problem *factor_problem,
                                         const bb_factor_pipeline *pipeline, int correction,
                                         bb_ao_evaluation *evaluation);

/// The same, or what a pipeline that is solved alike (bb_factor_pipeline_solves_alike) was solved
/// to before, seconds and all: to the bit the same. `keeps`: one after it wants this one. Draw 0 of
/// one problem. Errors: likewise.
BB_CHECKED bb_status bb_ao_storage_solve_once(bb_ao_storage *self,
                                              const bb_factor_problem *factor_problem,
                                              const bb_factor_pipeline *pipeline, int correction,
                                              bool keeps, bb_ao_evaluation *evaluation);

/// Copies of every estimate of an evaluation that there is, into out [targets], NULL before.
/// Errors: BB_MEMORY. Owner of each: the caller, after a failure too.
BB_CHECKED bb_status bb_ao_storage_copy(const bb_tomography *problem,
                                        const bb_ao_evaluation *solved, double **out);

/// Puts what the pipeline's storage decodes to in the place of every estimate that was solved, of
/// its commands where they are what is stored, as one of the storage's draws; an outcome says why
/// one cannot be held. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_ao_storage_apply(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                                         bb_index draw, bb_ao_evaluation *evaluation);

/// The same of estimates that are commands already where those are stored
/// (bb_ao_commands_replace_estimates).
BB_CHECKED bb_status bb_ao_storage_round(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                                         bb_index draw, bb_ao_evaluation *evaluation);

#endif

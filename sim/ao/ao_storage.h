// SPDX-License-Identifier: Apache-2.0
//
// Storage of estimates of `experiment: ao`: modes added to the norm, and slope groups by sensor and
// axis.
#ifndef BB_SIM_AO_AO_STORAGE_H
#define BB_SIM_AO_AO_STORAGE_H

#include "sim/ao/ao_evaluation.h"
#include "sim/pipelines/factor_storage.h"

/// Solution of a pipeline, cached for later pipelines with the same solve.
typedef struct bb_ao_solved {
    const bb_factor_pipeline *pipeline; ///< borrowed; NULL: nothing is cached
    bb_ao_evaluation evaluation;        ///< only `common` and `r` are set
} bb_ao_solved;

/// Storage of estimates. Zero-initialise, then bb_ao_storage_open; release with
/// bb_ao_storage_release.
typedef struct bb_ao_storage {
    const bb_tomography *problem;
    bool resident; ///< reconstructors solved on a GPU and not rounded stay there
    bb_ao_solved solved;
    bb_unknown_modes unknown;
    bb_index *groups; ///< [n] sensor and axis of a measurement, then the sizes of groups
    bb_factor_storage common;
} bb_ao_storage;

/// Opens the storage and borrows both problems. `study_device` is the study's `device`, `inflation`
/// the variances of modes outside the covariance. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_storage_open(const bb_factor_problem *factor_problem, int study_device,
                                        const bb_tomography *problem,
                                        const bb_unknown_modes_config *inflation,
                                        bb_ao_storage *out);
void bb_ao_storage_release(bb_ao_storage *self);

/// True if the reconstructors of a study are only scored, apart from rounding by pipelines. The
/// host must not read, dump, shake or average them, or compute a whole residual from them.
bool bb_ao_storage_only_scores(const bb_ao_study *study, const char *dump);

/// True if a pipeline of such a study uses its reconstructors without rounding; true if any
/// pipeline of a study modifies its reconstructors.
bool bb_ao_storage_is_unmodified(const bb_factor_pipeline *pipeline);
bool bb_ao_storage_any_modified(const bb_ao_study *study);

/// Factors and solves as the pipeline prescribes, into the evaluation's estimates, on the
/// evaluation's device. Device memory of the rounding is released first. Errors: those of
/// bb_factor_problem_solve.
BB_CHECKED bb_status bb_ao_storage_solve(bb_ao_storage *self,
                                         const bb_factor_problem *factor_problem,
                                         const bb_factor_pipeline *pipeline, int correction,
                                         bb_ao_evaluation *evaluation);

/// Solves like bb_ao_storage_solve, or copies the cached solution of a pipeline with the same solve
/// (bb_factor_pipeline_solves_alike), with the same bits and times. `keeps`: cache this solution
/// for a later pipeline. Draw 0 of one problem only. Errors: likewise.
BB_CHECKED bb_status bb_ao_storage_solve_once(bb_ao_storage *self,
                                              const bb_factor_problem *factor_problem,
                                              const bb_factor_pipeline *pipeline, int correction,
                                              bool keeps, bb_ao_evaluation *evaluation);

/// Copies every estimate of an evaluation into out [targets], which is NULL before. The caller owns
/// each copy, after a failure too. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_ao_storage_copy(const bb_tomography *problem,
                                        const bb_ao_evaluation *solved, double **out);

/// Replaces every solved estimate, or its commands where those are stored, by the values decoded
/// from the pipeline's storage, as one of its draws. The outcome tells if the storage cannot
/// represent one. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_ao_storage_apply(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                                         bb_index draw, bb_ao_evaluation *evaluation);

/// Rounds as above, for estimates that are commands already where a pipeline stores commands
/// (bb_ao_commands_replace_estimates).
BB_CHECKED bb_status bb_ao_storage_round(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                                         bb_index draw, bb_ao_evaluation *evaluation);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Configuration of a reconstructor study: the user's covariances, without physics.
#ifndef BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_STUDY_H
#define BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_STUDY_H

#include "sim/input/matrix_file.h"
#include "sim/pipelines/factor_pipeline.h"

/// Keys of `solver:`.
typedef struct bb_reconstructor_solver_config {
    bb_factor_solver_config common;
} bb_reconstructor_solver_config;

/// Keys of `low_rank:`; absent keys are NULL.
typedef struct bb_reconstructor_low_rank {
    const char *file, *dataset; ///< U [n][count]
    const char *weights;        ///< dataset of the same file, [count] values; NULL: infinite
} bb_reconstructor_low_rank;

typedef struct bb_reconstructor_study {
    bb_study common;
    bb_matrix_place covariance;         ///< A [n][n], symmetric positive definite: Cmm
    bb_reconstructor_low_rank low_rank; ///< low-rank part of Cmm next to A: U diag(w) U^T
    bb_matrix_place cross_covariance;   ///< B [m][n]: Ctm
    bb_matrix_place truth_covariance;   ///< [m][m]: Ctt; members NULL: not given
    bb_reconstructor_solver_config solver;
    bb_machine_price_config machine;
    bb_list pipelines; ///< list of bb_factor_pipeline
} bb_reconstructor_study;

extern const bb_schema bb_reconstructor_study_schema;

/// Example study with every required key, for `bitbudget new`.
extern const char bb_reconstructor_study_starter[];

/// Checks the rules between keys of a bb_reconstructor_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_reconstructor_study_check(const void *study, const bb_config *config,
                                                  bb_problems *problems);

#endif

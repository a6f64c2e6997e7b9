// SPDX-License-Identifier: Apache-2.0
//
// Work of a pipeline on a covariance: tiles, factor, and R = B A^-1 for every right-hand side.
#ifndef BB_SIM_PIPELINES_FACTOR_PROBLEM_H
#define BB_SIM_PIPELINES_FACTOR_PROBLEM_H

#include "core/device/device.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/factor_pipeline.h"
#include "solvers/factor/reconstructor.h"

/// Reconstructors on the first GPU, [rows of all targets][n] in fp64.
typedef struct bb_factor_resident {
    bb_device *device;
    void *r; ///< NULL: none
} bb_factor_resident;

void bb_factor_resident_release(bb_factor_resident *self);

/// Matrix and right-hand sides; everything except `scale` and `noise_floor` is borrowed.
/// Zero-initialise, then bb_factor_problem_prepare; release with bb_factor_problem_release.
typedef struct bb_factor_problem {
    const bb_factor_solver_config *solver;
    const bb_matrix_source *matrix;       ///< n x n, symmetric: the factored matrix
    bb_low_rank part;                     ///< low-rank part of A; count 0: none
    bb_index target_count;                ///< number of right-hand sides
    const bb_matrix_source *const *sides; ///< [target_count] B, each m x n
    const double *noise;      ///< [n] lower bounds of the noise variances in A, NULL where unknown
    uint64_t seed;            ///< seed of the draws
    bb_index draw;            ///< number of the draw; 0: no added randomness
    const double *tile_norms; ///< bb_tile_norms of D A D in the solver's tiles, NULL: computed if a
                              ///< rule needs them
    double *scale;            ///< [n] scale to the unit diagonal, NULL for none
    const struct bb_factor_engine *engine; ///< engine on the CPU, NULL: this process's own
    bb_factor_resident *resident; ///< receives R if a GPU solves, and every r[t] stays NULL; NULL:
                                  ///< R is copied to the host
    struct bb_residual_scorer *kept; ///< scorer over `matrix` on the GPU that solves, which shares
                                     ///< its cached panels; NULL: panels are filled
    double noise_floor; ///< lower bound on the smallest eigenvalue of D A D, NaN unknown
    bb_outcome outcome; ///< outcome of the matrix itself; a failure applies to every pipeline
} bb_factor_problem;

/// Computes the scale of the solver's configuration, and the noise floor min_i d_i^2 noise_i, by
/// which noise bounds the eigenvalues of an otherwise positive semidefinite covariance. If the
/// diagonal cannot be scaled, sets the outcome: non_finite, or not_spd if an entry is not positive.
/// Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_factor_problem_prepare(bb_factor_problem *problem);
void bb_factor_problem_release(bb_factor_problem *problem);

/// Rows of all right-hand sides, including the low-rank part.
bb_index bb_factor_problem_sides(const bb_factor_problem *problem);

/// Warms up the kernels of a pipeline and of all escalations, if the device has kernels; no effect
/// once they have been used. Not thread-safe. Errors: from bb_factor_warm.
BB_CHECKED bb_status bb_factor_problem_warm(const bb_factor_solver_config *solver,
                                            const bb_factor_pipeline *pipeline,
                                            bb_device_kind device);

/// Costs of all attempts of a pipeline: bytes of operators, operations, s.
typedef struct bb_factor_effort {
    double bytes, flops, encode_seconds, solve_seconds;
} bb_factor_effort;

/// Factors and solves a pipeline, with the solver's dither and, for draws above 0, the draw's
/// factors on the rows after the scale. The policy's map is that of the matrix without either.
/// Allocates r[t] [m][n] for each target reached, or leaves them on the GPU (`resident`). With
/// `escalate`, a failure is followed by x3 throughout and then dp. Bytes, operations and seconds
/// include all attempts. The outcome is that of the last attempt, and its detail lists the earlier
/// ones. The first use of a device's kernels is not timed. Bytes, operations, seconds, the report
/// and a numerical failure go to `evaluation`. A rule without a tolerance fails as underdetermined
/// if noise gives no floor. Errors: BB_MEMORY, BB_INVALID (the policy's), BB_IO (a table's), the
/// sources'. Owner of each r[t]: the caller, after a failure too.
BB_CHECKED bb_status bb_factor_problem_solve(const bb_factor_problem *problem,
                                             const bb_factor_pipeline *pipeline, double **r,
                                             bb_evaluation *evaluation);

#endif

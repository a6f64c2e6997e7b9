// SPDX-License-Identifier: Apache-2.0
//
// One pipeline's work on a covariance: tiles, factor, and R = B A^-1 for every right-hand side.
#ifndef BB_SIM_PIPELINES_FACTOR_PROBLEM_H
#define BB_SIM_PIPELINES_FACTOR_PROBLEM_H

#include "core/device/device.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/factor_pipeline.h"
#include "solvers/factor/reconstructor.h"

/// Reconstructors that stay on the first GPU, [rows of all targets][n] in fp64.
typedef struct bb_factor_resident {
    bb_device *device;
    void *r; ///< NULL: there are none
} bb_factor_resident;

void bb_factor_resident_release(bb_factor_resident *self);

/// What is solved; everything but `scale` and `noise_floor` is borrowed. Zero-initialise, then
/// bb_factor_problem_prepare; release with bb_factor_problem_release.
typedef struct bb_factor_problem {
    const bb_factor_solver_config *solver;
    const bb_matrix_source *matrix;       ///< n x n, symmetric: what is factored
    bb_low_rank part;                     ///< what A has beside it; count 0 for nothing
    bb_index target_count;                ///< right-hand sides
    const bb_matrix_source *const *sides; ///< [target_count] B, each m x n
    const double *noise;      ///< [n] lower bounds of the noise variances in A, NULL where unknown
    uint64_t seed;            ///< of the draws
    bb_index draw;            ///< which one is solved; 0: as the pipeline says
    const double *tile_norms; ///< bb_tile_norms of D A D in the solver's tiles, NULL: they are
                              ///< found where a rule asks
    double *scale;            ///< [n] of the unit diagonal, NULL for none
    const struct bb_factor_engine *engine; ///< that factors on the cpu, NULL: this process's own
    bb_factor_resident *resident; ///< takes R where a GPU solves, and every r[t] stays NULL; NULL:
                                  ///< R comes to the host
    struct bb_residual_scorer *kept; ///< scores over `matrix` on the GPU that solves, and shares
                                     ///< its panels on the device; NULL: they are filled
    double noise_floor;              ///< lower bound of the least eigenvalue of D A D, NaN unknown
    bb_outcome outcome; ///< of the matrix by itself; where that is a failure, every pipeline's
} bb_factor_problem;

/// Makes the scale that the solver's configuration asks for, and the noise floor min_i d_i^2
/// noise_i: what noise adds to a covariance that is positive semidefinite without it. A diagonal
/// that has no scale is the problem's outcome: non_finite, or not_spd where an entry is not
/// positive. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_factor_problem_prepare(bb_factor_problem *problem);
void bb_factor_problem_release(bb_factor_problem *problem);

/// Rows of all right-hand sides, those of the low-rank part among them.
bb_index bb_factor_problem_sides(const bb_factor_problem *problem);

/// First use of the kernels of a pipeline and of all that may follow its failure, where the device
/// has kernels; nothing where they have been used. Not from two threads at once. Errors: those of
/// bb_factor_warm.
BB_CHECKED bb_status bb_factor_problem_warm(const bb_factor_solver_config *solver,
                                            const bb_factor_pipeline *pipeline,
                                            bb_device_kind device);

/// Costs of all attempts of a pipeline: bytes of operators, operations, s.
typedef struct bb_factor_effort {
    double bytes, flops, encode_seconds, solve_seconds;
} bb_factor_effort;

/// Factors and solves as the pipeline says, with the solver's dither and, above 0, a draw's factors
/// on the rows after the scale; the policy's map is that of the matrix without either. Allocates
/// r[t] [m][n] for each target that is reached, or leaves them on the GPU (`resident`). With
/// `escalate`, a failure is followed by x3 throughout and then dp, and bytes, operations and
/// seconds count all attempts; the outcome is the last one's, its detail says what went before. The
/// first use of a device's kernels is not in the seconds. Bytes, operations, seconds, the report
/// and a numerical failure go to `evaluation`, a rule without a tolerance where noise gives the
/// matrix no floor (underdetermined) among them. Errors: BB_MEMORY, BB_INVALID (the policy's),
/// BB_IO (a table's), the sources'. Owner of each r[t]: the caller, after a failure too.
BB_CHECKED bb_status bb_factor_problem_solve(const bb_factor_problem *problem,
                                             const bb_factor_pipeline *pipeline, double **r,
                                             bb_evaluation *evaluation);

#endif

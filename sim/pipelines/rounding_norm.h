// SPDX-License-Identifier: Apache-2.0
//
// Covariance that defines the norm for rounding reconstructors (solvers/factor/rounding_sweep.h),
// and its factor: in fp64 on the CPU, or by panels on the first GPU, there in fp64 if that fits in
// memory with a sweep, else in x3. It is the problem's covariance, with the finite variances of its
// low-rank part,
//
//     A = Cmm + modes:            modes outside the covariance are added, so that errors avoid
//                                 them;
//     P (Cmm + modes) P           with the filter of means, which applies P to the slopes before
//       + c (I - P):              the product; errors on means then cost nothing, and c, the mean
//                                 of the diagonal of P Cmm P, keeps the matrix definite.
#ifndef BB_SIM_PIPELINES_ROUNDING_NORM_H
#define BB_SIM_PIPELINES_ROUNDING_NORM_H

#include "sim/pipelines/factor_plan.h"
#include "sim/pipelines/factor_problem.h"
#include "solvers/factor/rounding_sweep.h"

/// Slopes of one sensor along one axis, whose mean may be filtered.
typedef struct bb_slope_groups {
    bb_index count;        ///< 0: none
    const bb_index *group; ///< [n] group of a measurement
    const bb_index *size;  ///< [count] number of measurements
} bb_slope_groups;

/// Norm e A e^T of rounding errors e, and its factors. Zero-initialise, then set the borrowed
/// members; release with bb_rounding_norm_release.
typedef struct bb_rounding_norm {
    const bb_factor_problem *problem; ///< borrowed
    bb_index most_rows;               ///< upper bound on rows of swept matrices and their truths
    bb_low_rank modes;                ///< borrowed; count 0: none
    bb_slope_groups groups;           ///< borrowed
    bool is_filtered;                 ///< true: norm of P s; false: of s
    double *means;                    ///< [n][groups] Cmm V / sizes
    double *between;                  ///< [groups][groups] `means` averaged over a group's rows
    double diagonal;                  ///< weight c of I - P
    double *centred;                  ///< [n][modes] P U
    struct bb_tile_matrix *factor;    ///< factor in fp64 on the CPU; NULL until first used
    bb_outcome outcome;               ///< outcome of that factorization
    struct bb_norm_panels *panels;    ///< factor on the device; NULL until first used
    bb_outcome device_outcome;        ///< outcome of that factorization
    bool on_device;                   ///< location of the factor prepared last
} bb_rounding_norm;

/// Matrix of the norm, with `self` as its context. Its twin on a device is the twin of the
/// problem's matrix with a low-rank update. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_rounding_norm_source(bb_rounding_norm *self, bb_matrix_source *out);

/// Factors on the CPU, once; a breakdown sets `outcome`. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_rounding_norm_factor(bb_rounding_norm *self);

/// Prepares the factor on the CPU or the device, and returns its outcome. Errors: BB_MEMORY,
/// BB_DEVICE, BB_UNSUPPORTED in a build without CUDA, the source's.
BB_CHECKED bb_status bb_rounding_norm_ready(bb_rounding_norm *self, bool on_device,
                                            const bb_outcome **outcome);

/// Releases the device memory; the next bb_rounding_norm_ready factors again.
void bb_rounding_norm_release_device(bb_rounding_norm *self);

/// Pivot L_kk of the prepared factor.
double bb_rounding_norm_pivot(const bb_rounding_norm *self, bb_index column);

/// Rounds r [m][n] in a sweep with the prepared factor; `excess` [m] receives each row's error.
/// Errors: from bb_rounding_sweep and bb_rounding_sweep_panels.
BB_CHECKED bb_status bb_rounding_norm_sweep(const bb_rounding_norm *self,
                                            const bb_rounding_step *step, bb_index m, double *r,
                                            double *excess);

/// Variances [n] of the multiplied slopes: the diagonal of Cmm, or of P Cmm P. Errors: BB_MEMORY,
/// the source's.
BB_CHECKED bb_status bb_rounding_norm_variances(bb_rounding_norm *self, double *out);
void bb_rounding_norm_release(bb_rounding_norm *self);

/// Need of factoring, and of the resident factor (`held`).
bb_need bb_rounding_norm_need(const bb_factor_solver_config *solver, const bb_factor_extent *extent,
                              bb_need *held);

/// Need of the factor on the device with a sweep of m rows, without r; all of it is temporary.
bb_need bb_rounding_norm_device_need(const bb_factor_solver_config *solver,
                                     const bb_factor_extent *extent, bb_index m);

#endif

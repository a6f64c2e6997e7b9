// SPDX-License-Identifier: Apache-2.0
//
// The covariance in whose norm reconstructors are rounded (solvers/factor/rounding_sweep.h), and
// its factor: in fp64 on the cpu, or by panels on the first GPU, there in fp64 where that fits its
// memory beside a sweep and else in x3. It is that of the problem, with the finite variances of its
// low-rank part,
//
//     A = Cmm + modes:            what the covariance does not know is added, so that errors keep
//                                 out of it;
//     P (Cmm + modes) P           where the means of each sensor are taken out of the slopes before
//       + c (I - P):              the product, P s; errors on means cost nothing then, and c, the
//                                 mean of the diagonal of P Cmm P, only keeps it definite.
#ifndef BB_SIM_PIPELINES_ROUNDING_NORM_H
#define BB_SIM_PIPELINES_ROUNDING_NORM_H

#include "sim/pipelines/factor_plan.h"
#include "sim/pipelines/factor_problem.h"
#include "solvers/factor/rounding_sweep.h"

/// Slopes whose mean may be taken out: those of one sensor along one axis.
typedef struct bb_slope_groups {
    bb_index count;        ///< 0: none are known
    const bb_index *group; ///< [n] of a measurement
    const bb_index *size;  ///< [count] measurements of a group
} bb_slope_groups;

/// Zero-initialise, then set what is borrowed; release with bb_rounding_norm_release.
typedef struct bb_rounding_norm {
    const bb_factor_problem *problem; ///< borrowed
    bb_index most_rows;               ///< of what is swept, and of its truths
    bb_low_rank modes;                ///< borrowed; count 0: none
    bb_slope_groups groups;           ///< borrowed
    bool is_filtered;                 ///< of P s, or of s
    double *means;                    ///< [n][groups] Cmm V / sizes
    double *between;                  ///< [groups][groups] of those, means over a group's rows
    double diagonal;                  ///< c
    double *centred;                  ///< [n][modes] P of their vectors
    struct bb_tile_matrix *factor;    ///< in fp64 on the cpu; NULL until it is asked for
    bb_outcome outcome;               ///< of that factorization
    struct bb_norm_panels *panels;    ///< on the device; NULL until it is asked for
    bb_outcome device_outcome;        ///< of that factorization
    bool on_device;                   ///< which of them was asked for last
} bb_rounding_norm;

/// The matrix itself; `self` is its context. Its twin on a device is that of the problem's matrix
/// with a low-rank update. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_rounding_norm_source(bb_rounding_norm *self, bb_matrix_source *out);

/// Factors on the cpu, once; a breakdown is `outcome`. Errors: BB_MEMORY, the source's.
BB_CHECKED bb_status bb_rounding_norm_factor(bb_rounding_norm *self);

/// Readies the factor on the cpu or on the device, and hands out its outcome. Errors: BB_MEMORY,
/// BB_DEVICE, BB_UNSUPPORTED in a build without CUDA, the source's.
BB_CHECKED bb_status bb_rounding_norm_ready(bb_rounding_norm *self, bool on_device,
                                            const bb_outcome **outcome);

/// Gives the device's memory back; the next call that asks factors again.
void bb_rounding_norm_release_device(bb_rounding_norm *self);

/// L_kk of the factor that is ready.
double bb_rounding_norm_pivot(const bb_rounding_norm *self, bb_index column);

/// Sweeps r [m][n] in the factor that is ready; `excess` [m] of each row. Errors: those of
/// bb_rounding_sweep and bb_rounding_sweep_panels.
BB_CHECKED bb_status bb_rounding_norm_sweep(const bb_rounding_norm *self,
                                            const bb_rounding_step *step, bb_index m, double *r,
                                            double *excess);

/// Variances [n] of the slopes that are multiplied: the diagonal of Cmm, or of P Cmm P. Errors:
/// BB_MEMORY, the source's.
BB_CHECKED bb_status bb_rounding_norm_variances(bb_rounding_norm *self, double *out);
void bb_rounding_norm_release(bb_rounding_norm *self);

/// What it takes, and what stays (`held`).
bb_need bb_rounding_norm_need(const bb_factor_solver_config *solver, const bb_factor_extent *extent,
                              bb_need *held);

/// What the factor on the device takes with a sweep of m rows, beside r; nothing of it stays.
bb_need bb_rounding_norm_device_need(const bb_factor_solver_config *solver,
                                     const bb_factor_extent *extent, bb_index m);

#endif

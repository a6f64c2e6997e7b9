// SPDX-License-Identifier: Apache-2.0
//
// Peers of unwrapping, in C on the CPU, full mask, fp32: least squares by one cosine transform, and
// hand-written weighted multigrid.
#ifndef BB_BENCH_UNWRAP_UNWRAP_PEERS_H
#define BB_BENCH_UNWRAP_UNWRAP_PEERS_H

#include "core/status.h"

/// Plain least squares (Ghiglia and Romero 1994, J. Opt. Soc. Am. A 11(1)): divergence of the
/// wrapped gradients, cosine transform, division by the eigenvalues of the Laplace operator, and
/// inverse transform. The transforms are FFTW's, planned by measurement, on all threads if FFTW
/// supports threads.
typedef struct bb_unwrap_dct bb_unwrap_dct;

/// Allocates plans and memory. Errors: BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_unwrap_dct_create(bb_index columns, bb_index rows, bb_unwrap_dct **out);
void bb_unwrap_dct_destroy(bb_unwrap_dct **dct);

/// Returns the number of threads of the transforms.
bb_index bb_unwrap_dct_threads(const bb_unwrap_dct *dct);

/// Unwraps `wrapped` [rows][columns] in rad to the congruent `phase`.
BB_CHECKED bb_status bb_unwrap_dct_run(bb_unwrap_dct *dct, const double *wrapped, double *phase);

/// The steps of solvers/unwrap/unwrap.h except the assignment of points without an edge: rejection
/// by residuals of gradients, V(2,1) cycles of red-black sweeps, reweighting, congruence. Loops in
/// C over rows with a margin of zeros, on all threads, compiled for the processor's vectors.
typedef struct bb_unwrap_loops bb_unwrap_loops;

/// Allocates memory. Errors: BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_unwrap_loops_create(bb_index columns, bb_index rows, bb_unwrap_loops **out);
void bb_unwrap_loops_destroy(bb_unwrap_loops **loops);

/// Cycles of the first least squares; number of reweightings, and cycles after each of them.
typedef struct bb_unwrap_counts {
    bb_index cycles, reweighted, reweight_cycles;
} bb_unwrap_counts;

/// As bb_unwrap_dct_run.
BB_CHECKED bb_status bb_unwrap_loops_run(bb_unwrap_loops *loops, const bb_unwrap_counts *counts,
                                         const double *wrapped, double *phase);

/// Last step of both peers: computes from `wrapped` the congruent phase nearest to `solution`
/// [rows][stride] plus a piston, the mean of their differences.
BB_CHECKED bb_status bb_unwrap_peers_congruent(const double *wrapped, const float *solution,
                                               bb_index stride, bb_index columns, bb_index rows,
                                               double *phase);

#endif

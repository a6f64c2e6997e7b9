// SPDX-License-Identifier: Apache-2.0
//
// Inside of the benchmarks of rounding: what that on the cpu and that with a factor on a cuda
// device share. Rows R of noise are stored in e4m3 with a scale a row, rounded in the norm of the
// decaying matrix A of decay_source.h (solvers/factor/rounding_sweep.h), and beside that to nearest
// and with diffused errors, which is encoding alone: seconds of each, and what each pays, tr(E A
// E^T).
#ifndef BB_BENCH_ROUNDING_ROUNDING_BENCH_H
#define BB_BENCH_ROUNDING_ROUNDING_BENCH_H

#include "bench/bench.h"
#include "precision/coded_matrix.h"

enum { BB_ROUNDING_BENCH_ROUNDS = 3 };

/// Zero-initialise, open, close.
typedef struct bb_rounding_bench {
    bb_index m, n;
    double *r;     ///< [m][n]
    double *q;     ///< [m][n] the sweep's
    double *lower; ///< [n][n] L of A
    bb_bench_times sweep, peer, nearest, diffused;
    double excess, nearest_excess, diffused_excess;
} bb_rounding_bench;

/// Draws R and factors A by LAPACK. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_rounding_bench_open(bb_index m, bb_index n, bb_rounding_bench *task);
void bb_rounding_bench_close(bb_rounding_bench *task);

/// A sweep by any factor, [m][n] in place.
typedef bb_status bb_rounding_bench_sweep(void *context, bb_coded_matrix *matrix, double *r,
                                          double *excess);

/// A round: fixes, sweeps and encodes R, then encodes it to nearest and diffused. Errors: those of
/// `sweep`, BB_MEMORY.
BB_CHECKED bb_status bb_rounding_bench_play(bb_rounding_bench *task, bb_rounding_bench_sweep *sweep,
                                            void *context);

/// Times and operations of the outcome, m n^2 of a sweep, and a line of detail.
void bb_rounding_bench_conclude(const bb_rounding_bench *task, bb_bench_outcome *out);

/// What the sweep is told of a coded matrix's rounding.
struct bb_rounding_step bb_rounding_bench_step(bb_coded_matrix *const *matrix);

#endif

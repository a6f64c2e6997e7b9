// SPDX-License-Identifier: Apache-2.0
//
// Inside of the benchmarks of factors: what those of the cpu and of a cuda device share.
#ifndef BB_BENCH_FACTOR_BENCH_H
#define BB_BENCH_FACTOR_BENCH_H

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "solvers/operator/coded_operator.h"

enum { BB_FACTOR_BENCH_ROUNDS = 20, BB_FACTOR_BENCH_COPIES = 32 };

/// A slit's window of a matrix, and operators of it. Zero-initialise, prepare, release.
typedef struct bb_factor_bench {
    bb_matrix_layout layout;
    bb_index row, rows;         ///< of the window
    double *x, *y, *exact;      ///< exact [rows]
    double error, matrix_bytes; ///< of all rows, on the device of the product
    double touched;             ///< part of the bands in the window
    bb_coded_matrix *matrix;
    bb_coded_operator *copies[BB_FACTOR_BENCH_COPIES];
    int copy_count;
    bb_ceiling ceiling;
    bb_bench_times own, other; ///< other: reads, or products back to back
} bb_factor_bench;

/// Codes the matrix as the benchmark's row says, and draws x. Errors: BB_MEMORY, the codec's.
BB_CHECKED bb_status bb_factor_bench_prepare(const bb_bench_case *self, const bb_bench_setup *setup,
                                             bb_factor_bench *task);

/// Sets `error` from y.
void bb_factor_bench_compare(bb_factor_bench *task);

/// Times, operations and bytes of the outcome, and a line of detail.
void bb_factor_bench_conclude(const bb_factor_bench *task, bb_bench_outcome *out);

void bb_factor_bench_release(bb_factor_bench *task);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Factorizations by panels on two cuda devices of one host against cuSOLVERMp on the same two.
#ifndef BB_BENCH_PANELS_CUSOLVERMP_BENCH_H
#define BB_BENCH_PANELS_CUSOLVERMP_BENCH_H

#include "bench/bench.h"

/// `choice` of a benchmark, see cusolvermp_bench.c.
typedef enum bb_cusolvermp_row {
    BB_CUSOLVERMP_SP,
    BB_CUSOLVERMP_DP,
    BB_CUSOLVERMP_ROWS,
} bb_cusolvermp_row;

/// Skipped, with the reason, where there is one cuda device or none, too little of its memory, no
/// cuSOLVERMp or NCCL (what to install is said), and where the factorization breaks down. Errors:
/// BB_INTERNAL (cuSOLVERMp gives another L).
BB_CHECKED bb_status bb_cusolvermp_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                                         bb_bench_outcome *out);

#endif

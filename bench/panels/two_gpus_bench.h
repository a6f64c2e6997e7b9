// SPDX-License-Identifier: Apache-2.0
//
// Factorizations and solves by panels on two cuda devices of one host.
#ifndef BB_BENCH_PANELS_TWO_GPUS_BENCH_H
#define BB_BENCH_PANELS_TWO_GPUS_BENCH_H

#include "bench/bench.h"

/// `choice` of a benchmark: what is factored and how, see two_gpus_bench.c.
typedef enum bb_two_gpus_row {
    BB_TWO_GPUS_HP1,
    BB_TWO_GPUS_X3,
    BB_TWO_GPUS_SOLVE,
    BB_TWO_GPUS_300000,
    BB_TWO_GPUS_ROWS,
} bb_two_gpus_row;

/// Skipped, with the reason, where there is one cuda device or none, too little of its memory, or
/// an architecture without the arithmetic, and where the factorization breaks down. Errors:
/// BB_INTERNAL (another L than on one).
BB_CHECKED bb_status bb_two_gpus_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                                       bb_bench_outcome *out);

#endif

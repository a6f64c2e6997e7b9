// SPDX-License-Identifier: Apache-2.0
//
// Factorizations and solves by panels on a cuda device.
#ifndef BB_BENCH_PANEL_BENCH_H
#define BB_BENCH_PANEL_BENCH_H

#include "bench/bench.h"

/// `choice` of a benchmark: what is factored and how, see panel_bench.c.
typedef enum bb_bench_panel_row {
    BB_BENCH_98304_HP1,
    BB_BENCH_98304_HP1_RANDOM,
    BB_BENCH_98304_HP1_NARROW,
    BB_BENCH_98304_X3,
    BB_BENCH_100368_HP1_COVARIANCE,
    BB_BENCH_49152_HP1,
    BB_BENCH_49152_HP1_RANDOM,
    BB_BENCH_49152_SP,
    BB_BENCH_16384_HP1,
    BB_BENCH_16384_HP1_RANDOM,
    BB_BENCH_16384_SP,
    BB_BENCH_34128_DP,
    BB_BENCH_34128_SP,
    BB_BENCH_34128_TF32,
    BB_BENCH_34128_X3,
    BB_BENCH_34128_HP1,
    BB_BENCH_34128_HP2,
    BB_BENCH_100368_FORWARD,
    BB_BENCH_100368_BACKWARD,
    BB_BENCH_PANEL_ROWS,
} bb_bench_panel_row;

/// Skipped, with the reason, where there is no cuda device, too little of its memory, or an
/// architecture without the arithmetic, and where the factorization breaks down.
BB_CHECKED bb_status bb_panel_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                                    bb_bench_outcome *out);

#endif

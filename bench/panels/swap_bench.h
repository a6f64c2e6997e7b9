// SPDX-License-Identifier: Apache-2.0
//
// A factorization by panels whose L lies in the host's memory.
#ifndef BB_BENCH_PANELS_SWAP_BENCH_H
#define BB_BENCH_PANELS_SWAP_BENCH_H

#include "bench/bench.h"

/// Skipped, with the reason, where there is no cuda device, too little of its memory or of the
/// host's, or an architecture without the arithmetic, and where the factorization breaks down.
/// Errors: BB_INTERNAL (another L than on the device).
BB_CHECKED bb_status bb_swap_bench(const bb_bench_case *self, const bb_bench_setup *setup,
                                   bb_bench_outcome *out);

#endif

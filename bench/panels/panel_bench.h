// SPDX-License-Identifier: Apache-2.0
//
// Factorizations and solves by panels on one or two cuda devices.
#ifndef BB_BENCH_PANELS_PANEL_BENCH_H
#define BB_BENCH_PANELS_PANEL_BENCH_H

#include "bench/bench.h"

/// `choice` of a row: a bb_variant and options; `storage` names its matrix.
enum {
    BB_PANEL_TWO = 1 << 8,         ///< panels on two devices, against one
    BB_PANEL_SOLVE = 1 << 9,       ///< solve with n / 9 right-hand sides
    BB_PANEL_SWAP = 1 << 10,       ///< L in host memory, against L on the device
    BB_PANEL_CUSOLVERMP = 1 << 11, ///< panels on two devices, against cuSOLVERMp
    BB_PANEL_VARIANT = BB_PANEL_TWO - 1,
};

/// Runs a row. It is skipped, with the reason, if there are too few cuda devices, too little
/// memory, no cuSOLVERMp (with what to install) or an architecture without the arithmetic, or if
/// the factorization breaks down. Errors: BB_INVALID (an unsupported `--set`), BB_INTERNAL (the
/// rival's L differs).
bb_bench_measure bb_panel_bench;

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Peers of a factorization by panels on the same matrix: cuSOLVER's potrf in fp32 (potrf_peer.h)
// and the library loop (library_loop.h).
#ifndef BB_BENCH_PANEL_PEERS_H
#define BB_BENCH_PANEL_PEERS_H

#include "bench/bench_matrix.h"

/// Best seconds; NaN: it could not be measured, the log says why.
typedef struct bb_panel_peers {
    double potrf_s;
    double loop_s; ///< panels of 1024
} bb_panel_peers;

/// Those of a matrix, measured once in a process, in at most three rounds or two seconds each.
/// Errors: BB_DEVICE.
BB_CHECKED bb_status bb_panel_peers_find(bb_device *device, bb_bench_matrix_kind kind, bb_index n,
                                         bb_panel_peers *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a factorization over processes and the sweeps of its right-hand sides take, before anything
// is started: memory of the fullest process, bytes on the wire, and a time by the model
//     t = max(work / (P w), submission) + bytes / rate + sweeps / (P w) + their bytes / rate
// with P processes of w workers, the work at the nominal rates of core/need.h, 24 us a task that
// every process submits, and a wire of BB_ENGINE_PLAN_WIRE_RATE.
#ifndef BB_SOLVERS_DISTRIBUTED_ENGINE_PLAN_H
#define BB_SOLVERS_DISTRIBUTED_ENGINE_PLAN_H

#include "solvers/distributed/engine.h"

/// Bytes a second that a process sends, or receives: nine tenths of 10 Gb/s Ethernet.
#define BB_ENGINE_PLAN_WIRE_RATE 1.125e9

typedef struct bb_engine_plan {
    double tile_bytes;   ///< of the fullest process's tiles in its memory
    double host_bytes;   ///< all that process takes: tiles, StarPU's, messages, sweeps
    double factor_bytes; ///< between all processes, for the factor
    double sweep_bytes;  ///< that come to one process, at most, for both sweeps
    double seconds;
} bb_engine_plan;

/// Of n x n in the tiles of `plan` and `rows` right-hand sides; `variants` [count] are those that
/// tiles may get: of a policy whose rule needs facts all count as the widest of them. `config` has
/// its grid and workers. Errors: BB_MEMORY, BB_INVALID (the plan's).
BB_CHECKED bb_status bb_engine_plan_make(const bb_engine_config *config, const bb_tile_plan *plan,
                                         bb_index n, bb_index rows, int count,
                                         const bb_variant *variants, bb_engine_plan *out);

#endif

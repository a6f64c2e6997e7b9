// SPDX-License-Identifier: Apache-2.0
//
// Processes that work together. Each runs the whole program on the same input and so makes the same
// calls in the same order; some of them divide their work. A single process is a team of one.
#ifndef BB_CORE_TEAM_H
#define BB_CORE_TEAM_H

#include "core/status.h"

/// Communication between the processes.
typedef struct bb_team {
    int rank, size; ///< rank of this process, from 0, and number of processes
    int host_size;  ///< number of processes on this host
    /// Copies `bytes` of `values` from process `root` to all. Collective. Errors: BB_INTERNAL.
    bb_status (*broadcast)(int root, void *values, size_t bytes);
} bb_team;

/// Sets the team of this process, borrowed; NULL: this process alone. Call before any work.
void bb_team_join(const bb_team *team);

/// Returns the current team; this process alone by default.
const bb_team *bb_team_joined(void);

/// Computes the items of `count` assigned to a process of the team: [*begin, *end), in rank order,
/// as evenly as possible.
void bb_team_part(bb_index count, int rank, bb_index *begin, bb_index *end);

/// Exchanges rows: each process provides its part of `values` (bb_team_part over blocks of `block`
/// rows), `count` rows of `row_bytes`; on return every process has all rows. Collective. Errors:
/// those of broadcast.
BB_CHECKED bb_status bb_team_gather(bb_index count, bb_index block, size_t row_bytes, void *values);

#endif

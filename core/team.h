// SPDX-License-Identifier: Apache-2.0
//
// Processes that do one work together. Each runs the whole program on the same input and so comes
// to the same calls in the same order; what is dealt out is the work inside of some of them. One
// process by itself is a team, too.
#ifndef BB_CORE_TEAM_H
#define BB_CORE_TEAM_H

#include "core/status.h"

/// How the processes reach one another.
typedef struct bb_team {
    int rank, size; ///< of this process, 0 first, and of all
    int host_size;  ///< of those on this host
    /// `bytes` of `values` of process `root` come to all. Collective. Errors: BB_INTERNAL.
    bb_status (*broadcast)(int root, void *values, size_t bytes);
} bb_team;

/// The team of this process from now on, borrowed; NULL: this process by itself. Before any work.
void bb_team_join(const bb_team *team);

/// The team joined; a process by itself before.
const bb_team *bb_team_joined(void);

/// Which of `count` items are those of a process of the team: [*begin, *end), in order of the
/// ranks, as even as items allow.
void bb_team_part(bb_index count, int rank, bb_index *begin, bb_index *end);

/// Each process has the rows of its part (bb_team_part over blocks of `block` rows) of `values`,
/// `count` rows of `row_bytes`; all have all of them on return. Collective. Errors: those of
/// broadcast.
BB_CHECKED bb_status bb_team_gather(bb_index count, bb_index block, size_t row_bytes, void *values);

#endif

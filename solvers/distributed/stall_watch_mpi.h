// SPDX-License-Identifier: Apache-2.0
//
// Ends a run of which one process has stopped (a signal, a host that hangs): the others would wait
// for it for ever. A thread of every process sends a beat to the next rank and listens to the one
// before; who is not heard of for `stall_s` is named on stderr, and all processes end (MPI_Abort).
// A process that computes for long goes on beating. Time in which the listener itself was stopped,
// with all others on a job's suspension, does not count.
#ifndef BB_SOLVERS_DISTRIBUTED_STALL_WATCH_MPI_H
#define BB_SOLVERS_DISTRIBUTED_STALL_WATCH_MPI_H

#include "core/status.h"

typedef struct bb_stall_watch bb_stall_watch;

/// Begins on all processes of MPI_COMM_WORLD, which call together; 0 or a single process: NULL.
/// Needs MPI_THREAD_MULTIPLE. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_stall_watch_start(double stall_s, bb_stall_watch **out);

/// Ends it; all processes call together. Waits for the process before at most `stall_s`.
void bb_stall_watch_stop(bb_stall_watch **watch);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Ends a run of which one process has stopped (a signal, a host that hangs): the others would wait
// for it for ever. A thread of every process sends a beat to the next rank and listens to the one
// before; who is not heard of for a while is named on stderr, and all processes end (MPI_Abort). A
// process that computes for long goes on beating, and so does one that waits. Time in which the
// listener itself was stopped, with all others on a job's suspension, does not count.
#ifndef BB_SOLVERS_DISTRIBUTED_STALL_WATCH_MPI_H
#define BB_SOLVERS_DISTRIBUTED_STALL_WATCH_MPI_H

#include "core/status.h"

#define BB_STALL_WATCH_S 60.0 ///< until a limit is set

/// Begins on all processes of MPI_COMM_WORLD, which call together; of a single one nothing. Needs
/// MPI_THREAD_MULTIPLE. Errors: BB_INTERNAL.
BB_CHECKED bb_status bb_stall_watch_start(void);

/// Seconds without a beat from now on; 0: for ever.
void bb_stall_watch_limit(double seconds);

/// Ends it, where all processes do: waits for the one before to come here too.
void bb_stall_watch_stop(void);

#endif

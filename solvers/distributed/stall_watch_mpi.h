// SPDX-License-Identifier: Apache-2.0
//
// Stall watch: ends an MPI run in which one process has stopped (a signal, a host that hangs),
// because the others would wait for it for ever. A thread of every process sends heartbeats to the
// next rank and listens to the previous one. If no heartbeat arrives within the limit, the silent
// rank is named on stderr and all processes end (MPI_Abort). The thread also sends heartbeats
// during long computations and while its process waits. Time in which the listener itself was
// suspended with the whole job does not count.
#ifndef BB_SOLVERS_DISTRIBUTED_STALL_WATCH_MPI_H
#define BB_SOLVERS_DISTRIBUTED_STALL_WATCH_MPI_H

#include "core/status.h"

#define BB_STALL_WATCH_S 60.0 ///< until bb_stall_watch_limit is called

/// Starts the watch; collective over MPI_COMM_WORLD. Does nothing with a single process. Needs
/// MPI_THREAD_MULTIPLE. Errors: BB_INTERNAL.
BB_CHECKED bb_status bb_stall_watch_start(void);

/// Sets the limit in seconds without a heartbeat; 0: no limit.
void bb_stall_watch_limit(double seconds);

/// Stops the watch; collective: waits until the previous rank has stopped, too.
void bb_stall_watch_stop(void);

#endif

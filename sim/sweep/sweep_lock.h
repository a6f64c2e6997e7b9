// SPDX-License-Identifier: Apache-2.0
//
// Lock of a sweep folder. A process that runs all points excludes every other one; processes that
// run shards exclude only such a process, so that they may run on several nodes. The system
// releases the lock when its process ends, also by SIGKILL. Locks are those of POSIX on DIR/lock,
// which network file systems share between nodes.
#ifndef BB_SIM_SWEEP_SWEEP_LOCK_H
#define BB_SIM_SWEEP_SWEEP_LOCK_H

#include "core/status.h"

#include <stdbool.h>

/// Locks `folder` until bb_sweep_lock_release; `all`: this process runs all points. Where locks are
/// not available, a warning is logged and *out is -1. Errors: BB_IO (another process runs points),
/// BB_MEMORY.
BB_CHECKED bb_status bb_sweep_lock_acquire(const char *folder, bool all, int *out);

/// Releases a lock and sets it to -1, which is no lock.
void bb_sweep_lock_release(int *lock);

#endif

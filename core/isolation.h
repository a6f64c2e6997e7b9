// SPDX-License-Identifier: Apache-2.0
//
// Work that may crash or hang because of what it reads, done in a child process.
#ifndef BB_CORE_ISOLATION_H
#define BB_CORE_ISOLATION_H

#include "core/status.h"

/// Runs task(context) in a forked child and returns its status, its message carried over. A child
/// that dies by a signal or takes over `seconds` gives BB_IO; `what` says what it was reading. What
/// the task prints appears, BB_IO where it cannot be written; SIGPIPE ends the program as it would
/// without a child. What it changes in memory does not. Call it where no other thread runs, or
/// where the task needs no lock of ours that such a thread may hold: one that waits for it takes
/// `seconds`. The child ends with its parent.
BB_CHECKED bb_status bb_isolation_run(const char *what, unsigned seconds,
                                      bb_status (*task)(void *context), void *context);

/// Ends a child that runs and waits for its end, a second at most. Async-signal-safe: for handlers
/// of signals that end the program.
void bb_isolation_abandon(void);

#endif

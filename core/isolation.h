// SPDX-License-Identifier: Apache-2.0
//
// Work that may crash or hang on its input, run in a child process.
#ifndef BB_CORE_ISOLATION_H
#define BB_CORE_ISOLATION_H

#include "core/status.h"

/// Runs task(context) in a forked child and returns its status and message. A child that dies by a
/// signal or exceeds `seconds` gives BB_IO; `what` names its input in the message. The task's
/// output appears on stdout, BB_IO if it cannot be written; SIGPIPE ends the program as it would
/// without a child. Its changes to memory are lost. Call it while no other thread runs, or if the
/// task needs no lock of this program that such a thread may hold: waiting for it takes `seconds`.
/// The child ends with its parent.
BB_CHECKED bb_status bb_isolation_run(const char *what, unsigned seconds,
                                      bb_status (*task)(void *context), void *context);

/// Ends a running child and waits for its end, at most a second. Async-signal-safe: for handlers of
/// terminating signals.
void bb_isolation_abandon(void);

#endif

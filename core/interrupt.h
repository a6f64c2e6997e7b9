// SPDX-License-Identifier: Apache-2.0
//
// SIGINT, SIGTERM and SIGHUP end the program at once: exit code 130, 143 or 129, a line on stderr
// with the current work and the loss, and no temporary file, folder or child process left. A long
// measurement may request that the first of them is only recorded. A reader that closes its end of
// a pipe ends nothing.
#ifndef BB_CORE_INTERRUPT_H
#define BB_CORE_INTERRUPT_H

#include "core/status.h"

#include <stdbool.h>
#include <sys/types.h>

enum { BB_INTERRUPT_LOSS_BYTES = 1024, BB_INTERRUPT_PATH_BYTES = 640 };

/// Installs the handlers, except for SIGHUP if it is ignored (nohup), and makes writes to a closed
/// pipe or beyond a file-size limit fail instead of killing the process.
BB_CHECKED bb_status bb_interrupt_install(void);

/// For a process forked by `parent`, before anything else: it ends with its parent. Those signals,
/// unless ignored, remove its own temporary files and folders and end it silently; crashes end it
/// visibly to the parent, without a core dump.
void bb_interrupt_be_child(pid_t parent);

/// Sets what a terminating signal loses from now on, as the sentence it prints: "'a.h5' is not
/// written". Cut to BB_INTERRUPT_LOSS_BYTES; empty: nothing. Clears the text of bb_interrupt_keeps.
void bb_interrupt_loses(const char *text);

/// Sets what is preserved, as the end of that sentence: "--resume 'a' goes on from it". Cut as
/// above.
void bb_interrupt_keeps(const char *text);

/// Shortens `path` for such a sentence to its last part if it is longer than
/// BB_INTERRUPT_PATH_BYTES, so that it is never cut. The result points into `path`.
const char *bb_interrupt_path(const char *path);

/// From now on the first signal is recorded and a second one ends the program; `false` restores the
/// default.
void bb_interrupt_defer(bool defer);

/// Stops deferring; a recorded signal ends the program now.
void bb_interrupt_deliver(void);

/// Whether a signal was recorded since deferring began.
bool bb_interrupt_noted(void);

#endif

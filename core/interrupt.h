// SPDX-License-Identifier: Apache-2.0
//
// SIGINT, SIGTERM and SIGHUP end the program at once, with exit code 130, 143 or 129, a line on
// stderr that says what was being done and what is lost, and no temporary file, folder or child
// process left; a long
// measurement may ask for the first of them to be noted instead. A reader that closes its end of a
// pipe ends nothing.
#ifndef BB_CORE_INTERRUPT_H
#define BB_CORE_INTERRUPT_H

#include "core/status.h"

#include <stdbool.h>
#include <sys/types.h>

enum { BB_INTERRUPT_LOSS_BYTES = 1024, BB_INTERRUPT_PATH_BYTES = 640 };

/// Installs the handlers, but for SIGHUP where it is ignored (nohup), and lets writes to a closed
/// pipe or beyond a file-size limit fail instead of killing.
BB_CHECKED bb_status bb_interrupt_install(void);

/// In a process that `parent` forked, before it does anything else: it ends with its parent; those
/// signals, unless ignored, remove its own temporary files and folders and end it without a word;
/// crashes end it where the parent sees them, without a core.
void bb_interrupt_be_child(pid_t parent);

/// What a signal that ends the program from now on costs, as the sentence it will print: "'a.h5' is
/// not written". Cut to BB_INTERRUPT_LOSS_BYTES; empty: nothing. Nothing is kept then.
void bb_interrupt_loses(const char *text);

/// What is kept beside, as the rest of that sentence: "--resume 'a' goes on from it". Cut as above.
void bb_interrupt_keeps(const char *text);

/// `path` as a sentence has it: where it is of over BB_INTERRUPT_PATH_BYTES its last part, which no
/// sentence cuts. Points into `path`.
const char *bb_interrupt_path(const char *path);

/// From now on the first signal is noted and a second one ends the program; `false`: as before.
void bb_interrupt_defer(bool defer);

/// No longer defers; a signal that was noted ends the program now, as if it came now.
void bb_interrupt_deliver(void);

/// Whether a signal was noted since deferring began.
bool bb_interrupt_noted(void);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// SIGINT and SIGTERM end the program at once, with exit code 130 or 143 and no temporary file left;
// a long measurement may ask for the first of them to be noted instead.
#ifndef BB_SIM_INTERRUPT_H
#define BB_SIM_INTERRUPT_H

#include "core/status.h"

#include <stdbool.h>

/// Installs the handlers, and lets writes beyond a file-size limit fail instead of killing.
BB_CHECKED bb_status bb_interrupt_install(void);

/// From now on the first signal is noted and a second one ends the program; `false`: as before.
void bb_interrupt_defer(bool defer);

/// No longer defers; a signal that was noted ends the program now, as if it came now.
void bb_interrupt_deliver(void);

/// Whether a signal was noted since deferring began.
bool bb_interrupt_noted(void);

#endif

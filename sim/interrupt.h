// SPDX-License-Identifier: Apache-2.0
//
// SIGINT and SIGTERM end the program at once, with exit code 130 or 143 and no temporary file left.
#ifndef BB_SIM_INTERRUPT_H
#define BB_SIM_INTERRUPT_H

#include "core/status.h"

/// Installs the handlers, and lets writes beyond a file-size limit fail instead of killing.
BB_CHECKED bb_status bb_interrupt_install(void);

#endif

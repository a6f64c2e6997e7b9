// SPDX-License-Identifier: Apache-2.0
//
// Where studies and kernels lie that have a name: `configs` of the working folder, and that of the
// share folder, which lies beside the program's own (bin/../share/bitbudget), wherever both were
// put, unless the environment's BITBUDGET_SHARE names it.
#ifndef BB_SIM_CONFIG_SHIPPED_FOLDER_H
#define BB_SIM_CONFIG_SHIPPED_FOLDER_H

#include "core/status.h"

enum { BB_SHIPPED_FOLDERS = 2 };

/// Both, the user's first, each with a '/' at its end; neither need be there. Owner of the texts:
/// the caller, after an error too. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_folder_find(char *out[BB_SHIPPED_FOLDERS]);

#endif

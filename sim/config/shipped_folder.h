// SPDX-License-Identifier: Apache-2.0
//
// Where studies and kernels lie that have a name: `configs` of the working folder, and that of the
// share folder: the one that the environment's BITBUDGET_SHARE names, else the build tree, else
// bin/../share/bitbudget of an installation, from the program's own folder bin.
#ifndef BB_SIM_CONFIG_SHIPPED_FOLDER_H
#define BB_SIM_CONFIG_SHIPPED_FOLDER_H

#include "core/status.h"

enum { BB_SHIPPED_FOLDERS = 2 };

/// Both, the user's first, each with a '/' at its end; neither need be there. Owner of the texts:
/// the caller, after an error too. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_folder_find(char *out[BB_SHIPPED_FOLDERS]);

/// Names of what lies there. Zero-initialise; release with bb_shipped_names_release.
typedef struct bb_shipped_names {
    char **names; ///< [count] sorted, each once
    bb_index count, capacity;
} bb_shipped_names;

/// Adds the first `length` bytes of a name that is not there yet.
BB_CHECKED bb_status bb_shipped_names_add(bb_shipped_names *names, const char *name, size_t length);

/// Sorts what `add_folder` adds for each of the folders. Errors: its own, BB_MEMORY.
BB_CHECKED bb_status bb_shipped_names_collect(bb_status (*add_folder)(const char *folder,
                                                                      bb_shipped_names *names),
                                              bb_shipped_names *out);
void bb_shipped_names_release(bb_shipped_names *names);

#endif

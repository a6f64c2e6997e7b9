// SPDX-License-Identifier: Apache-2.0
//
// Where studies and kernels lie that have a name: `configs` of the working folder, and that of the
// share folder: the one that the environment's BITBUDGET_SHARE names, else the build tree, else
// bin/../share/bitbudget of an installation, from the program's own folder bin.
#ifndef BB_SIM_CONFIG_SHIPPED_FOLDER_H
#define BB_SIM_CONFIG_SHIPPED_FOLDER_H

#include "core/status.h"

#include <stdbool.h>

enum { BB_SHIPPED_FOLDERS = 2 };

/// Both, the user's first, each with a '/' at its end; neither need be there. Owner of the texts:
/// the caller, after an error too. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_folder_find(char *out[BB_SHIPPED_FOLDERS]);

/// Whether there is something of that name that is no folder: opening says what is wrong with it.
bool bb_shipped_folder_is_file(const char *path);

/// The first file of `folder``name` with one of `endings` (NULL ends them), NULL where there is
/// none. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_shipped_folder_first(const char *folder, const char *name,
                                             const char *const *endings, char **out);

/// The same in folder `inner` of both folders, or of the share folder alone; NULL for a name that
/// begins with '/' or '.', which is of the user's alone.
BB_CHECKED bb_status bb_shipped_folder_search(const char *name, const char *inner,
                                              const char *const *endings, bool only_share,
                                              char **out);

/// The user's file of that name, else the shipped one, else the name as it is: opening it fails
/// then with the reason.
BB_CHECKED bb_status bb_shipped_folder_find_file(const char *name, const char *inner,
                                                 const char *const *endings, char **out);

/// Names of what lies there. Zero-initialise; release with bb_shipped_names_release.
typedef struct bb_shipped_names {
    char **names; ///< [count] sorted, each once
    bb_index count, capacity;
} bb_shipped_names;

/// Files to list, by their endings.
typedef struct bb_shipped_listing {
    const char *folder;         ///< inside both, with a '/' at its end; "": they themselves
    const char *const *endings; ///< NULL ends them
    int depth;                  ///< levels of folders inside it that are listed too
    /// Whether a file, or a folder, is listed; `name` begins in `folder`. NULL: all.
    bool (*takes)(const char *path, const char *name);
} bb_shipped_listing;

/// Adds the names of the files of both folders, without their endings ("ao/quick"). Hidden ones are
/// left out. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_names_list(const bb_shipped_listing *listing,
                                           bb_shipped_names *out);
void bb_shipped_names_release(bb_shipped_names *names);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Folders of named studies and kernels: `configs` in the working folder, and in the share folder.
// The share folder is given by the environment variable BITBUDGET_SHARE, else it is the build tree,
// else ../share/bitbudget relative to the program's folder.
#ifndef BB_SIM_CONFIG_SHIPPED_FOLDER_H
#define BB_SIM_CONFIG_SHIPPED_FOLDER_H

#include "core/status.h"

#include <stdbool.h>

enum { BB_SHIPPED_FOLDERS = 2 };

/// Both folders, the user's first, each with a trailing '/'; either may be missing. The caller owns
/// the texts, also after an error. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_folder_find(char *out[BB_SHIPPED_FOLDERS]);

/// True if the path exists and is not a folder; opening it reports any other problem.
bool bb_shipped_folder_is_file(const char *path);

/// First existing file of `folder``name` with one of `endings` (NULL-terminated), or NULL. Errors:
/// BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_shipped_folder_first(const char *folder, const char *name,
                                             const char *const *endings, char **out);

/// Searches folder `inner` of both folders, or of the share folder alone, in the same way. `*out`
/// is NULL for a name that starts with '/' or '.', which refers to the user's files only.
BB_CHECKED bb_status bb_shipped_folder_search(const char *name, const char *inner,
                                              const char *const *endings, bool only_share,
                                              char **out);

/// Path of the user's file of that name, else of the shipped one, else the name unchanged, so that
/// opening it reports the reason.
BB_CHECKED bb_status bb_shipped_folder_find_file(const char *name, const char *inner,
                                                 const char *const *endings, char **out);

/// Names found in the folders. Zero-initialise; release with bb_shipped_names_release.
typedef struct bb_shipped_names {
    char **names; ///< [count] sorted, unique
    bb_index count, capacity;
} bb_shipped_names;

/// Files to list, selected by their extensions.
typedef struct bb_shipped_listing {
    const char *folder; ///< folder inside both, with a trailing '/'; "": both folders themselves
    const char *const *endings; ///< NULL-terminated
    int depth;                  ///< levels of subfolders to list
    /// True if a file or folder is listed; `name` starts in `folder`. NULL: all.
    bool (*accepts)(const char *path, const char *name);
} bb_shipped_listing;

/// Adds the names of the files of both folders, without their extensions ("ao/quick"). Hidden files
/// are skipped. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_shipped_names_list(const bb_shipped_listing *listing,
                                           bb_shipped_names *out);
void bb_shipped_names_release(bb_shipped_names *names);

#endif

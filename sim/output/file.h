// SPDX-License-Identifier: Apache-2.0
//
// Files that are whole or absent: bytes go to a temporary name in the folder of the final one, are
// synced, and are renamed; the final name never stands for a part. Every writer of outputs comes
// here.
#ifndef BB_SIM_OUTPUT_FILE_H
#define BB_SIM_OUTPUT_FILE_H

#include "core/status.h"

#include <stdbool.h>

/// Finds out before a long computation whether `path` can be written later: its folder exists (its
/// last part is made where `make_folder`), takes a file and holds `bytes` more; `path` itself is
/// free, or a regular file and `force` given. Errors: BB_IO, with the reason and the remedy.
BB_CHECKED bb_status bb_file_check(const char *path, bool make_folder, bool force, double bytes);

/// Whether two paths stand for one file, which need not be there yet: the same name in one folder,
/// however that is written, or links to one file. False where nothing can be known of a folder.
bool bb_file_same(const char *a, const char *b);

/// Writes `bytes` bytes to `path`. Without `force`, a file that appeared meanwhile is kept and the
/// call fails. Errors: BB_IO, and nothing new stands in the folder then.
BB_CHECKED bb_status bb_file_write(const char *path, bool force, const void *data, bb_index bytes);

/// Writes `path` by a function that gets the name of an empty temporary file and fills it. The rest
/// as bb_file_write. Errors: BB_IO, the function's.
BB_CHECKED bb_status bb_file_write_by(const char *path, bool force,
                                      bb_status (*write)(const char *temporary, void *context),
                                      void *context);

#endif

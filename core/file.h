// SPDX-License-Identifier: Apache-2.0
//
// Files that are complete or absent: bytes go to a temporary name in the folder of the final one,
// are synced, and are renamed; the final name never denotes a partial file. All outputs are written
// through these functions.
#ifndef BB_CORE_FILE_H
#define BB_CORE_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/// Identity of a file.
typedef struct bb_file_stamp {
    dev_t device;
    ino_t number;
    off_t bytes;
    struct timespec changed;
} bb_file_stamp;

/// Returns the size of an input file, without opening it. Errors: BB_IO (not a regular file).
BB_CHECKED bb_status bb_file_stamp_size(const char *path, double *bytes);

/// Estimates the time limit, in s, for the reader of a file of that size on a disk of 20 MiB/s.
unsigned bb_file_stamp_patience(double bytes);

/// Read the stamp of a path, and of an open file. Errors: BB_IO.
BB_CHECKED bb_status bb_file_stamp_find(const char *path, bb_file_stamp *out);
BB_CHECKED bb_status bb_file_stamp_read(int descriptor, bb_file_stamp *out);

/// Returns whether both are stamps of one file that did not change between them.
bool bb_file_stamp_equal(const bb_file_stamp *a, const bb_file_stamp *b);

/// Input files of a command, which no output may replace. Zero-initialise.
typedef struct bb_file_list {
    char **paths; ///< [count]
    bb_index count;
} bb_file_list;

/// Adds a copy of `path`; NULL and "-", standard input, add nothing. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_file_list_add(bb_file_list *files, const char *path);
void bb_file_list_release(bb_file_list *files);

/// Rejects an output that is one of the input files: the same name, or the same device and inode (a
/// link or a hard link). Errors: BB_INVALID, with both names.
BB_CHECKED bb_status bb_file_list_refuse(const bb_file_list *files, const char *output);

/// Checks before a long computation that `path` can be written later: it is none of `inputs` (NULL:
/// no inputs); its folder exists (with `make_folder`, for default names, its last part is created),
/// is writable and has `bytes` free; `path` itself is free, or a regular file and `force` is given.
/// Errors: BB_INVALID (an input), BB_IO, with the reason and the remedy.
BB_CHECKED bb_status bb_file_check(const char *path, bool make_folder, bool force, double bytes,
                                   const bb_file_list *inputs);

/// Whether two paths denote one file, which need not exist yet: the same name in one folder,
/// however it is written, or links to one file. False if a folder cannot be examined.
bool bb_file_same(const char *a, const char *b);

/// Writes `bytes` bytes to `path`. Without `force`, a file that appeared meanwhile is preserved and
/// the call fails. Errors: BB_IO; the folder then contains nothing new.
BB_CHECKED bb_status bb_file_write(const char *path, bool force, const void *data, bb_index bytes);

/// Writes `path` with a function that fills an empty temporary file, given its name. Otherwise as
/// bb_file_write. Errors: BB_IO, the function's.
BB_CHECKED bb_status bb_file_write_by(const char *path, bool force,
                                      bb_status (*write)(const char *temporary, void *context),
                                      void *context);

#endif

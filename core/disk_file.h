// SPDX-License-Identifier: Apache-2.0
//
// Files that are safe to make and to read in folders that others use: new ones under names that no
// other process, container or host takes, and never through a link; only regular ones are read, so
// that a FIFO holds nobody up.
#ifndef BB_CORE_DISK_FILE_H
#define BB_CORE_DISK_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { BB_DISK_PATH_BYTES = 4096, BB_DISK_TEMPORARIES = 8 };

/// A name for a new file in the folder of `path`: ".NAME.HOST.PID.RANDOM.part", NAME shortened
/// where a folder would not take the whole. Errors: BB_IO.
BB_CHECKED bb_status bb_disk_file_name(const char *path, char name[BB_DISK_PATH_BYTES]);

/// Makes the empty file `name`, which must not be there in any form, with permissions as the umask
/// leaves them, and opens it for writing; it is to become `path`. Until bb_disk_file_finish it is
/// temporary: bb_disk_file_abandon removes it. Owner of `*out`, the descriptor: the caller. Errors:
/// BB_IO, of `path`; BB_INTERNAL (BB_DISK_TEMPORARIES of them stand).
BB_CHECKED bb_status bb_disk_file_create(const char *name, const char *path, int *out);

/// The file of that name is no longer temporary: it has its final name, or, with `remove_it`, goes
/// where it still stands. Nothing for one that is not temporary.
void bb_disk_file_finish(const char *name, bool remove_it);

/// Removes all temporary files of the process. Async-signal-safe: for handlers of signals that end
/// the program.
void bb_disk_file_abandon(void);

/// For a forked process: the temporary files are the parent's.
void bb_disk_file_disown(void);

/// Whether there is a regular file, behind links or not. Errors: BB_IO, with what it is.
BB_CHECKED bb_status bb_disk_file_check(const char *path);

/// Opens a regular file for reading, without waiting; `through_links`: also by a link to it. Owner
/// of `*out`: the caller. Errors: BB_IO, with the reason.
BB_CHECKED bb_status bb_disk_file_open(const char *path, bool through_links, FILE **out);

/// Trusted owners of a file to load: root, the process's user and `owner`. `writers` are the
/// permission bits that must be clear, of S_IWGRP and S_IWOTH.
typedef struct bb_disk_trust {
    uid_t owner;
    mode_t writers;
} bb_disk_trust;

/// Whether only trusted owners have and can write an open file. Errors: BB_UNSUPPORTED, BB_IO.
BB_CHECKED bb_status bb_disk_trust_check(FILE *file, const char *path, bb_disk_trust trust);

/// Opens a folder for openat (O_PATH). The folder and all folders above it must belong to trusted
/// owners (those above also to the owner of "/") and be closed to other writers, or have the sticky
/// bit. `is_private`: the folder itself has no other writer even with the sticky bit, and is no
/// link. Links above it are resolved first. Owner of `*out`: the caller. Errors: BB_UNSUPPORTED
/// (not trusted, with the folder and the reason), BB_IO.
BB_CHECKED bb_status bb_disk_trust_open_folder(const char *path, bb_disk_trust trust,
                                               bool is_private, int *out);

/// Opens a regular file of such a folder for reading, not through a link, if it belongs to whom is
/// trusted and no other can write it. Owner of `*out`: the caller. Errors: BB_UNSUPPORTED (it is
/// not trusted), BB_IO, with the reason.
BB_CHECKED bb_status bb_disk_trust_open_file(int folder, const char *name, bb_disk_trust trust,
                                             FILE **out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Safe file creation and reading in shared folders: new files get names that no other process,
// container or host uses and never follow a link; only regular files are read, so that a FIFO
// cannot block a reader.
#ifndef BB_CORE_DISK_FILE_H
#define BB_CORE_DISK_FILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { BB_DISK_PATH_BYTES = 4096, BB_DISK_TEMPORARIES = 8 };

/// Name for a new file in the folder of `path`: ".NAME.HOST.PID.RANDOM.part", with NAME shortened
/// if the whole is too long for a folder. Errors: BB_IO.
BB_CHECKED bb_status bb_disk_file_name(const char *path, char name[BB_DISK_PATH_BYTES]);

/// Creates the empty file `name`, which must not exist in any form, with the umask's permissions,
/// and opens it for writing; it will become `path`. Until bb_disk_file_finish it is temporary:
/// bb_disk_file_abandon removes it. Owner of `*out`, the descriptor: the caller. Errors: BB_IO, for
/// `path`; BB_INTERNAL (more than BB_DISK_TEMPORARIES of them).
BB_CHECKED bb_status bb_disk_file_create(const char *name, const char *path, int *out);

/// Ends a file's temporary state: it has its final name or, with `remove_it`, is deleted if it
/// still exists. Does nothing for a file that is not temporary.
void bb_disk_file_finish(const char *name, bool remove_it);

/// Removes all temporary files of the process. Async-signal-safe: for handlers of terminating
/// signals.
void bb_disk_file_abandon(void);

/// For a forked process: leaves the temporary files to the parent.
void bb_disk_file_disown(void);

/// Succeeds for a regular file, also behind links. Errors: BB_IO, with the kind of file found.
BB_CHECKED bb_status bb_disk_file_check(const char *path);

/// Opens a regular file for reading, without blocking; `through_links`: follows links. Owner of
/// `*out`: the caller. Errors: BB_IO, with the reason.
BB_CHECKED bb_status bb_disk_file_open(const char *path, bool through_links, FILE **out);

/// Trusted owners of a file to load: root, the process's user and `owner`. `writers` are the
/// permission bits that must be clear, from S_IWGRP and S_IWOTH.
typedef struct bb_disk_trust {
    uid_t owner;
    mode_t writers;
} bb_disk_trust;

/// Checks that only trusted owners own and can write an open file. Errors: BB_UNSUPPORTED, BB_IO.
BB_CHECKED bb_status bb_disk_trust_check(FILE *file, const char *path, bb_disk_trust trust);

/// Opens a folder for openat (O_PATH). The folder and its parents must belong to trusted owners
/// (parents also to the owner of "/") and be closed to other writers or sticky. `is_private`: the
/// folder itself has no other writer even with the sticky bit, and is not a link. Links above it
/// are resolved first. Owner of `*out`: the caller. Errors: BB_UNSUPPORTED (not trusted, with the
/// folder and the reason), BB_IO.
BB_CHECKED bb_status bb_disk_trust_open_folder(const char *path, bb_disk_trust trust,
                                               bool is_private, int *out);

/// Opens a regular file of such a folder for reading, not through a link, if a trusted user owns it
/// and no other user can write it. Owner of `*out`: the caller. Errors: BB_UNSUPPORTED (not
/// trusted), BB_IO, with the reason.
BB_CHECKED bb_status bb_disk_trust_open_file(int folder, const char *name, bb_disk_trust trust,
                                             FILE **out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Keyed store of data that can be recomputed or resumed from: in memory, blocks shared by the
// studies of a process; on disk, files of pieces.
//
// Layout of a file, in the machine's byte order: magic number, byte-order mark, layout version;
// then build, kind, key and each piece as its length in bytes (64 bits) and its bytes; last the
// XXH3-128 of everything before it, as 32 hexadecimal digits. Files are complete or absent
// (core/file.h). Files of another user or world-writable files are not opened.
//
// Limits: a file can only be read by the build that wrote it. Old files of a folder are never
// deleted.
#ifndef BB_CORE_STORE_H
#define BB_CORE_STORE_H

#include "core/status.h"

#include <stdbool.h>

/// Limits the total size of blocks to `bytes` from now on; 0 drops all. Blocks stored under a
/// larger limit stay until there is no room for another.
void bb_store_allow(double bytes);

/// Returns whether a block of that size could be stored.
bool bb_store_has_room(double bytes);

/// Starts a study: blocks of earlier studies may be dropped from now on, the least recently used
/// first.
void bb_store_next_study(void);

/// Finds the block of a key, a text of everything that it depends on; NULL if there is none.
/// `*bytes` is its size. It stays valid during the study.
const void *bb_store_find(const char *key, bb_index *bytes);

/// Moves the block `*data`, from core/memory.h, into the store under a new key; NULL if there is no
/// room, and the caller then still owns it.
const void *bb_store_insert(const char *key, void **data, bb_index bytes);

/// Borrowed bytes. One list serves both writing and reading.
typedef struct bb_store_piece {
    const void *data;
    bb_index bytes;
} bb_store_piece;

/// A file open for reading.
typedef struct bb_store bb_store;

/// Writes `pieces` [count] to `path`, replacing an existing file once all is on the disk. `kind` is
/// the noun in messages. Errors: BB_IO, and the existing file stays; BB_MEMORY.
BB_CHECKED bb_status bb_store_write(const char *path, const char *kind, const char *key,
                                    const bb_store_piece *pieces, bb_index count);

/// Opens a file and verifies its checksum. Errors: BB_IO (unreadable, writable by others, not such
/// a file, truncated or corrupted), BB_INVALID (of another build or kind), BB_MEMORY. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_store_open(const char *path, const char *kind, bb_store **out);

/// Returns the key of a file, for the caller to compare.
const char *bb_store_key(const bb_store *file);

/// Reads the next piece, which must have `bytes` bytes. Errors: BB_IO.
BB_CHECKED bb_status bb_store_read(bb_store *file, void *data, bb_index bytes);

/// Reads the next piece, of any size, and appends a zero byte. Owner of `*out`: the caller. Errors:
/// BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_store_read_new(bb_store *file, void **out, bb_index *bytes);

/// Reads the next pieces into the listed memory. Errors: from bb_store_read.
BB_CHECKED bb_status bb_store_read_list(bb_store *file, const bb_store_piece *pieces,
                                        bb_index count);
void bb_store_close(bb_store **file);

/// Builds the path of a key's file in `folder`. Owner: the caller.
BB_CHECKED bb_status bb_store_path(const char *folder, const char *kind, const char *key,
                                   char **out);

/// Writes, as bb_store_write, the file of a key in `folder`, which is created if it is missing.
BB_CHECKED bb_status bb_store_save(const char *folder, const char *kind, const char *key,
                                   const bb_store_piece *pieces, bb_index count);

/// Opens the file of a key in `folder`; NULL if there is none or none is usable, with a warning
/// that gives the reason. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_store_load(const char *folder, const char *kind, const char *key,
                                   bb_store **out);

/// Warns that a file is not used, for the reason in bb_status_message, and closes it.
void bb_store_reject(bb_store **file);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Keyed store of data that can be computed again or gone on from: blocks that one study of a
// process leaves to the next, and files of pieces.
//
// Layout of a file, in the byte order of the machine: magic, byte-order mark, version of the
// layout; then build, kind, key and each piece as its length in bytes (64 bits) and its bytes; last
// the XXH3-128 of all before it, as 32 hexadecimal digits. Files are whole or absent
// (core/file.h). One that is another user's, or that everybody can write, is not opened.
//
// Limits: a file is read by the build that wrote it. Nothing deletes old files of a folder.
#ifndef BB_CORE_STORE_H
#define BB_CORE_STORE_H

#include "core/status.h"

#include <stdbool.h>

/// Blocks of at most `bytes` in all are kept from now on; 0: none, and those there are go. Blocks
/// of a larger limit stay until there is no room for another.
void bb_store_allow(double bytes);

/// Whether a block of so many bytes could be kept.
bool bb_store_has_room(double bytes);

/// A study begins: blocks of the studies before it may be dropped from now on, the one that was
/// used longest ago first.
void bb_store_next_study(void);

/// The block of a key, a text of all that it depends on; NULL where there is none. `*bytes` is its
/// size. It stays in place during the study.
const void *bb_store_find(const char *key, bb_index *bytes);

/// Takes the block `*data`, of core/memory.h, into the store, whose key is not there yet; NULL
/// where there is no room, and it is then still the caller's.
const void *bb_store_insert(const char *key, void **data, bb_index bytes);

/// Borrowed bytes: of a list that serves writers and readers alike.
typedef struct bb_store_piece {
    const void *data;
    bb_index bytes;
} bb_store_piece;

/// A file that is open for reading.
typedef struct bb_store bb_store;

/// Writes `pieces` [count] to `path` in place of what stands there, once all is on the disk. `kind`
/// is the noun of messages. Errors: BB_IO, and the file that stood there stays; BB_MEMORY.
BB_CHECKED bb_status bb_store_write(const char *path, const char *kind, const char *key,
                                    const bb_store_piece *pieces, bb_index count);

/// Opens a file and compares its checksum. Errors: BB_IO (it cannot be read, others can write it,
/// it is no such file, is truncated or corrupted), BB_INVALID (of another build or kind),
/// BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_store_open(const char *path, const char *kind, bb_store **out);

/// Its key, for the caller to compare.
const char *bb_store_key(const bb_store *file);

/// Reads the next piece, which is to have `bytes` bytes. Errors: BB_IO.
BB_CHECKED bb_status bb_store_read(bb_store *file, void *data, bb_index bytes);

/// Reads the next piece, of whatever size, and a zero byte behind it. Owner of `*out`: the caller.
/// Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_store_read_new(bb_store *file, void **out, bb_index *bytes);

/// Reads the next pieces into the memory that they list. Errors: those of bb_store_read.
BB_CHECKED bb_status bb_store_read_list(bb_store *file, const bb_store_piece *pieces,
                                        bb_index count);
void bb_store_close(bb_store **file);

/// Path of the file of a key in `folder`. Owner: the caller.
BB_CHECKED bb_status bb_store_path(const char *folder, const char *kind, const char *key,
                                   char **out);

/// bb_store_write to that path in `folder`, which is made when it is missing.
BB_CHECKED bb_status bb_store_save(const char *folder, const char *kind, const char *key,
                                   const bb_store_piece *pieces, bb_index count);

/// The file of a key in `folder`; NULL where there is none, or none that can be used, of which a
/// warning gives the reason. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_store_load(const char *folder, const char *kind, const char *key,
                                   bb_store **out);

/// Warns that a file is not used, for the reason in bb_status_message, and closes it.
void bb_store_reject(bb_store **file);

#endif

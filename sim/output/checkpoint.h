// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: the state of a computation as a file that is whole or absent, from which the same
// build goes on bit for bit with the same subject: what the state depends on, as a text.
//
// Layout, in the byte order of the machine: magic, byte-order mark, build; then the subject and
// each piece as its length in bytes (64 bits) and its bytes; last the XXH3-128 (canonical) of all
// before it.
#ifndef BB_SIM_OUTPUT_CHECKPOINT_H
#define BB_SIM_OUTPUT_CHECKPOINT_H

#include "core/status.h"

typedef struct bb_checkpoint bb_checkpoint;

/// Borrowed bytes.
typedef struct bb_checkpoint_piece {
    const void *data;
    bb_index bytes;
} bb_checkpoint_piece;

/// Writes `pieces` [count] to `path` in place of what stands there, once all is on the disk.
/// `subject` is the YAML of what the state depends on, first the experiment. Errors: BB_IO; the
/// file that stood there stays.
BB_CHECKED bb_status bb_checkpoint_write(const char *path, const char *subject,
                                         const bb_checkpoint_piece *pieces, bb_index count);

/// Opens a checkpoint and reads it once to hold it to its checksum. Errors: BB_IO (it cannot be
/// read, is no checkpoint, is truncated or corrupted), BB_INVALID (of another build, another
/// experiment, or another subject, with the groups that differ), BB_MEMORY. Owner of `*out`: the
/// caller.
BB_CHECKED bb_status bb_checkpoint_open(const char *path, const char *subject, bb_checkpoint **out);

/// Reads the next piece, which is to have `bytes` bytes. Errors: BB_IO.
BB_CHECKED bb_status bb_checkpoint_take(bb_checkpoint *checkpoint, void *data, bb_index bytes);
void bb_checkpoint_close(bb_checkpoint **checkpoint);

#endif

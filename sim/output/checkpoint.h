// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: the state of a computation as a file that is whole or absent, from which the same
// build goes on bit for bit with the same subject: what the state depends on, as a text.
//
// Layout, in the byte order of the machine: magic, byte-order mark, build; then the subject and
// each piece as its length in bytes (64 bits) and its bytes; last the XXH3-128 (canonical) of all
// before it.
//
// bb_restart serves `--checkpoint`, `--checkpoint-every` and `--resume` of all experiments with
// checkpoints; an experiment decides on their contents (wafer_restart.h, ao_restart.h).
#ifndef BB_SIM_OUTPUT_CHECKPOINT_H
#define BB_SIM_OUTPUT_CHECKPOINT_H

#include "core/status.h"
#include "sim/experiment.h"

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

/// Zero-initialise, open, release.
typedef struct bb_restart {
    const char *checkpoint; ///< borrowed; NULL: none is written
    double every_s;         ///< seconds between two, where writing them is cheap
    bool always;            ///< wherever one may be: 0 was asked for
    double last;            ///< clock when one was written last
    double cost;            ///< seconds that this took
    bb_text subject;        ///< what the state depends on
    bb_checkpoint *resumed; ///< NULL: from the start
} bb_restart;

/// Takes `subject`, also on failure, and opens and checks what `options` resume from. Without
/// `--checkpoint-every` it is `usual_s`. Errors: those of bb_checkpoint_open.
BB_CHECKED bb_status bb_restart_open(const bb_run_options *options, double usual_s,
                                     bb_text *subject, bb_restart *out);
void bb_restart_release(bb_restart *restart);

/// Whether a checkpoint is to be written: `now`, or every_s after the last one and late enough that
/// writing takes no more than about a tenth of the time, or with --checkpoint-every 0. False
/// without one to write or without `restart`.
bool bb_restart_is_due(const bb_restart *restart, bool now);

/// Writes `pieces` [count]. Errors: those of bb_checkpoint_write.
BB_CHECKED bb_status bb_restart_write(bb_restart *restart, const bb_checkpoint_piece *pieces,
                                      bb_index count);

#endif

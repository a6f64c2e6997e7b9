// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: the state of a computation as a file of core/store.h, from which the same build goes
// on bit for bit with the same subject (sim/output/subject.h). `--checkpoint`, `--checkpoint-every`
// and `--resume` of every experiment that has them.
#ifndef BB_SIM_OUTPUT_CHECKPOINT_H
#define BB_SIM_OUTPUT_CHECKPOINT_H

#include "core/store.h"
#include "sim/run/experiment.h"

/// Opens a checkpoint and compares its checksum and subject. Errors: those of bb_store_open,
/// BB_INVALID (of another experiment, or another subject, with the groups that differ). Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_checkpoint_open(const char *path, const char *subject, bb_store **out);

/// Zero-initialise, open, release.
typedef struct bb_restart {
    const char *checkpoint; ///< borrowed; NULL: none is written
    double every_s;         ///< seconds between two, where writing them is cheap
    bool always;            ///< wherever one may be: 0 was asked for
    double last;            ///< clock when one was written last
    double cost;            ///< seconds that this took
    bb_text subject;        ///< what the state depends on
    bb_store *resumed;      ///< NULL: from the start
    bool first_stage;       ///< of a study in two: the second does not go on
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

/// Writes `pieces` [count]. Errors: those of bb_store_write.
BB_CHECKED bb_status bb_restart_write(bb_restart *restart, const bb_store_piece *pieces,
                                      bb_index count);

#endif

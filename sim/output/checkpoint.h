// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: the state of a computation as a file of core/store.h. The same build continues from
// it bit for bit, for the same subject (sim/output/subject.h). Implements `--checkpoint`,
// `--checkpoint-every` and `--resume` of all experiments with checkpoints.
#ifndef BB_SIM_OUTPUT_CHECKPOINT_H
#define BB_SIM_OUTPUT_CHECKPOINT_H

#include "core/store.h"
#include "sim/run/experiment.h"

/// Opens a checkpoint and verifies its checksum and subject. Errors: from bb_store_open,
/// BB_INVALID (another experiment, or another subject, with the differing groups). The caller owns
/// `*out`.
BB_CHECKED bb_status bb_checkpoint_open(const char *path, const char *subject, bb_store **out);

/// Writer and reader of checkpoints. Zero-initialise, open, release.
typedef struct bb_restart {
    const char *checkpoint; ///< borrowed; NULL: no checkpoints are written
    double every_s;    ///< shortest interval between checkpoints in seconds, if writing is cheap
    bool always;       ///< write at every opportunity: the interval is set to 0
    double last;       ///< time of the last checkpoint
    double cost;       ///< duration of the last write in seconds
    bb_text subject;   ///< text of all that the state depends on
    bb_store *resumed; ///< NULL: start from the beginning
    bool first_stage;  ///< first of two stages of a study; the second does not resume
} bb_restart;

/// Starts checkpoints of a run: takes ownership of `subject`, also on failure, and opens and checks
/// the checkpoint to resume from. Without `--checkpoint-every` the interval is `usual_s`. Errors:
/// those of bb_checkpoint_open.
BB_CHECKED bb_status bb_restart_open(const bb_run_options *options, double usual_s,
                                     bb_text *subject, bb_restart *out);
void bb_restart_release(bb_restart *restart);

/// True if a checkpoint is due: if `now`; after every_s, unless writing would take more than about
/// a tenth of the time; or always with --checkpoint-every 0. False without a checkpoint file or
/// without `restart`.
bool bb_restart_is_due(const bb_restart *restart, bool now);

/// Writes `pieces` [count]. Errors: from bb_store_write.
BB_CHECKED bb_status bb_restart_write(bb_restart *restart, const bb_store_piece *pieces,
                                      bb_index count);

#endif

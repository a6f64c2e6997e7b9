// SPDX-License-Identifier: Apache-2.0
//
// What the runs of all experiments that take checkpoints share: `--checkpoint`,
// `--checkpoint-every` and `--resume`. What a checkpoint holds and when it may be written is the
// experiment's (sim/wafer/heat/wafer_heating.h, sim/ao/ao_restart.h).
#ifndef BB_SIM_RESTART_H
#define BB_SIM_RESTART_H

#include "sim/experiment.h"
#include "sim/output/checkpoint.h"

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

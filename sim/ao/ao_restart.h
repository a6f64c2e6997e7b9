// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of an ao study by pipeline: after each, all that it puts into the results goes into
// a checkpoint with what those before it have put there, and comes back to the same bits.
//
// Reconstructors stay out, which may be gigabytes: of a pipeline that was restored, frames and
// `--dump R` have it solved again. Covariances and spectra are made again.
#ifndef BB_SIM_AO_AO_RESTART_H
#define BB_SIM_AO_AO_RESTART_H

#include "sim/ao/learn/ao_learn.h"
#include "sim/output/checkpoint.h"
#include "sim/pipelines/search.h"

/// What a checkpoint keeps; everything is borrowed.
typedef struct bb_ao_state {
    const bb_ao_study *study;
    const bb_index *order;         ///< [pipelines of the study] in which they are computed
    bb_index finished;             ///< so many of them
    bb_ao_evaluation *evaluations; ///< [pipelines of the study]
    bb_search_trials *trials;
    const bb_ao_learning *learning; ///< NULL: nothing is learned
} bb_ao_state;

/// Appends what the results depend on, as YAML: the study but for its title and the paths of files,
/// the XXH3-128 of every file that it names, and compiler, flags and libraries. Errors: BB_MEMORY,
/// BB_IO (a file that cannot be read).
BB_CHECKED bb_status bb_ao_restart_subject(const bb_ao_study *study, bb_text *out);

/// Opens and checks what `options` resume from. Where they say nothing of seconds every pipeline is
/// kept, but for those that would have more than a tenth of the time go into writing. Without a
/// checkpoint, nothing is done. Errors: those of bb_ao_restart_subject and bb_checkpoint_open.
/// Release with bb_restart_release.
BB_CHECKED bb_status bb_ao_restart_open(const bb_ao_study *study, const bb_run_options *options,
                                        bb_restart *out);

/// The tile of the checkpoint that is resumed, if any, in a resolved study: all pipelines of a
/// study have one, also where solver.tile of `asked`, the study as written, is auto and another
/// host began. Comes before all that is read else. Errors: those of bb_checkpoint_take, BB_INVALID
/// (a device of this host cannot have it).
BB_CHECKED bb_status bb_ao_restart_take_tile(bb_restart *restart, const bb_ao_study *asked,
                                             bb_ao_study *resolved);

/// Writes a checkpoint where one is due, and once all are finished; a signal names it from then on.
/// Errors: those of bb_checkpoint_write, BB_MEMORY.
BB_CHECKED bb_status bb_ao_restart_save(bb_restart *restart, const bb_ao_state *state);

/// Reads the pipelines that were finished, if any; the learned profile stands before them and was
/// read (sim/ao/learn/ao_learn.c). `state` has the evaluations as they are before
/// anything is solved. `path` is the checkpoint's; where another is to be written, that is written
/// at once. Errors: those of bb_checkpoint_take and bb_ao_restart_save, BB_IO (what no run writes),
/// BB_INVALID (a pipeline that another device computed).
BB_CHECKED bb_status bb_ao_restart_load(bb_restart *restart, const char *path, bb_ao_state *state);

#endif

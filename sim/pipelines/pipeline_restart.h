// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of a study by pipeline: after each, all that it puts into the results goes into a
// checkpoint with what those before it have put there, and comes back to the same bits. What can be
// made again from the study, such as covariances and spectra, stays out.
#ifndef BB_SIM_PIPELINES_PIPELINE_RESTART_H
#define BB_SIM_PIPELINES_PIPELINE_RESTART_H

#include "sim/output/checkpoint.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/factor_pipeline.h"
#include "sim/pipelines/search.h"

enum { BB_PIPELINE_PIECES = 24 };

/// What a checkpoint keeps; everything is borrowed. Readers and writers go through the same lists,
/// which return the number of their pieces, at most BB_PIPELINE_PIECES.
typedef struct bb_pipeline_state {
    const bb_index *order; ///< [count] in which pipelines are computed
    bb_index finished;     ///< so many of them
    bb_evaluation *first;  ///< of [count] records, each of which begins with its evaluation
    size_t stride;         ///< bytes from one to the next
    bb_index count;
    const bb_index *tile;     ///< of all pipelines; NULL: they have none
    bb_search_trials *trials; ///< NULL: nothing is searched
    void *context;            ///< of the functions below
    /// What comes before the pipelines and is read by its own part; NULL: nothing.
    bb_index (*list_head)(const void *context, bb_store_piece *pieces);
    /// What a pipeline has beside its evaluation.
    bb_index (*list)(const void *context, bb_index pipeline, bb_store_piece *pieces);
    /// Whether what was read can be a run's; NULL: all can.
    bool (*adopt)(void *context, bb_index pipeline);
} bb_pipeline_state;

/// Opens and checks what `options` resume from, with the study but for its title as the subject.
/// Where they say nothing of seconds every pipeline is kept, but for those that would have more
/// than a tenth of the time go into writing. Without a checkpoint, nothing is done. Errors: those
/// of bb_subject_write and bb_checkpoint_open. Release with bb_restart_release.
BB_CHECKED bb_status bb_pipeline_restart_open(const bb_schema *schema, const void *study,
                                              const bb_run_options *options, bb_restart *out);

/// The tile of the checkpoint that is resumed, if any, in the solver of a resolved study: all
/// pipelines of a study have one, also where `is_auto` and another host began. Comes before all
/// that is read else. Errors: those of bb_store_read, BB_INVALID (a device of this host cannot have
/// it).
BB_CHECKED bb_status bb_pipeline_restart_restore_tile(bb_restart *restart, const bb_list *pipelines,
                                                      int device, bool is_auto,
                                                      bb_factor_solver_config *solver);

/// Writes a checkpoint where one is due, and once all are finished; a signal names it from then on.
/// Errors: those of bb_store_write, BB_MEMORY.
BB_CHECKED bb_status bb_pipeline_restart_save(bb_restart *restart, const bb_pipeline_state *state);

/// Reads the pipelines that were finished, if any, behind tile and head. `state` has the
/// evaluations as they are before anything is solved. `path` is the checkpoint's; where another is
/// to be written, that is written at once. Errors: those of bb_store_read and
/// bb_pipeline_restart_save, BB_IO (what no run writes), BB_INVALID (a pipeline that another device
/// computed).
BB_CHECKED bb_status bb_pipeline_restart_load(bb_restart *restart, const char *path,
                                              bb_pipeline_state *state);

#endif

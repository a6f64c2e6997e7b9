// SPDX-License-Identifier: Apache-2.0
//
// Exact restart of a study by pipeline. After each pipeline, its results are added to a checkpoint,
// from which they are restored with the same bits. Data that can be recomputed from the study, such
// as covariances and spectra, are not saved.
#ifndef BB_SIM_PIPELINES_PIPELINE_RESTART_H
#define BB_SIM_PIPELINES_PIPELINE_RESTART_H

#include "sim/output/checkpoint.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/factor_pipeline.h"
#include "sim/pipelines/search.h"

enum { BB_PIPELINE_PIECES = 24 };

/// Contents of a checkpoint; everything is borrowed. Reading and writing use the same lists, which
/// return the number of their pieces, at most BB_PIPELINE_PIECES.
typedef struct bb_pipeline_state {
    const bb_index *order; ///< [count] order of computation
    bb_index finished;     ///< number of finished pipelines, in that order
    bb_evaluation *first;  ///< first of [count] records, each starting with its evaluation
    size_t stride;         ///< distance in bytes between two records
    bb_index count;
    const bb_index *tile;     ///< tile of all pipelines; NULL: none
    bb_search_trials *trials; ///< NULL: no searches
    void *context;            ///< argument of the functions below
    /// Lists pieces before the pipelines, read by their own part; NULL: none.
    bb_index (*list_head)(const void *context, bb_store_piece *pieces);
    /// Lists the pieces of a pipeline other than its evaluation.
    bb_index (*list)(const void *context, bb_index pipeline, bb_store_piece *pieces);
    /// True if a pipeline that was read is valid; NULL: always.
    bool (*adopt)(void *context, bb_index pipeline);
} bb_pipeline_state;

/// Opens and checks the checkpoint that `options` resume, with the study except its title as the
/// subject. Without an interval in seconds every pipeline is saved, unless writing would take more
/// than a tenth of the time. No effect without a checkpoint. Errors: from bb_subject_write and
/// bb_checkpoint_open. Release with bb_restart_release.
BB_CHECKED bb_status bb_pipeline_restart_open(const bb_schema *schema, const void *study,
                                              const bb_run_options *options, bb_restart *out);

/// Restores the tile of a resumed checkpoint, if any, in the solver of a resolved study. All
/// pipelines of a study use one tile, also if `is_auto` and the run began on another host. Must be
/// the first read. Errors: from bb_store_read, BB_INVALID (a device of this host does not
/// support it).
BB_CHECKED bb_status bb_pipeline_restart_restore_tile(bb_restart *restart, const bb_list *pipelines,
                                                      int device, bool is_auto,
                                                      bb_factor_solver_config *solver);

/// Writes a checkpoint if one is due or all pipelines are finished, and names it in the signal
/// message. Errors: from bb_store_write, BB_MEMORY.
BB_CHECKED bb_status bb_pipeline_restart_save(bb_restart *restart, const bb_pipeline_state *state);

/// Reads the finished pipelines, if any, after tile and head. `state` has the evaluations as before
/// the first solve. `path` is the checkpoint's; if another is to be written, it is written at once.
/// Errors: from bb_store_read and bb_pipeline_restart_save, BB_IO (impossible values),
/// BB_INVALID (a pipeline computed on another device).
BB_CHECKED bb_status bb_pipeline_restart_load(bb_restart *restart, const char *path,
                                              bb_pipeline_state *state);

#endif

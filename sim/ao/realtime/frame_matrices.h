// SPDX-License-Identifier: Apache-2.0
//
// What a loop of frames multiplies with, and how the slopes that arrive are spread.
//
// Of a study: the reconstructors of a pipeline, solved and stored as a run does it. Slopes are
// normal and independent, with the variances that the covariance gives them; where means are
// filtered, those of a group have a common part, of what the filter takes out.
//
// Drawn, for times alone: entry (i, j) is a normal number times 0.05 + 1 / (1 + (d / 0.1)^2), d the
// distance on a line between the places of command i and of slope j in their pupils, so that some
// of a row are large and most are small, as of a reconstructor. Sixteen runs of slopes stand for
// the axes of eight sensors. Nothing is solved, and rounding in the sweep is to nearest.
#ifndef BB_SIM_AO_REALTIME_FRAME_MATRICES_H
#define BB_SIM_AO_REALTIME_FRAME_MATRICES_H

#include "sim/ao/ao_storage.h"
#include "solvers/loop/command_loop.h"

/// Zero-initialise; release with bb_frame_matrices_release.
typedef struct bb_frame_matrices {
    bool is_drawn;
    int count;
    bb_index slopes, commands; ///< of all matrices
    bb_stored_reconstructor stored[BB_COMMAND_MATRICES];
    bb_index group_count;  ///< 0: means stay
    bb_index *group_begin; ///< [group_count + 1]
    double *own;           ///< [slopes] deviation, without that of
    double *common;        ///< [slopes] what a group has in common
    double seconds;        ///< to solve or draw, and to code
} bb_frame_matrices;

/// Solves a study for one of its pipelines, or draws, and stores what that gives. Errors: those of
/// the problem and the solve, BB_INVALID (a numerical failure, more than BB_COMMAND_MATRICES
/// reconstructors), BB_UNSUPPORTED (a profile that is learned), BB_MEMORY.
BB_CHECKED bb_status bb_frame_matrices_make(const bb_ao_study *study,
                                            const bb_factor_pipeline *pipeline,
                                            bb_frame_matrices *out);

/// The same of what an evaluation was solved to, commands where those are stored: stores it in its
/// place, as bb_ao_storage_round of draw 0. A failure is the evaluation's outcome. Errors:
/// BB_INVALID (more than BB_COMMAND_MATRICES), BB_MEMORY, the source's.
BB_CHECKED bb_status bb_frame_matrices_store(bb_ao_storage *storage,
                                             const bb_factor_pipeline *pipeline,
                                             bb_ao_evaluation *evaluation, bb_frame_matrices *out);
void bb_frame_matrices_release(bb_frame_matrices *self);

/// Bytes and values of all matrices, and of what multiplies means.
double bb_frame_matrices_bytes(const bb_frame_matrices *self);
double bb_frame_matrices_values(const bb_frame_matrices *self);

#endif

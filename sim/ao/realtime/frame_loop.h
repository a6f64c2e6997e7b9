// SPDX-License-Identifier: Apache-2.0
//
// A pipeline's matrices in frames of one device or of several that share their
// rows (solvers/loop/command_loop.h), and the slopes that arrive: sets that are drawn before, or
// frames of a file (telemetry_file.h), and take turns. The reference is drawn with them; of a file,
// whose slopes are without it, it is 0.
#ifndef BB_SIM_AO_REALTIME_FRAME_LOOP_H
#define BB_SIM_AO_REALTIME_FRAME_LOOP_H

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

enum { BB_FRAME_SETS = 8 }; ///< of slopes that are drawn

/// Read-only to users.
typedef struct bb_frame_loop {
    const bb_ao_study *study;           ///< borrowed, as are the next two
    const bb_factor_pipeline *pipeline; ///< of the study
    int device_count;
    bb_device *devices[BB_COMMAND_DEVICES]; ///< of one kind
    bb_frame_matrices matrices;
    bb_coded_operator *operators[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES]; ///< of their rows
    bb_command_loop *frames;
    float *reference;      ///< [slopes]
    bb_index sets;         ///< BB_FRAME_SETS, or the frames of a file
    float *slopes;         ///< [sets][slopes]
    double operator_bytes; ///< that a frame reads on the devices
    double distance;       ///< bb_frame_loop_compare, once measured
} bb_frame_loop;

/// Prepares the frames of matrices that are made: the loop takes what `matrices` holds, which the
/// caller releases all the same. The study's `realtime` says what loop it is. Errors: those of the
/// operators and of bb_command_loop_create, BB_INVALID (a matrix of fewer rows than devices),
/// BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_frame_loop_create(const bb_ao_study *study,
                                          const bb_factor_pipeline *pipeline, int device_count,
                                          bb_device *const *devices, bb_frame_matrices *matrices,
                                          bb_frame_loop **out);
void bb_frame_loop_destroy(bb_frame_loop **loop);

/// Puts the slopes of frame `number` where those of the next frame to be posted arrive.
void bb_frame_loop_set_slopes(bb_frame_loop *loop, bb_index number);

/// Runs frames from rest until one is out, here and on the cpu with products and sums in fp64, and
/// compares: `distance` is that of the commands over their norm, of the first set that is finite;
/// NaN where none is. The loop is at rest again. Errors: the loop's, BB_MEMORY.
BB_CHECKED bb_status bb_frame_loop_compare(bb_frame_loop *loop, double *distance);

#endif

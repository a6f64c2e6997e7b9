// SPDX-License-Identifier: Apache-2.0
//
// Realtime loop of a pipeline's matrices on one device, or on several that share their rows
// (solvers/loop/command_loop.h).
//
// Slopes are random sets drawn in advance, or frames of a file (telemetry_file.h), both used in
// rotation. The reference is drawn with random slopes; for a file, which has references subtracted,
// it is 0.
#ifndef BB_SIM_AO_REALTIME_FRAME_LOOP_H
#define BB_SIM_AO_REALTIME_FRAME_LOOP_H

#include "sim/ao/ao_storage.h"
#include "solvers/loop/command_loop.h"

/// Matrices of a realtime loop. Zero-initialise; release with bb_frame_matrices_release.
typedef struct bb_frame_matrices {
    bool is_drawn;
    int count;
    bb_index slopes, commands; ///< totals over all matrices
    bb_stored_reconstructor stored[BB_COMMAND_MATRICES];
    bb_index group_count;  ///< 0: means are not filtered
    bb_index *group_begin; ///< [group_count + 1]
    double *own;           ///< [slopes] standard deviation after the filter
    double *common;        ///< [slopes] standard deviation of the group's common part
    double seconds;        ///< time to solve or draw, and to encode
} bb_frame_matrices;

/// Solves a study for one of its pipelines, or draws random matrices, and stores the result.
/// Errors: from the problem and the solve, BB_INVALID (a numerical failure, more than
/// BB_COMMAND_MATRICES reconstructors), BB_UNSUPPORTED (a learned profile), BB_MEMORY.
BB_CHECKED bb_status bb_frame_matrices_make(const bb_ao_study *study,
                                            const bb_factor_pipeline *pipeline,
                                            bb_frame_matrices *out);

/// Stores the solution of an evaluation, or its commands where those are stored, and replaces it by
/// the decoded values, as bb_ao_storage_round of draw 0. A failure sets the evaluation's outcome.
/// Errors: BB_INVALID (more than BB_COMMAND_MATRICES), BB_MEMORY, the source's.
BB_CHECKED bb_status bb_frame_matrices_store(bb_ao_storage *storage,
                                             const bb_factor_pipeline *pipeline,
                                             bb_ao_evaluation *evaluation, bb_frame_matrices *out);
void bb_frame_matrices_release(bb_frame_matrices *self);

/// Bytes of all matrices including that of the means, and number of values.
double bb_frame_matrices_bytes(const bb_frame_matrices *self);
double bb_frame_matrices_values(const bb_frame_matrices *self);

enum { BB_FRAME_SETS = 8 }; ///< number of random sets of slopes

/// Realtime loop of a pipeline; read-only to callers.
typedef struct bb_frame_loop {
    const bb_ao_study *study;           ///< borrowed, as are `pipeline` and `devices`
    const bb_factor_pipeline *pipeline; ///< pipeline of the study
    int device_count;
    bb_device *devices[BB_COMMAND_DEVICES]; ///< all of one kind
    bb_frame_matrices matrices;
    /// operators for the rows of each device
    bb_coded_operator *operators[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES];
    bb_command_loop *frames;
    float *reference;      ///< [slopes]
    bb_index sets;         ///< number of sets: BB_FRAME_SETS, or the frames of a file
    float *slopes;         ///< [sets][slopes]
    double operator_bytes; ///< bytes of the operators that the devices read for each frame
    double distance;       ///< bb_frame_loop_compare, once measured
} bb_frame_loop;

/// Creates a loop from `matrices`, whose contents move into the loop; the caller still releases
/// `matrices`. The study's `realtime` sets the loop's parameters. Errors: from the operators
/// and of bb_command_loop_create, BB_INVALID (a matrix with fewer rows than devices), BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_frame_loop_create(const bb_ao_study *study,
                                          const bb_factor_pipeline *pipeline, int device_count,
                                          bb_device *const *devices, bb_frame_matrices *matrices,
                                          bb_frame_loop **out);
void bb_frame_loop_destroy(bb_frame_loop **loop);

/// Copies the slopes of frame `number` to the input of the next posted frame.
void bb_frame_loop_set_slopes(bb_frame_loop *loop, bb_index number);

/// Runs frames from the reset state until one leaves the delay, in this loop and on the CPU in
/// fp64, with the first finite set of slopes. `distance` is the norm of the difference of the
/// commands over their norm; NaN without a finite set. Resets the loop afterwards. Errors: the
/// loop's, BB_MEMORY.
BB_CHECKED bb_status bb_frame_loop_compare(bb_frame_loop *loop, double *distance);

#endif

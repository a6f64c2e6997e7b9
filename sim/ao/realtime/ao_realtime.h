// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of an ao study: frames of a loop (frame_loop.h) as steps of
// sim/realtime/realtime_loop.h, their results, and their plan.
//
// A GPU frame is queued before its release; with the device clock up to BB_COMMAND_AHEAD - 1 more
// follow. Slopes are in memory before the release, and the latency ends with the commands in host
// memory.
//
// The same code measures frame times of a run: matrices stored for scoring run as frames on the
// pipeline's device, without another solve.
#ifndef BB_SIM_AO_REALTIME_AO_REALTIME_H
#define BB_SIM_AO_REALTIME_AO_REALTIME_H

#include "sim/ao/ao_extent.h"
#include "sim/ao/realtime/frame_loop.h"
#include "sim/realtime/realtime_report.h"
#include "sim/run/experiment.h"
#include "sim/run/part.h"

/// Stages of a record: the stages of bb_command_stage, then the remaining host time.
enum { BB_FRAME_HOST = BB_COMMAND_STAGES, BB_FRAME_STAGES };

/// Compares the commands of a loop with fp64 (bb_frame_loop_compare), then runs and measures its
/// frames. Errors: from both and of bb_realtime_loop_measure.
BB_CHECKED bb_status bb_frame_loop_measure(bb_frame_loop *loop, bb_realtime_measurement *out);

/// Runs the frames only, into `out`, zero-initialised (bb_realtime_loop_run). On a GPU it stops the
/// thread pool first.
BB_CHECKED bb_status bb_frame_loop_run(bb_frame_loop *loop, bb_realtime_measurement *out);

/// Summarises a measurement of a loop. Errors: from bb_realtime_summary_make.
BB_CHECKED bb_status bb_frame_loop_sum_up(const bb_frame_loop *loop,
                                          const bb_realtime_measurement *measured,
                                          bb_realtime_summary *out);

/// Contract of `realtime` in sim/run/experiment.h; `study` is a bb_ao_study. Further errors: those
/// of bb_frame_loop_create and of the devices, BB_INVALID (no pipeline stores its reconstructor,
/// several GPUs for a pipeline on the CPU), BB_DEVICE (more GPUs than present), BB_UNSUPPORTED (a
/// storage without a product on the device).
BB_CHECKED bb_status bb_ao_realtime_run(const void *study, bb_results *results, bb_text *table);

/// Appends the table and writes the root axes kind and stage, /results, /latency, /worst and /host.
/// Errors: BB_MEMORY, BB_INVALID (no frame was measured).
BB_CHECKED bb_status bb_ao_realtime_report(const bb_frame_loop *loop,
                                           const bb_realtime_measurement *measured,
                                           bb_results *results, bb_text *table);

/// Device for the frames of a pipeline with `values` matrix values. `auto` selects a CUDA device if
/// one is present, supports the storage, and either is faster at this size or several GPUs share
/// the matrices.
bb_device_kind bb_ao_realtime_device(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                     double values);

/// Need of `bitbudget realtime` on the device that would run it: the matrices, their computation
/// (where `solving` is a run of the study), and the loop. `replayed` is the number of frames in a
/// file of slopes, 0: random slopes.
bb_need bb_ao_realtime_need(const bb_ao_study *study, const bb_ao_extent *extent, bb_index replayed,
                            bb_need solving);

/// Adds plan lines for a study that names its realtime pipeline or a size, and for frame times. A
/// file of slopes is inspected (bb_telemetry_file_inspect). Errors: BB_MEMORY, that file's.
BB_CHECKED bb_status bb_ao_realtime_plan(const bb_ao_study *study, const bb_ao_extent *extent,
                                         bb_need solving, bb_plan *plan);

/// Stores the solution of an evaluation by its level (bb_ao_storage_round of draw 0). If the study
/// measures frame times, the stored matrices are then run and `frame_times_s` is set. It stays NaN
/// after a failure or without a storage; and, with a log message, if the device does not support
/// the storage or sums are narrower than fp32. Errors: from bb_frame_matrices_store, of the
/// operators, of bb_frame_loop_create and of bb_frame_loop_run.
BB_CHECKED bb_status bb_ao_realtime_store_timed(const bb_ao_study *study, bb_ao_storage *storage,
                                                bb_ao_evaluation *evaluation);

/// Need of `frame_times` in a run, one pipeline after another, in addition to solves and storing.
bb_need bb_ao_realtime_times_need(const bb_ao_study *study, const bb_ao_extent *extent);

extern const bb_part bb_ao_realtime_part;

#endif

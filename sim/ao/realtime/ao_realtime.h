// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of an ao study: frames of a loop (frame_loop.h) as steps of
// sim/realtime/realtime_loop.h, their results, and their plan. A frame of a GPU is queued before
// its release, by the device's clock with up to BB_COMMAND_AHEAD - 1 after it. Slopes are in their
// place before the release; the latency ends with the commands in the host's memory.
//
// Frame times of a run are measured by the same code: what a pipeline stores to be scored is run as
// frames on the device where the pipeline computes, and nothing is solved again.
#ifndef BB_SIM_AO_REALTIME_AO_REALTIME_H
#define BB_SIM_AO_REALTIME_AO_REALTIME_H

#include "sim/ao/ao_extent.h"
#include "sim/ao/realtime/frame_loop.h"
#include "sim/realtime/realtime_report.h"
#include "sim/run/experiment.h"
#include "sim/run/part.h"

/// Stages of a record: those of bb_command_stage, then what they do not cover.
enum { BB_FRAME_HOST = BB_COMMAND_STAGES, BB_FRAME_STAGES };

/// Compares the commands of a loop (bb_frame_loop_compare), then runs and measures its frames.
/// Errors: those of both and of bb_realtime_loop_measure.
BB_CHECKED bb_status bb_frame_loop_measure(bb_frame_loop *loop, bb_realtime_measurement *out);

/// The frames alone, into `out`, zero-initialised (bb_realtime_loop_run). Those of a GPU stop the
/// pool of threads.
BB_CHECKED bb_status bb_frame_loop_run(bb_frame_loop *loop, bb_realtime_measurement *out);

/// Sums up a measurement of a loop. Errors: those of bb_realtime_summary_make.
BB_CHECKED bb_status bb_frame_loop_sum_up(const bb_frame_loop *loop,
                                          const bb_realtime_measurement *measured,
                                          bb_realtime_summary *out);

/// Contract of `realtime` in sim/run/experiment.h; `study` is a bb_ao_study. Errors besides: those
/// of bb_frame_loop_create and of the devices, BB_INVALID (no pipeline stores its reconstructor,
/// several GPUs of what runs on the cpu), BB_DEVICE (more GPUs than there are), BB_UNSUPPORTED (a
/// storage that the device does not multiply).
BB_CHECKED bb_status bb_ao_realtime_run(const void *study, bb_results *results, bb_text *table);

/// Appends the table and writes root axes kind and stage, /results, /latency, /worst and /host.
/// Errors: BB_MEMORY, BB_INVALID (no frame was measured).
BB_CHECKED bb_status bb_ao_realtime_report(const bb_frame_loop *loop,
                                           const bb_realtime_measurement *measured,
                                           bb_results *results, bb_text *table);

/// Where the frames of a pipeline run whose matrices have so many values: `auto` takes a cuda
/// device that is present for storages that it multiplies, of a size that is faster there or that
/// several GPUs share.
bb_device_kind bb_ao_realtime_device(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                     double values);

/// What `bitbudget realtime` takes: the matrices, their making, of which `solving` is a run of the
/// study, and the loop; on a cuda device where one would run it. `replayed` is the number of frames
/// of a file of slopes, 0: they are drawn.
bb_need bb_ao_realtime_need(const bb_ao_study *study, const bb_ao_extent *extent, bb_index replayed,
                            bb_need solving);

/// Adds the lines of a study that names the pipeline that runs in real time, or a size, and one of
/// frame times where it asks for them. A file of slopes is inspected (bb_telemetry_file_inspect).
/// Errors: BB_MEMORY, that file's.
BB_CHECKED bb_status bb_ao_realtime_plan(const bb_ao_study *study, const bb_ao_extent *extent,
                                         bb_need solving, bb_plan *plan);

/// Stores what an evaluation was solved to, by its level (bb_ao_storage_round of draw 0); where the
/// study asks for frame times, what is stored is then run and `frame_times_s` set. They stay NaN of
/// an evaluation that failed or stores nothing, and, with a line of the log, where the device does
/// not multiply the storage or sums are narrower than fp32. Errors: those of
/// bb_frame_matrices_store, of the operators, of bb_frame_loop_create and of
/// bb_frame_loop_run.
BB_CHECKED bb_status bb_ao_realtime_store_timed(const bb_ao_study *study, bb_ao_storage *storage,
                                                bb_ao_evaluation *evaluation);

/// What `frame_times` of a run takes, of one pipeline after the other, beside what is solved and
/// what storing takes.
bb_need bb_ao_realtime_times_need(const bb_ao_study *study, const bb_ao_extent *extent);

extern const bb_part bb_ao_realtime_part;

#endif

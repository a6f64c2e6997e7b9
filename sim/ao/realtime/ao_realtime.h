// SPDX-License-Identifier: Apache-2.0
//
// `bitbudget realtime` of an ao study, and what it found as a table and as results: latencies,
// misses with their bound, the worst frames with their stages, and what the host was.
#ifndef BB_SIM_AO_REALTIME_AO_REALTIME_H
#define BB_SIM_AO_REALTIME_AO_REALTIME_H

#include "sim/ao/realtime/frame_table.h"
#include "sim/experiment.h"

/// Contract of `realtime` in sim/experiment.h; `study` is a bb_ao_study. Errors besides: those of
/// bb_frame_loop_create and of the devices, BB_INVALID (no pipeline stores its reconstructor,
/// several GPUs of what runs on the cpu), BB_DEVICE (more GPUs than there are), BB_UNSUPPORTED (a
/// storage that the device does not multiply).
BB_CHECKED bb_status bb_ao_realtime_run(const void *study, bb_results *results, bb_text *table);

/// Appends the table and writes root axes kind and stage, /results, /latency, /worst and /host.
/// Errors: BB_MEMORY, BB_INVALID (no frame was measured).
BB_CHECKED bb_status bb_ao_realtime_report(const bb_frame_loop *loop,
                                           const bb_frame_measurement *measured,
                                           bb_results *results, bb_text *table);

/// Where the frames of a pipeline run: `auto` takes a cuda device only for storages that it
/// multiplies. Errors: those of bb_device_choice_make, BB_UNSUPPORTED.
BB_CHECKED bb_status bb_ao_realtime_choose(const bb_ao_study *study,
                                           const bb_factor_pipeline *pipeline, bb_device_kind *out);

#endif

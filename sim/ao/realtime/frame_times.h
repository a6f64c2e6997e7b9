// SPDX-License-Identifier: Apache-2.0
//
// How long a frame takes of what each pipeline of an ao study stores, by the code of
// `bitbudget realtime` (frame_loop.h, frame_measurement.h): what is stored to be scored is run as
// frames on the device where the pipeline computes, and nothing is solved again. Targets with
// reconstructors of their own are one frame.
#ifndef BB_SIM_AO_REALTIME_FRAME_TIMES_H
#define BB_SIM_AO_REALTIME_FRAME_TIMES_H

#include "sim/ao/ao_storage.h"

/// bb_ao_storage_round of draw 0 for what an evaluation was solved to, by its level; where the
/// study asks for frame times, what is stored is then run and `frame_times_s` set. They stay NaN of
/// an evaluation that failed or stores nothing, and, with a line of the log, where the device does
/// not multiply the storage or sums are narrower than fp32. Frames of a GPU have the rest of the
/// program's threads out of their way. Errors: those of bb_frame_matrices_store, of the operators,
/// of bb_frame_loop_create_made and of bb_frame_measurement_run.
BB_CHECKED bb_status bb_frame_times_store(const bb_ao_study *study, bb_ao_storage *storage,
                                          bb_ao_evaluation *evaluation);

#endif

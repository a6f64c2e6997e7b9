// SPDX-License-Identifier: Apache-2.0
//
// The deadline harness of ao: frames of a loop (frame_loop.h), released at fixed times of the
// host's or the device's clock or back to back. A frame of a GPU is queued before its release, by
// the device's clock with up to BB_COMMAND_AHEAD - 1 after it. Slopes lie where they arrive before
// the release; the latency of a frame is from its release to its commands in the host's memory, a
// late start counted in. A frame that is not done at the next release delays that one, and releases
// keep their times.
#ifndef BB_SIM_AO_REALTIME_FRAME_MEASUREMENT_H
#define BB_SIM_AO_REALTIME_FRAME_MEASUREMENT_H

#include "sim/ao/realtime/frame_loop.h"
#include "sim/realtime/realtime_report.h"

/// Stages of a record: those of bb_command_stage, then what they do not cover.
enum { BB_FRAME_HOST = BB_COMMAND_STAGES, BB_FRAME_STAGES };

/// What was measured; release with bb_frame_measurement_release.
typedef struct bb_frame_measurement {
    bb_step_record *records; ///< [count]
    bb_index count;          ///< less than was asked for after an interrupt
    bb_index held;           ///< frames whose commands were held: something was not finite
    bool interrupted;
    double wall_seconds;
    double distance; ///< bb_frame_loop_compare
    bb_realtime_host host;
    bb_device_report devices[BB_COMMAND_DEVICES]; ///< of the loop
} bb_frame_measurement;

/// Runs the frames of a loop, looks at the host and compares. A signal ends the frames early,
/// before the first measured one the program. Errors: the loop's, BB_MEMORY.
BB_CHECKED bb_status bb_frame_measurement_take(bb_frame_loop *loop, bb_frame_measurement *out);

/// The frames alone, into `out`, zero-initialised: records, counts and the host's thread. Those of
/// a GPU stop the pool of threads. Signals are the caller's. Errors: likewise.
BB_CHECKED bb_status bb_frame_measurement_run(bb_frame_loop *loop, bb_frame_measurement *out);
void bb_frame_measurement_release(bb_frame_measurement *measured);

#endif

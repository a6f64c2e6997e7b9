// SPDX-License-Identifier: Apache-2.0
//
// Engine of real-time loops: steps that are read, started and finished in order, each released at a
// fixed time, back to back, or by the arrival of its input, and their latencies.
//
// A loop is a row of stages. `read` prepares the input of a step before its release: slopes in
// pinned memory, frames of a camera. `start` begins its product and control, `finish` waits until
// its output is written and records the times. If a device runs the loop as a graph, `start`
// launches the graph. Up to `depth` steps are in flight: the oldest is finished when this limit is
// reached, or when no input has arrived and the oldest step has ended.
//
// The latency of a step is measured from its release to its end and includes a late start. A step
// that has not ended at the next release delays the next step, but releases remain on schedule.
// Warm-up steps run directly before the measured ones.
//
// Releases by the host's clock: the thread sleeps until shortly before, polls, and starts the step.
// By the device's clock: steps are queued before their time, and the device waits for each release;
// the host only fills the queue.
//
// The thread of a loop gets its own core, locked memory and a real-time policy if the host permits;
// the state of the host is recorded. Linux only.
#ifndef BB_SIM_REALTIME_REALTIME_LOOP_H
#define BB_SIM_REALTIME_REALTIME_LOOP_H

#include "core/device/device.h"
#include "core/status.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { BB_HOST_TEXT = 160 };

/// Texts from /proc, /sys and nvidia-smi; "unknown" if unavailable.
typedef struct bb_host_state {
    char processor[BB_HOST_TEXT];
    char kernel[BB_HOST_TEXT]; ///< release and version
    char hypervisor[BB_HOST_TEXT];
    char isolated[BB_HOST_TEXT]; ///< cores excluded from the scheduler
    char governor[BB_HOST_TEXT]; ///< frequency governor of core 0
    char load[BB_HOST_TEXT];     ///< load averages over 1, 5 and 15 minutes
    char clocks[BB_HOST_TEXT];   ///< clocks of the GPU: sm and memory, current and maximum
} bb_host_state;

/// Settings of the loop's thread, or the reasons why they were refused.
typedef struct bb_realtime_thread {
    char core[BB_HOST_TEXT];
    char memory[BB_HOST_TEXT];
    char policy[BB_HOST_TEXT];
    bool pinned, locked, raised; ///< settings that are in force
    cpu_set_t cores;             ///< original cores of the thread
    int slack;                   ///< original timer slack, ns; negative: unknown
} bb_realtime_thread;

/// State of the host before and after a run, and settings of its thread.
typedef struct bb_realtime_host {
    bb_host_state before, after;
    bb_realtime_thread thread;
} bb_realtime_host;

enum {
    BB_STEP_ALL = -1,        ///< steps of any kind
    BB_STEP_KINDS_MOST = 4,  ///< including "all"
    BB_STEP_PARTS = 6,       ///< largest number of timed stages of a step
    BB_REALTIME_SHARES = 3,  ///< largest number of devices with separate stages
    BB_REALTIME_DEVICES = 8, ///< largest number of devices of a loop
};

/// Step, times in s.
typedef struct bb_step_record {
    double release; ///< time since the first measured release
    double latency;
    double stage[BB_STEP_PARTS]; ///< NaN for absent stages
    int32_t exposure, step;      ///< numbers; without exposures the first measured step is 0
    int kind;
} bb_step_record;

/// Measurement; release with bb_realtime_measurement_release.
typedef struct bb_realtime_measurement {
    /// [shares][steps of the schedule]; shares differ only in their stages
    bb_step_record *records;
    bb_index shares, steps;
    bb_index count; ///< number of measured steps; fewer than requested after an interrupt
    bb_index held; ///< steps whose outputs were held at the previous values because of a non-finite
                   ///< value
    bool interrupted;
    double wall_seconds; ///< time from the first measured release to the last step's end
    bb_realtime_host host;
    int device_count;
    bb_device_report devices[BB_REALTIME_DEVICES];
} bb_realtime_measurement;

void bb_realtime_measurement_release(bb_realtime_measurement *measured);

/// Schedule of the releases.
typedef struct bb_realtime_schedule {
    bb_index warm_up, steps; ///< numbers of warm-up and of measured steps
    int64_t period_ns;       ///< interval of releases; 0: each when the previous step has ended
    bool by_device;          ///< releases are by the device's clock
    bb_index depth;          ///< steps in flight; 1 with the host's clock
    bool polls;              ///< the thread polls for the end of steps and never sleeps
    bool stops_threads;      ///< stop the thread pool before the loop
} bb_realtime_schedule;

typedef struct bb_realtime_loop bb_realtime_loop;

/// Functions of the experiment, called with the release in ns of the clock of the steps.
typedef struct bb_realtime_stages {
    /// Prepares the first step, after the thread is configured. With the device's clock it sets
    /// `first_ns` to the time of that clock if releases are relative to it. May be NULL.
    bb_status (*begin)(bb_realtime_loop *loop);
    /// Prepares step `started` before its release. `*is_ready` is true, or false if no input has
    /// arrived; sets `ended` if none will. May be NULL.
    bb_status (*read)(bb_realtime_loop *loop, bool *is_ready);
    /// Starts step `started`; with the device's clock queues it for its release.
    bb_status (*start)(bb_realtime_loop *loop, int64_t release_ns);
    /// Waits for step `finished` and writes its records [shares of the measurement].
    bb_status (*finish)(bb_realtime_loop *loop, int64_t release_ns, bb_step_record *records);
    /// True if step `finished` has ended; NULL if input is always available.
    bool (*has_ended)(const bb_realtime_loop *loop);
    /// Called before the thread is restored, after all steps unless interrupted. May be NULL.
    bb_status (*after)(bb_realtime_loop *loop);
    /// Discards steps in flight that are not finished after an interrupt; called after the thread
    /// is restored, before the interrupt may end the program. NULL: the steps are finished.
    bb_status (*abandon)(bb_realtime_loop *loop);
} bb_realtime_stages;

/// Loop; the experiment sets the first three members, the rest is zero. `context` is borrowed.
struct bb_realtime_loop {
    const bb_realtime_stages *stages;
    void *context;
    bb_realtime_schedule schedule;
    bb_index started,
        finished; ///< numbers of steps, also the indices of the next step to start and to finish
    int64_t first_ns;   ///< release of step 0
    int64_t release_ns; ///< release of the step started last
    int64_t zero_ns;    ///< release of the first measured step
    bool ended;         ///< no further step is started
    bb_realtime_measurement *out;
};

/// Runs the steps until their end or an interrupt; steps in flight are finished. Errors: those of
/// the stages.
BB_CHECKED bb_status bb_realtime_loop_follow(bb_realtime_loop *loop);

/// Finishes all steps in flight. Errors: from `finish`.
BB_CHECKED bb_status bb_realtime_loop_drain(bb_realtime_loop *loop);

/// Record of step `finished` from its release and end.
bb_step_record bb_realtime_loop_record(bb_realtime_loop *loop, int64_t release_ns, int64_t end_ns);

/// Runs the steps on a real-time thread into `out`, zero-initialised except `shares`, 1 to
/// BB_REALTIME_SHARES: records, counts and thread settings. The caller handles signals. Errors:
/// those of the stages, BB_MEMORY.
BB_CHECKED bb_status bb_realtime_loop_run(bb_realtime_loop *loop, bb_realtime_measurement *out);

/// Runs the steps as above, and records the state of host and devices before and after the run. A
/// signal ends the steps early; before the first measured step it ends the program. Errors: as
/// above.
BB_CHECKED bb_status bb_realtime_loop_measure(bb_realtime_loop *loop, int device_count,
                                              bb_device *const *devices,
                                              bb_realtime_measurement *out);

#endif

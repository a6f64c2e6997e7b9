// SPDX-License-Identifier: Apache-2.0
//
// Engine of the loops in real time: steps that are read, started and finished in order, each
// released at a fixed time, back to back, or by the arrival of its input, and their latencies.
//
// A loop is a row of stages. `read` prepares the input of a step before its release: slopes in
// pinned memory, frames of a camera. `start` begins its product and control, `finish` waits until
// its output is written and notes the times. A loop that a device runs as a graph launches that
// graph in `start`. Up to `depth` steps are under way at once: when that many are, or when no input
// came and the oldest step has ended, the oldest is finished.
//
// The latency of a step is from its release to its end, so a late start counts. A step that has not
// ended at the next release delays that step, and releases keep their times. Steps of the warm-up
// run before the measured ones without a break.
//
// Releases by the host's clock: the thread sleeps until shortly before, polls, and starts the step.
// By the device's clock: steps are queued before their time, and the device waits for each release;
// the host only keeps the queue filled.
//
// The thread of a loop gets a core of its own, locked memory and a real-time policy as far as the
// host grants them; state of that host. Linux.
#ifndef BB_SIM_REALTIME_REALTIME_LOOP_H
#define BB_SIM_REALTIME_REALTIME_LOOP_H

#include "core/device/device.h"
#include "core/status.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { BB_HOST_TEXT = 160 };

/// Texts of /proc, /sys and nvidia-smi; "not known" where they say nothing.
typedef struct bb_host_state {
    char processor[BB_HOST_TEXT];
    char kernel[BB_HOST_TEXT]; ///< release and version
    char hypervisor[BB_HOST_TEXT];
    char isolated[BB_HOST_TEXT]; ///< cores that the scheduler leaves alone
    char governor[BB_HOST_TEXT]; ///< of core 0
    char load[BB_HOST_TEXT];     ///< averages over 1, 5 and 15 minutes
    char clocks[BB_HOST_TEXT];   ///< of the GPU: sm and memory now, and the most they reach
} bb_host_state;

/// What was done for the thread of a loop, or who refused it and why.
typedef struct bb_realtime_thread {
    char core[BB_HOST_TEXT];
    char memory[BB_HOST_TEXT];
    char policy[BB_HOST_TEXT];
    bool pinned, locked, raised; ///< in force
    cpu_set_t cores;             ///< of the thread before
    int slack;                   ///< of its timers before, ns; negative: not known
} bb_realtime_thread;

/// The host before and after a run, and what its thread got.
typedef struct bb_realtime_host {
    bb_host_state before, after;
    bb_realtime_thread thread;
} bb_realtime_host;

enum {
    BB_STEP_ALL = -1,        ///< in the place of a kind: steps of any
    BB_STEP_KINDS_MOST = 4,  ///< with "all"
    BB_STEP_PARTS = 6,       ///< stages of a step that are timed, at most
    BB_REALTIME_SHARES = 3,  ///< devices with stages of their own, at most
    BB_REALTIME_DEVICES = 8, ///< of a loop, at most
};

/// One step, times in s.
typedef struct bb_step_record {
    double release; ///< since the first measured release
    double latency;
    double stage[BB_STEP_PARTS]; ///< NaN for those it does not have
    int32_t exposure, step;      ///< of the exposure; without exposures the first measured is 0
    int kind;
} bb_step_record;

/// What was measured; release with bb_realtime_measurement_release.
typedef struct bb_realtime_measurement {
    /// [shares][steps of the schedule]; between shares only stages differ
    bb_step_record *records;
    bb_index shares, steps;
    bb_index count; ///< of steps; less than was asked for after an interrupt
    bb_index held;  ///< steps whose outputs were held: something was not finite
    bool interrupted;
    double wall_seconds; ///< from the first measured release to the last step's end
    bb_realtime_host host;
    int device_count;
    bb_device_report devices[BB_REALTIME_DEVICES];
} bb_realtime_measurement;

void bb_realtime_measurement_release(bb_realtime_measurement *measured);

/// When steps are released.
typedef struct bb_realtime_schedule {
    bb_index warm_up, steps; ///< before those that are measured; measured
    int64_t period_ns;       ///< between releases; 0: each when the one before has ended
    bool by_device;          ///< by the device's clock
    bb_index depth;          ///< steps under way at once; by the host's clock 1
    bool polls;              ///< the thread polls for the ends of steps and never sleeps
    bool stops_threads;      ///< the pool of threads is stopped before
} bb_realtime_schedule;

typedef struct bb_realtime_loop bb_realtime_loop;

/// The experiment's part; functions get the release in ns of the clock that steps go by.
typedef struct bb_realtime_stages {
    /// Prepares the first step, once the thread is set up; by the device's clock it sets `first_ns`
    /// to what that shows, where releases are counted from it. May be NULL.
    bb_status (*begin)(bb_realtime_loop *loop);
    /// Prepares step `started` before its release; `*is_ready` is true, or false where no input
    /// came, and it sets `ended` where none will. May be NULL.
    bb_status (*read)(bb_realtime_loop *loop, bool *is_ready);
    /// Starts step `started`; by the device's clock queues it for its release.
    bb_status (*start)(bb_realtime_loop *loop, int64_t release_ns);
    /// Waits for step `finished` and writes its records [shares of the measurement].
    bb_status (*finish)(bb_realtime_loop *loop, int64_t release_ns, bb_step_record *records);
    /// Whether step `finished` has ended; NULL where input always comes.
    bool (*has_ended)(const bb_realtime_loop *loop);
    /// With the thread still set up, after all steps unless interrupted. May be NULL.
    bb_status (*after)(bb_realtime_loop *loop);
    /// Loses steps that are under way, which an interrupt then does not finish; called once the
    /// thread is as it was, before the interrupt may end the program. NULL: they are finished.
    bb_status (*abandon)(bb_realtime_loop *loop);
} bb_realtime_stages;

/// A run; the experiment fills the first three members, the rest zero. `context` is borrowed.
struct bb_realtime_loop {
    const bb_realtime_stages *stages;
    void *context;
    bb_realtime_schedule schedule;
    bb_index started, finished; ///< steps, and so the number of the next to start and to finish
    int64_t first_ns;           ///< release of step 0
    int64_t release_ns;         ///< of the step that was started last
    int64_t zero_ns;            ///< release of the first measured step
    bool ended;                 ///< no step is to be started any more
    bb_realtime_measurement *out;
};

/// Runs the steps until they end, or an interrupt; steps under way are finished. Errors: the
/// stages'.
BB_CHECKED bb_status bb_realtime_loop_follow(bb_realtime_loop *loop);

/// Finishes all steps that are under way. Errors: those of `finish`.
BB_CHECKED bb_status bb_realtime_loop_drain(bb_realtime_loop *loop);

/// Record of step `finished` by its release and end.
bb_step_record bb_realtime_loop_record(bb_realtime_loop *loop, int64_t release_ns, int64_t end_ns);

/// Runs the steps on a thread with real-time rights into `out`, zero-initialised but for its
/// `shares`, 1 to BB_REALTIME_SHARES: records, counts and the thread. Signals are the caller's.
/// Errors: the stages', BB_MEMORY.
BB_CHECKED bb_status bb_realtime_loop_run(bb_realtime_loop *loop, bb_realtime_measurement *out);

/// The same, with the state of host and devices before and after. A signal ends the steps early,
/// before the first measured step the program. Errors: likewise.
BB_CHECKED bb_status bb_realtime_loop_measure(bb_realtime_loop *loop, int device_count,
                                              bb_device *const *devices,
                                              bb_realtime_measurement *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What a host is to a thread with deadlines, and what it lets such a thread have: a core of its
// own, memory that stays, a real-time policy. Linux.
#ifndef BB_SIM_REALTIME_REALTIME_THREAD_H
#define BB_SIM_REALTIME_REALTIME_THREAD_H

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

/// Asks; may take a second and start a process.
void bb_host_state_read(bb_host_state *out);

/// What was done for the calling thread, or who refused it and why. Zero-initialise.
typedef struct bb_realtime_thread {
    char core[BB_HOST_TEXT];
    char memory[BB_HOST_TEXT];
    char policy[BB_HOST_TEXT];
    bool pinned, locked, raised; ///< in force
    cpu_set_t cores;             ///< of the thread before
    int slack;                   ///< of its timers before, ns; negative: not known
} bb_realtime_thread;

/// Pins the calling thread to an isolated core, else to the last that it may use, locks the memory
/// it has, and asks for SCHED_FIFO unless it `never_sleeps` and the kernel stops such threads.
/// Nothing of it is an error.
void bb_realtime_thread_enter(bb_realtime_thread *thread, bool never_sleeps);

/// Undoes it; the texts stay.
void bb_realtime_thread_leave(bb_realtime_thread *thread);

/// Waits for a release of core/clock.h: sleeps until shortly before, then polls, so that the
/// wake-up of the thread is in no latency.
void bb_realtime_thread_await(int64_t ns);

/// Whether a thread that awaits releases every `period_ns` polls throughout; 0: back to back.
bool bb_realtime_thread_never_sleeps(int64_t period_ns);

#endif

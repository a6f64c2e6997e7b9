// SPDX-License-Identifier: Apache-2.0
//
// A clock set by the test. A reading takes 0.1 us, so that polling ends; a sleep ends exactly on
// time. A test adds other durations with manual_clock_advance.
#ifndef BB_TESTS_MANUAL_CLOCK_H
#define BB_TESTS_MANUAL_CLOCK_H

#include "core/clock.h"
#include "core/status.h"

enum { MANUAL_READING_NS = 100 };

extern int64_t manual_ns; ///< current time

/// Events of a run; none until a test sets them after manual_clock_start.
typedef struct manual_events {
    bb_index sleeps;       ///< sleeps so far that had to wait
    bb_index slow_sleep;   ///< sleep whose release is read 2.5 ms late
    bb_index signal_sleep; ///< sleep during which a signal arrives
    int64_t slow_ns;       ///< the first reading after this time is 2.5 ms late
    int64_t signal_ns;     ///< SIGINT arrives at the first reading after this time
    int signal;            ///< signal of signal_sleep; 0: SIGINT
} manual_events;

extern manual_events manual_event;

/// Reads the clock and advances it by MANUAL_READING_NS.
int64_t manual_clock_read(void);

/// Replaces the program's clock by this one, starting at 1 s.
void manual_clock_start(void);

/// Sleeps until `ns`. Always returns true.
bool manual_clock_sleep(int64_t ns);

void manual_clock_advance(int64_t ns);

/// Restores the system clock.
void manual_clock_stop(void);

#endif

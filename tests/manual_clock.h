// SPDX-License-Identifier: Apache-2.0
//
// A clock that the test sets. A reading takes 0.1 us, so that polling ends; a sleep ends exactly on
// time; a test adds what else takes time with manual_clock_advance.
#ifndef BB_TESTS_MANUAL_CLOCK_H
#define BB_TESTS_MANUAL_CLOCK_H

#include "core/clock.h"
#include "core/status.h"

enum { MANUAL_READING_NS = 100 };

extern int64_t manual_ns; ///< now

/// Events of a run, none until a test sets them after manual_clock_start.
typedef struct manual_events {
    bb_index sleeps;       ///< so far, of those that wait
    bb_index slow_sleep;   ///< whose release is read 2.5 ms late
    bb_index signal_sleep; ///< in which a signal comes
    int64_t slow_ns;       ///< time whose passing is read 2.5 ms late
    int64_t signal_ns;     ///< time at whose passing SIGINT comes
    int signal;            ///< of the sleep; 0: SIGINT
} manual_events;

extern manual_events manual_event;

/// Reads the clock, which takes MANUAL_READING_NS.
int64_t manual_clock_read(void);

/// Makes the program read this clock, from 1 s on.
void manual_clock_start(void);

/// Sleeps until `ns`. Always true.
bool manual_clock_sleep(int64_t ns);

void manual_clock_advance(int64_t ns);

/// Returns to the clock of the system.
void manual_clock_stop(void);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A clock that a test sets. Each reading takes 0.1 us, so that whoever polls it comes to an end; a
// sleep ends exactly when it should; what else takes time says so with manual_clock_advance.
#ifndef BB_TESTS_MANUAL_CLOCK_H
#define BB_TESTS_MANUAL_CLOCK_H

#include "core/clock.h"

#include <stddef.h>

enum { MANUAL_READING_NS = 100 };

static int64_t manual_ns;

static inline int64_t manual_clock_read(void)
{
    return manual_ns += MANUAL_READING_NS;
}

static inline bool manual_clock_sleep(int64_t ns)
{
    manual_ns = ns > manual_ns ? ns : manual_ns;
    return true;
}

/// From now on the program reads this clock, at 1 s.
static inline void manual_clock_start(void)
{
    static const bb_clock clock = {manual_clock_read, manual_clock_sleep};
    manual_ns = 1000000000;
    bb_clock_set(&clock);
}

static inline void manual_clock_advance(int64_t ns)
{
    manual_ns += ns;
}

/// The system's clock again.
static inline void manual_clock_stop(void)
{
    bb_clock_set(NULL);
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Monotonic time for durations, UTC for provenance. Everything that measures, waits or paces reads
// this clock, so tests can replace it.
#ifndef BB_CORE_CLOCK_H
#define BB_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A clock: the system's in the program, a simulated one in tests.
typedef struct bb_clock {
    int64_t (*ns)(void);             ///< nanoseconds since an arbitrary start, monotonic
    bool (*sleep_until)(int64_t ns); ///< sleeps; false: interrupted by a signal
} bb_clock;

/// Replaces the clock; NULL restores the system's monotonic clock. `clock` must outlive its use. Do
/// not call while other threads read it.
void bb_clock_set(const bb_clock *clock);

/// Nanoseconds since an arbitrary start, monotonic.
int64_t bb_clock_ns(void);

/// Seconds since the same start.
double bb_clock_seconds(void);

/// Sleeps until bb_clock_ns() would return `ns`; returns at once if that time has passed. False: a
/// signal was caught first.
bool bb_clock_sleep_until(int64_t ns);

/// Writes the present UTC time as "2026-01-31T12:00:00Z" into `out` (at least 21 bytes).
void bb_clock_utc(char *out);

#ifdef __cplusplus
}
#endif

#endif

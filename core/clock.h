// SPDX-License-Identifier: Apache-2.0
//
// Monotonic time for durations, UTC for provenance.
#ifndef BB_CORE_CLOCK_H
#define BB_CORE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/// Seconds since an arbitrary start, monotonic.
double bb_clock_seconds(void);

/// Writes the present UTC time as "2026-01-31T12:00:00Z" into `out` (at least 21 bytes).
void bb_clock_utc(char *out);

#ifdef __cplusplus
}
#endif

#endif

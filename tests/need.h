// SPDX-License-Identifier: Apache-2.0
//
// What work says that it needs, held against what it takes of core/memory.h: never less, and not
// more than so many times as much. A buffer that a need forgets fails the first, a need that has
// lost touch with its allocations the second.
#ifndef BB_TESTS_NEED_H
#define BB_TESTS_NEED_H

#include "core/memory.h"
#include "core/need.h"
#include "core/thread.h"
#include "tests/check.h"

static size_t need_base; // held before the work
static size_t need_peak; // of the last work, beyond that

/// Before the work. What it is given may be held already.
static inline void need_start(void)
{
    need_base = bb_memory_bytes();
    bb_memory_peak_reset();
}

/// After the work, as soon as it is done.
static inline void need_stop(void)
{
    need_peak = bb_memory_peak_bytes() - need_base;
}

/// After it, for what stays.
static inline void need_stop_held(void)
{
    need_peak = bb_memory_bytes() - need_base;
}

/// Holds the host bytes of a need to the last work: peak <= need <= looseness * peak. With several
/// threads their scratch need not have met, so that the upper bound is that of one thread only.
static inline void need_hold(const char *what, bb_need need, double looseness)
{
    const double peak = (double)need_peak;
    const bb_index threads = bb_threads_count();
    print_message("%-28s %td thread(s): need %10.1f kB, peak %10.1f kB, ratio %.2f\n", what,
                  threads, 1e-3 * need.host_bytes, 1e-3 * peak, need.host_bytes / peak);
    assert_true(peak > 0.0);
    assert_true(need.host_bytes >= peak);
    assert_true(threads > 1 || need.host_bytes <= looseness * peak);
    assert_true(isfinite(need.seconds) && need.seconds >= 0.0);
}

/// The bound that holds unless a test says why not.
static const double NEED_LOOSENESS = 2.0;

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Comparison of a memory estimate with the actual use of core/memory.h: never less, and at most a
// given factor more. A forgotten buffer violates the lower bound, an outdated estimate the upper.
#ifndef BB_TESTS_NEED_H
#define BB_TESTS_NEED_H

#include "core/memory.h"
#include "core/need.h"
#include "core/thread.h"
#include "tests/check.h"

static size_t need_base; // allocated before the work
static size_t need_peak; // additional peak of the last work

/// Call before the work. Its inputs may be allocated already.
static inline void need_start(void)
{
    need_base = bb_memory_bytes();
    bb_memory_peak_reset();
}

/// Call as soon as the work is done.
static inline void need_stop(void)
{
    need_peak = bb_memory_peak_bytes() - need_base;
}

/// Call after the work, to measure the memory that remains allocated.
static inline void need_stop_held(void)
{
    need_peak = bb_memory_bytes() - need_base;
}

/// Compares the host bytes of an estimate with the last work: peak <= need <= looseness * peak. The
/// upper bound applies to one thread only: scratch of several threads need not be allocated at the
/// same time.
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

/// Default bound; a test that needs another one gives the reason.
static const double NEED_LOOSENESS = 2.0;

#endif

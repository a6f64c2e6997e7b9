// SPDX-License-Identifier: Apache-2.0
//
// Failing allocations of a task and of its child processes: each must give a memory error, no leak
// and no crash.
#ifndef BB_TESTS_SIM_ALLOCATION_WALK_H
#define BB_TESTS_SIM_ALLOCATION_WALK_H

#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "tests/check.h"
#include "tests/nightly.h"

/// Runs the work, releases everything and returns the status.
typedef bb_status (*allocation_task)(void *context);

/// Fails the k-th allocation of a task; returns whether the task made that many.
static inline bool allocation_fail_one(const char *what, allocation_task task, void *context,
                                       bb_index k)
{
    bb_index blocks = bb_memory_blocks();
    bb_memory_fail_at(k);
    bb_status status = task(context);
    bool happened = bb_memory_failure_happened() != 0;
    bb_memory_fail_at(0);
    if (status != (happened ? BB_MEMORY : BB_OK)) {
        print_error("%s, allocation %td%s: %s, '%s'\n%s", what, k,
                    happened ? "" : " (past the end)", bb_status_name(status),
                    status == BB_OK ? "" : bb_status_message(),
                    status == BB_OK ? "" : bb_status_trace_text());
        fail();
    }
    bb_threads_stop();
    if (bb_memory_blocks() != blocks) {
        print_error("%s, allocation %td: %td blocks kept\n", what, k, bb_memory_blocks() - blocks);
        fail();
    }
    return happened;
}

/// Fails one allocation after another until the task ends without a failure. Distances grow (1, 2,
/// 4, 7, 11, ...); the nightly run fails every `stride`-th allocation and requires at least
/// `minimum` failures.
static inline void allocation_walk(const char *what, allocation_task task, void *context,
                                   bb_index stride, bb_index minimum)
{
    double begin = bb_clock_seconds();
    bb_index failed = 0;
    bb_index k = 1;
    while (allocation_fail_one(what, task, context, k)) {
        ++failed;
        k += nightly() ? stride : 1 + k / 2;
    }
    print_message("%s: %td allocations failed up to the %tdth, %.1f s\n", what, failed, k,
                  bb_clock_seconds() - begin);
    assert_true(failed >= (nightly() || minimum < 2 ? minimum : 2));
}

#endif

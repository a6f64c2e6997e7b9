// SPDX-License-Identifier: Apache-2.0
//
// A thread pool with two loops over it; a side thread may have a pool of its own. Tasks are
// independent and write to separate memory, so results do not depend on the number of threads. BLAS
// and LAPACK use one thread inside a task (a threaded BLAS changes bits with its thread count).
#ifndef BB_CORE_THREAD_H
#define BB_CORE_THREAD_H

#include "core/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef bb_status (*bb_task)(void *context, bb_index index);
typedef bb_status (*bb_range_task)(void *context, bb_index begin, bb_index end);

/// Sets the number of threads (1..1024) for later loops, including the caller, and pins BLAS to one
/// thread. On success every thread waits for a loop, so a child process may be forked. Call it from
/// the main thread, outside any loop. Errors: BB_INVALID, BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_threads_set(bb_index count);

/// Returns the number of threads in loops; 1 before bb_threads_set.
bb_index bb_threads_count(void);

/// Returns whether the caller is one of the pool's threads, rather than the one that starts loops.
bool bb_thread_is_worker(void);

/// Returns the number of online processors.
bb_index bb_threads_available(void);

/// Runs task(context, i) for every i in [0, count), in any order, and waits. A loop started inside
/// a task, or while the pool works on the loop of another thread, runs on its own thread. After a
/// failure no further task is started; returns the failure of the lowest index that ran, with its
/// message.
BB_CHECKED bb_status bb_thread_for(bb_index count, bb_task task, void *context);

/// Runs task(context, begin, end) over consecutive ranges of `grain` items that cover [0, count).
/// The ranges depend on `count` and `grain` only.
BB_CHECKED bb_status bb_thread_ranges(bb_index count, bb_index grain, bb_range_task task,
                                      void *context);

/// Copies non-overlapping memory with all threads, which touch the fresh pages of a large block in
/// parallel. Errors: none of its own.
BB_CHECKED bb_status bb_thread_copy(void *target, const void *source, size_t bytes);

/// A thread in addition to the pool, not counted among its threads.
typedef struct bb_side_thread bb_side_thread;

/// Runs task(context, 0) in its own thread; loops of the task run on that thread alone until
/// bb_side_thread_widen. The caller's loops continue; no child process may be forked until
/// bb_side_thread_join. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_side_thread_start(bb_task task, void *context, bb_side_thread **out);

/// Called in the task of a side thread, once and outside any loop: its loops use `threads` threads
/// including itself, which end with the task. bb_threads_count then returns that number. Errors:
/// BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_side_thread_widen(bb_index threads);

/// Waits for the task, returns its failure with its message, and frees the thread. NULL: BB_OK.
BB_CHECKED bb_status bb_side_thread_join(bb_side_thread **thread);

/// Joins the pool's threads; later loops run on the caller. Call before exit.
void bb_threads_stop(void);

/// For a child process after fork, which has none of the pool's threads: later loops run on the
/// caller.
void bb_threads_abandon(void);

#ifdef __cplusplus
}
#endif

#endif

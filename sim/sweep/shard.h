// SPDX-License-Identifier: Apache-2.0
//
// Runs points of a sweep here: those of one shard, or all, by warm workers (crew.h), each result a
// line that is on disk before the next. Points that are done are not computed again, so that the
// same call goes on where another was ended.
//
// Failed points: a wrong study stops the shard; memory, device and files are tried
// again as often as the plan says; a signal once; a point over its limit is recorded. A worker that
// is asked to end (TERM, INT, HUP) leaves no record, its point is to be done.
#ifndef BB_SIM_SWEEP_SHARD_H
#define BB_SIM_SWEEP_SHARD_H

#include "sim/sweep/sweep_progress.h"

/// Zero-initialise.
typedef struct bb_shard_request {
    const bb_sweep_plan *plan;
    const bb_index *shards; ///< [shard_count] from 1, those to be run
    bb_index shard_count;   ///< 0: all points
    bb_index jobs;      ///< workers; fewer where memory does not hold as many, one a GPU where the
                        ///< plan is for cuda; 0: one a processor
    bool verbose;       ///< what points log is shown, not only the warnings of the first
    bb_index threads;   ///< of this machine, shared by the workers
    const bool *wanted; ///< [points] those to be run, NULL: all
} bb_shard_request;

/// What a run did.
typedef struct bb_shard_report {
    bb_index done, failed;              ///< points recorded now
    bb_index classes[BB_POINT_CLASSES]; ///< of those recorded now
    bb_index before;                    ///< done before
    double seconds;
} bb_shard_report;

/// Errors: BB_INVALID (a shard that there is not, a point's study, a file that changed), BB_IO
/// (lines cannot be written), BB_DEVICE (the plan's device is absent), BB_MEMORY.
BB_CHECKED bb_status bb_shard_run(const bb_shard_request *request, bb_shard_report *out);

/// Opens all failed points again, or those of one class (a name, NULL: all); `count` says how many.
/// Errors: BB_INVALID (no such class), BB_IO.
BB_CHECKED bb_status bb_shard_retry(const bb_sweep_plan *plan, const char *only, bb_index *count);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Runs the points of one shard of a sweep, or of all, with persistent workers (crew.h); each result
// is a line on disk before the next point starts. Completed points are skipped, so that a repeated
// call continues an earlier one.
//
// Failed points: an invalid study stops the shard; memory, device and file errors are retried as
// often as planned; a signal once; a point over its time limit is recorded. If a worker is
// terminated (TERM, INT, HUP), there is no record and its point remains pending.
#ifndef BB_SIM_SWEEP_SHARD_H
#define BB_SIM_SWEEP_SHARD_H

#include "sim/sweep/sweep_progress.h"

/// Shards to run. Zero-initialise.
typedef struct bb_shard_request {
    const bb_sweep_plan *plan;
    const bb_index *shards; ///< [shard_count] numbers of the shards to run, from 1
    bb_index shard_count;   ///< 0: all points
    bb_index jobs; ///< workers; limited by memory, and to one for each GPU if the plan is for cuda;
                   ///< 0: one for each processor
    bool verbose;  ///< show all messages of points, not only the warnings of the first
    bb_index threads;   ///< threads of this machine, shared by the workers
    const bool *wanted; ///< [points] points to run, NULL: all
} bb_shard_request;

/// Result of a run.
typedef struct bb_shard_report {
    bb_index done, failed;              ///< points recorded by this run
    bb_index classes[BB_POINT_CLASSES]; ///< numbers of points by class, for this run
    bb_index before;                    ///< points completed earlier
    double seconds;
} bb_shard_report;

/// Runs the points of the requested shards. Errors: BB_INVALID (no such shard, an invalid study, a
/// changed file), BB_IO (records cannot be written), BB_DEVICE (the plan's device is absent),
/// BB_MEMORY.
BB_CHECKED bb_status bb_shard_run(const bb_shard_request *request, bb_shard_report *out);

/// Reopens all failed points, or those of one class (a name, NULL: all); `count` is their number.
/// Errors: BB_INVALID (no such class), BB_IO.
BB_CHECKED bb_status bb_shard_retry(const bb_sweep_plan *plan, const char *only, bb_index *count);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Pool of persistent worker processes: each receives items one after the other from this process
// and answers with a text. If a worker dies or exceeds the time limit, only its item is lost, and
// another worker replaces it. If this process ends, its workers end.
#ifndef BB_SIM_SWEEP_CREW_H
#define BB_SIM_SWEEP_CREW_H

#include "core/status.h"
#include "core/text.h"

#include <stdbool.h>

enum { BB_CREW_WORKERS = 256 };

/// End of an item.
typedef struct bb_crew_end {
    bb_status status; ///< status of the work, if the worker answered
    int signal;       ///< signal that ended the worker, 0: none
    bool late;        ///< the item exceeded the limit and its worker was terminated
    int exit_code;    ///< exit code of a worker that ended without an answer, else 0
    double seconds;
    const char *text; ///< answer, or message of a failure; NUL-terminated
    bb_index length;
} bb_crew_end;

/// Task of a pool. `begin` and `work` run in workers, the other functions here.
typedef struct bb_crew_task {
    void *context;
    /// Called once in each worker, numbered from 0; NULL: no action. A failure is reported for its
    /// items.
    bb_status (*begin)(void *context, bb_index worker);
    /// Computes an item and appends the answer. The message of a failure is passed on.
    bb_status (*work)(void *context, bb_index item, bb_text *answer);
    /// Gets the next item, or returns false if there is none at present; called again when an item
    /// ends.
    bool (*next)(void *context, bb_index *item);
    /// Handles the end of an item. A failure ends the pool.
    bb_status (*finish)(void *context, bb_index item, const bb_crew_end *end);
} bb_crew_task;

/// Runs until no items are left or in progress. `limit_s` is the time limit of an item, INFINITY:
/// none. Call it while no other thread runs. Errors: BB_INVALID (workers), BB_INTERNAL (a process
/// or pipe cannot be created), errors of `finish`.
BB_CHECKED bb_status bb_crew_run(const bb_crew_task *task, bb_index workers, double limit_s);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A crew of worker processes that stay warm: each takes one item after the other from this process
// and answers with a text. A worker that dies or takes too long costs the item that it was at, and
// another one takes its place; when this process ends, however, its workers end.
#ifndef BB_SIM_SWEEP_CREW_H
#define BB_SIM_SWEEP_CREW_H

#include "core/status.h"
#include "core/text.h"

#include <stdbool.h>

enum { BB_CREW_WORKERS = 256 };

/// How an item ended.
typedef struct bb_crew_end {
    bb_status status; ///< of the work, where the worker answered
    int signal;       ///< that ended the worker, 0: none
    bool late;        ///< it took over the limit and was ended
    int exit_code;    ///< of a worker that ended by itself without an answer, else 0
    double seconds;
    const char *text; ///< the answer, or the message of a failure; NUL-terminated
    bb_index length;
} bb_crew_end;

/// What a crew works on. `begin` and `work` run in workers, the others here.
typedef struct bb_crew_task {
    void *context;
    /// Called once in each worker, from 0 on; NULL: nothing to do. Its failure is that of the
    /// items.
    bb_status (*begin)(void *context, bb_index worker);
    /// Computes an item and appends the answer. A failure's message is carried over.
    bb_status (*work)(void *context, bb_index item, bb_text *answer);
    /// The next item, or false where there is none now; asked again when one under way has ended.
    bool (*next)(void *context, bb_index *item);
    /// Takes what an item came to. A failure ends the crew.
    bb_status (*take)(void *context, bb_index item, const bb_crew_end *end);
} bb_crew_task;

/// Works until there is no item and none under way. `limit_s` a item, INFINITY: none. Call it where
/// no other thread runs. Errors: BB_INVALID (workers), BB_INTERNAL (no process or pipe to be had),
/// those of `take`.
BB_CHECKED bb_status bb_crew_run(const bb_crew_task *task, bb_index workers, double limit_s);

#endif

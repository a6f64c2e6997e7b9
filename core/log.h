// SPDX-License-Identifier: Apache-2.0
//
// Log lines with UTC time and progress, both to stderr. Progress is a bar on a terminal, drawn anew
// at most ten times a second, and a line every ten seconds elsewhere.
#ifndef BB_CORE_LOG_H
#define BB_CORE_LOG_H

#include "core/status.h"

typedef enum bb_log_level {
    BB_LOG_SILENT,
    BB_LOG_QUIET,
    BB_LOG_NORMAL,
    BB_LOG_VERBOSE
} bb_log_level;

/// What is written: SILENT nothing, QUIET warnings only, NORMAL also information and progress,
/// VERBOSE also details.
void bb_log_set_level(bb_log_level level);
bb_log_level bb_log_present_level(void);

void bb_log_warning(const char *format, ...) BB_PRINTF(1, 2);
void bb_log_info(const char *format, ...) BB_PRINTF(1, 2);
void bb_log_detail(const char *format, ...) BB_PRINTF(1, 2);

/// Progress of a named job: `done` of `total` steps, `step` is what the next one is called, NULL:
/// steps have no names. Call from one thread; done == total ends it. A job that begins within a
/// step of another is a part of that step: the outermost is what is shown, from 2 s on, with the
/// time that it took and the time that is left as far as its steps are alike. Texts are copied.
void bb_log_progress_step(const char *name, const char *step, bb_index done, bb_index total);

/// The same of steps without names.
void bb_log_progress(const char *name, bb_index done, bb_index total);

/// How far the present step of a job is: `done` of `total`. May be called by any thread, but those
/// of the pool (core/thread.h) are not listened to, so that one thread alone writes.
void bb_log_progress_within(bb_index done, bb_index total);

/// From now on bb_log_progress_within is about the part of the step from `begin` to `end`, in
/// [0, 1]; the next step is one part.
void bb_log_progress_part(double begin, double end);

/// How something goes that has no end to be told: a line that stands on the terminal until anything
/// else is written, and elsewhere a line of information every ten seconds. No job is running.
void bb_log_status(const char *text);

/// "solving hp2 (3 of 8)", what the outermost job is at; "" for none. A signal handler may read it.
const char *bb_log_job(void);

/// Takes the bar off the terminal: somebody else writes to it.
void bb_log_clear(void);

#endif

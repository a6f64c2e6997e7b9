// SPDX-License-Identifier: Apache-2.0
//
// Log lines with UTC time and progress, both to stderr. Progress is a bar on a terminal, redrawn at
// most ten times a second, and a line every ten seconds elsewhere.
#ifndef BB_CORE_LOG_H
#define BB_CORE_LOG_H

#include "core/status.h"

typedef enum bb_log_level {
    BB_LOG_SILENT,
    BB_LOG_QUIET,
    BB_LOG_NORMAL,
    BB_LOG_VERBOSE
} bb_log_level;

/// Verbosity: SILENT nothing, QUIET warnings only, NORMAL also information and progress, VERBOSE
/// also details.
void bb_log_set_level(bb_log_level level);
bb_log_level bb_log_present_level(void);

void bb_log_warning(const char *format, ...) BB_PRINTF(1, 2);
void bb_log_info(const char *format, ...) BB_PRINTF(1, 2);
void bb_log_detail(const char *format, ...) BB_PRINTF(1, 2);

/// Progress of a named job: `done` of `total` steps; `step` names the next one, NULL: steps have no
/// names. Call from one thread; done == total ends the job. A job that begins within a step of
/// another is part of that step. The outermost job is shown, from 2 s on, with its elapsed time and
/// the remaining time, extrapolated as if its steps were alike. Texts are copied.
void bb_log_progress_step(const char *name, const char *step, bb_index done, bb_index total);

/// Reports progress as bb_log_progress_step, for steps without names.
void bb_log_progress(const char *name, bb_index done, bb_index total);

/// Progress within a job's current step: `done` of `total`. Any thread may call it, but calls from
/// the pool (core/thread.h) are ignored, so that only one thread writes.
void bb_log_progress_within(bb_index done, bb_index total);

/// From now on bb_log_progress_within covers the part [begin, end] of the step, within [0, 1]; the
/// next step is one part again.
void bb_log_progress_part(double begin, double end);

/// Shows the status of work of unknown length: on a terminal a line that remains until something
/// else is written, elsewhere an information line every ten seconds. No job may be running.
void bb_log_status(const char *text);

/// Returns the state of the outermost job, "solving hp2 (3 of 8)"; "" if there is none. A signal
/// handler may read it.
const char *bb_log_job(void);

/// Removes the bar from the terminal, before something else is written to it.
void bb_log_clear(void);

#endif

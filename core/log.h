// SPDX-License-Identifier: Apache-2.0
//
// Log lines with UTC time and progress, both to stderr. Progress is a bar on a terminal and a line
// every ten seconds elsewhere.
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

void bb_log_warning(const char *format, ...) BB_PRINTF(1, 2);
void bb_log_info(const char *format, ...) BB_PRINTF(1, 2);
void bb_log_detail(const char *format, ...) BB_PRINTF(1, 2);

/// Progress of a named job: `done` of `total` steps. Call from one thread; done == total ends it.
void bb_log_progress(const char *job, bb_index done, bb_index total);

#endif

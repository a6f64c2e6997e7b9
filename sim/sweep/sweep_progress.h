// SPDX-License-Identifier: Apache-2.0
//
// State of every point of a sweep, from the records of all workers.
//
// A point is complete after its first line of class done. A failed point is open again after a
// retry request ('bitbudget sweep retry'), a separate line: {"point": 17, "retry": 2}. Two
// processes may record the same point if results with one id agree; if they differ, the error names
// both.
#ifndef BB_SIM_SWEEP_SWEEP_PROGRESS_H
#define BB_SIM_SWEEP_SWEEP_PROGRESS_H

#include "sim/sweep/record_file.h"
#include "sim/sweep/sweep_plan.h"

enum { BB_POINT_OPEN = -1, BB_RECORD_FILE_BYTES = 128 };

/// Position of a line: file number and line number.
typedef struct bb_record_place {
    int file;      ///< index in bb_sweep_progress.names
    bb_index line; ///< number of the line, from 1
} bb_record_place;

typedef struct bb_point_progress {
    int class;         ///< bb_point_class, or BB_POINT_OPEN
    bb_index round;    ///< number of requested retries
    bb_index attempts; ///< number of failed attempts in that round
    double seconds;    ///< time of the last line
    bb_record_place place;
    char id[BB_DIGEST_BYTES], digest[BB_DIGEST_BYTES]; ///< "" unless done
} bb_point_progress;

typedef struct bb_sweep_progress {
    bb_index point_count;
    bb_point_progress *points; ///< [point_count] points of all combinations
    char (*names)[BB_RECORD_FILE_BYTES];
    int name_count;
    bb_index counts[BB_POINT_CLASSES]; ///< number of points of each class
    bb_index open;                     ///< number of points without a valid line
    bb_index torn;                     ///< number of invalid lines
    double seconds;                    ///< total time of all completed points
    char message[512];                 ///< message of a failed point
} bb_sweep_progress;

/// Reads the records. Errors: BB_IO (also two different results with one id), BB_MEMORY. Release
/// with bb_sweep_progress_release.
BB_CHECKED bb_status bb_sweep_progress_read(const bb_sweep_plan *plan, bb_sweep_progress *out);
void bb_sweep_progress_release(bb_sweep_progress *progress);

/// Appends "41 of 60 done, 2 failed (signal 1, time 1), 17 to do". Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_progress_list(const bb_sweep_progress *progress, bb_text *out);

#endif

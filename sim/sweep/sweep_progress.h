// SPDX-License-Identifier: Apache-2.0
//
// State of every point of a sweep, from the records of all workers.
//
// A point is done for good by its first line of class done. One that failed is open again when a
// later round was asked for ('bitbudget sweep retry'), which is a line of its own: {"point": 17,
// "retry": 2}. Lines of two processes at one point disturb nobody, as long as results of one id
// agree; where they do not, it is an error that names both.
#ifndef BB_SIM_SWEEP_SWEEP_PROGRESS_H
#define BB_SIM_SWEEP_SWEEP_PROGRESS_H

#include "sim/sweep/record_file.h"
#include "sim/sweep/sweep_plan.h"

enum { BB_POINT_OPEN = -1, BB_RECORD_FILE_BYTES = 128 };

/// A line, by its file's number and its own.
typedef struct bb_record_place {
    int file;      ///< in bb_sweep_progress.names
    bb_index line; ///< from 1
} bb_record_place;

typedef struct bb_point_progress {
    int class;         ///< bb_point_class, or BB_POINT_OPEN
    bb_index round;    ///< asked for
    bb_index attempts; ///< that failed in that round
    double seconds;    ///< of the last line
    bb_record_place place;
    char id[BB_DIGEST_BYTES], digest[BB_DIGEST_BYTES]; ///< "" unless done
} bb_point_progress;

typedef struct bb_sweep_progress {
    bb_index point_count;
    bb_point_progress *points; ///< [point_count] of all combinations
    char (*names)[BB_RECORD_FILE_BYTES];
    int name_count;
    bb_index counts[BB_POINT_CLASSES]; ///< points of each class
    bb_index open;                     ///< points without a line that counts
    bb_index torn;                     ///< lines that are none
    double seconds;                    ///< of all points that are done, together
    char message[512];                 ///< of a failed point
} bb_sweep_progress;

/// Reads what there is. Errors: BB_IO (also two results of one id that differ), BB_MEMORY. Release
/// with bb_sweep_progress_release.
BB_CHECKED bb_status bb_sweep_progress_read(const bb_sweep_plan *plan, bb_sweep_progress *out);
void bb_sweep_progress_release(bb_sweep_progress *progress);

/// Appends "41 of 60 done, 2 failed (signal 1, time 1), 17 to do". Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_progress_list(const bb_sweep_progress *progress, bb_text *out);

#endif

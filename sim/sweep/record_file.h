// SPDX-License-Identifier: Apache-2.0
//
// The lines that tell what became of the points of a sweep: DIR/shards/*.jsonl. Every process that
// writes has a file of its own, to which it only appends, a whole line by one write that is synced:
// a line that is torn is its last one, and counts as never written. Nothing is ever changed, so
// that two processes at the same points disturb nobody.
#ifndef BB_SIM_SWEEP_RECORD_FILE_H
#define BB_SIM_SWEEP_RECORD_FILE_H

#include "core/status.h"

typedef struct bb_record_file bb_record_file;

/// A file of a new name in `folder`/shards, which is made at the first line. `shard` from 1, or 0
/// for all of them; the scheduler's numbers of the job and its restart are part of the name.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_record_file_create(const char *folder, const char *plan, bb_index shard,
                                           bb_record_file **out);
void bb_record_file_close(bb_record_file **file);

/// Appends a line, which ends with a line feed, and waits until it is on disk. Errors: BB_IO, and
/// what stands in the file is then as before or one torn line.
BB_CHECKED bb_status bb_record_file_append(bb_record_file *file, const char *line, bb_index length);

/// Where a line stands.
typedef struct bb_record_line {
    const char *file; ///< its name without folders
    bb_index number;  ///< from 1
    const void *json; ///< a json_t object, borrowed
} bb_record_line;

/// Reads all lines of all files of a sweep, files in the order of their names, but for the first of
/// each file, which names the plan. `torn` counts lines that are none. Errors: BB_IO (a folder
/// that cannot be read, a file of another plan), BB_MEMORY, those of `take`.
BB_CHECKED bb_status bb_record_file_visit(const char *folder, const char *plan,
                                          bb_status (*take)(void *context,
                                                            const bb_record_line *line),
                                          void *context, bb_index *torn);

#endif

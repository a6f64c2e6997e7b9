// SPDX-License-Identifier: Apache-2.0
//
// Records of the points of a sweep: DIR/shards/*.jsonl. Every writing process has a separate file,
// to which it appends complete lines, each by a single synced write: only the last line can be
// incomplete, and it is ignored. Lines are never changed, so that two processes may run the same
// points.
//
// The record of a point is one line of JSON:
//
//     {"point": 17, "class": "done", "round": 0, "attempt": 1, "host": "n3", "seconds": 0.31,
//      "id": "9f..", "digest": "1c..", "pipelines": ["reference", "hp1"],
//      "datasets": [{"name": "strehl", "axes": "pipeline", "unit": "1", ..}, ..],
//      "numbers": {"strehl": [0.51, 0.5], ..}, "texts": {"status": ["ok", "ok"], ..}}
//
// `datasets` describes numbers and texts; each process writes it once, and again if the datasets of
// a point differ. Non-finite numbers are null. A failed point has "message" in place of everything
// after its id.
#ifndef BB_SIM_SWEEP_RECORD_FILE_H
#define BB_SIM_SWEEP_RECORD_FILE_H

#include "core/digest.h"
#include "core/status.h"
#include "core/text.h"
#include "sim/output/results.h"

/// Class of a point's end. The numerical failure of a pipeline is a result of a completed point.
typedef enum bb_point_class {
    BB_POINT_DONE,
    BB_POINT_CONFIG,   ///< invalid study: the plan has to be changed
    BB_POINT_IO,       ///< a file could not be read or written
    BB_POINT_MEMORY,   ///< out of memory on the host or a device
    BB_POINT_DEVICE,   ///< a device is absent or failed
    BB_POINT_INTERNAL, ///< a defect of the program
    BB_POINT_SIGNAL,   ///< the process of the point was ended by a signal
    BB_POINT_TIME,     ///< the point exceeded the time limit
    BB_POINT_CLASSES
} bb_point_class;

/// NULL-terminated: "done", "config", "io", "memory", "device", "internal", "signal", "time".
extern const char *const bb_point_class_names[];

/// Class of a failed call.
bb_point_class bb_point_class_of(bb_status status);

enum { BB_DESCRIBED = 16 };

/// Digests of the dataset descriptions written by a process: points may have different datasets.
/// Zero-initialise.
typedef struct bb_described {
    bb_index count;
    char digests[BB_DESCRIBED][BB_DIGEST_BYTES];
} bb_described;

/// Appends the part of a line with the results of a study: from its id to the closing brace.
/// `seconds` is the run time; `keep` [count] are datasets in addition to those over `pipeline` only
/// and single values. Errors: BB_INVALID (no dataset of that name), BB_MEMORY.
BB_CHECKED bb_status bb_point_record_fill(const bb_results *results, const char *id, double seconds,
                                          const char *const *keep, bb_index count,
                                          bb_described *known, bb_text *out);

/// First part of a record.
typedef struct bb_point_record {
    bb_index point;
    bb_point_class class;
    bb_index round;   ///< number of retry requests
    bb_index attempt; ///< number of the attempt within the round, from 1
} bb_point_record;

/// Appends a complete line: the header, and `rest` from bb_point_record_fill, or the message of a
/// failed point. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_record_write(const bb_point_record *head, double seconds,
                                           const char *rest, bb_text *out);

typedef struct bb_record_file bb_record_file;

/// Prepares a file with a new name in `folder`/shards, created with the first line. `shard` from 1,
/// or 0 for all; the name includes the scheduler's numbers of the job and its restart. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_record_file_create(const char *folder, const char *plan, bb_index shard,
                                           bb_record_file **out);
void bb_record_file_close(bb_record_file **file);

/// Appends a line, including its line feed, and waits until it is on disk. Errors: BB_IO; the
/// content of the file is then unchanged except possibly for an incomplete line.
BB_CHECKED bb_status bb_record_file_append(bb_record_file *file, const char *line, bb_index length);

/// Position of a line.
typedef struct bb_record_line {
    const char *file; ///< file name without folders
    bb_index number;  ///< number of the line, from 1
    const void *json; ///< a json_t object, borrowed
} bb_record_line;

/// Reads all lines of all files of a sweep in the order of file names, except the first line of
/// each file, which names the plan. `torn` counts invalid lines. Errors: BB_IO (an unreadable
/// folder, a file of another plan), BB_MEMORY, errors of `visit_line`.
BB_CHECKED bb_status bb_record_file_visit(const char *folder, const char *plan,
                                          bb_status (*visit_line)(void *context,
                                                                  const bb_record_line *line),
                                          void *context, bb_index *torn);

#endif

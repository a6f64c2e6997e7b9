// SPDX-License-Identifier: Apache-2.0
//
// The lines that tell what became of the points of a sweep: DIR/shards/*.jsonl. Every process that
// writes has a file of its own, to which it only appends, a whole line by one write that is synced:
// a line that is torn is its last one, and counts as never written. Nothing is ever changed, so
// that two processes at the same points disturb nobody.
//
// The record of a point is one line of JSON:
//
//     {"point": 17, "class": "done", "round": 0, "attempt": 1, "host": "n3", "seconds": 0.31,
//      "id": "9f..", "digest": "1c..", "pipelines": ["reference", "hp1"],
//      "datasets": [{"name": "strehl", "axes": "pipeline", "unit": "1", ..}, ..],
//      "numbers": {"strehl": [0.51, 0.5], ..}, "texts": {"status": ["ok", "ok"], ..}}
//
// `datasets` describes numbers and texts, once from each process that writes lines and again
// where points have others. A number that is not finite is null. A point that failed has "message"
// in the place of all after its id.
#ifndef BB_SIM_SWEEP_RECORD_FILE_H
#define BB_SIM_SWEEP_RECORD_FILE_H

#include "core/digest.h"
#include "core/status.h"
#include "core/text.h"
#include "sim/output/results.h"

/// How a point ended. A pipeline that failed numerically is a result of a point that is done.
typedef enum bb_point_class {
    BB_POINT_DONE,
    BB_POINT_CONFIG,   ///< its study is wrong: the plan has to change
    BB_POINT_IO,       ///< a file could not be read or written
    BB_POINT_MEMORY,   ///< out of memory on the host or a device
    BB_POINT_DEVICE,   ///< a device is absent or failed
    BB_POINT_INTERNAL, ///< a defect
    BB_POINT_SIGNAL,   ///< its process died of a signal
    BB_POINT_TIME,     ///< it took over the limit
    BB_POINT_CLASSES
} bb_point_class;

/// NULL-terminated: "done", "config", "io", "memory", "device", "internal", "signal", "time".
extern const char *const bb_point_class_names[];

/// The class of a failed call.
bb_point_class bb_point_class_of(bb_status status);

enum { BB_DESCRIBED = 16 };

/// Digests of the descriptions of datasets that a process wrote: points differ in what they have.
/// Zero-initialise.
typedef struct bb_described {
    bb_index count;
    char digests[BB_DESCRIBED][BB_DIGEST_BYTES];
} bb_described;

/// Appends the part of the line that follows from the results of a study: from its id to the end,
/// with the closing brace. `seconds` it took; `keep` [count] are datasets beside those over
/// `pipeline` alone and single values. Errors: BB_INVALID (no dataset of that name), BB_MEMORY.
BB_CHECKED bb_status bb_point_record_fill(const bb_results *results, const char *id, double seconds,
                                          const char *const *keep, bb_index count,
                                          bb_described *known, bb_text *out);

/// What stands before that.
typedef struct bb_point_record {
    bb_index point;
    bb_point_class class;
    bb_index round;   ///< how often it was asked for again
    bb_index attempt; ///< from 1, within the round
} bb_point_record;

/// Appends a whole line: the head, and `rest` as bb_point_record_fill left it, or for a point that
/// failed the message. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_record_write(const bb_point_record *head, double seconds,
                                           const char *rest, bb_text *out);

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

// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a point that was run: one line of JSON.
//
//     {"point": 17, "class": "done", "round": 0, "attempt": 1, "host": "n3", "seconds": 0.31,
//      "id": "9f..", "digest": "1c..", "pipelines": ["reference", "hp1"],
//      "datasets": [{"name": "strehl", "axes": "pipeline", "unit": "1", ..}, ..],
//      "numbers": {"strehl": [0.51, 0.5], ..}, "texts": {"status": ["ok", "ok"], ..}}
//
// `datasets` says what numbers and texts are, once from each process that writes lines and again
// where points have others. A number that is not finite is null. A point that failed has "message"
// in the place of all after its id.
#ifndef BB_SIM_SWEEP_POINT_RECORD_H
#define BB_SIM_SWEEP_POINT_RECORD_H

#include "core/text.h"
#include "sim/input/value_digest.h"
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
typedef struct bb_point_head {
    bb_index point;
    bb_point_class class;
    bb_index round;   ///< how often it was asked for again
    bb_index attempt; ///< from 1, within the round
} bb_point_head;

/// Appends a whole line: the head, and `rest` as bb_point_record_fill left it, or for a point that
/// failed the message. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_point_record_write(const bb_point_head *head, double seconds,
                                           const char *rest, bb_text *out);

#endif

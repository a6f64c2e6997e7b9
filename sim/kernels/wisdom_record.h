// SPDX-License-Identifier: Apache-2.0
//
// One record of a wisdom file: a variant of a kernel that was tried on a set, where, and what
// became of it. A record is one line, an item of a YAML list:
//
//     - {version: 1, kernel: add, program: 5f..., code: 2, types: T=SP, device: cuda, ...}
#ifndef BB_SIM_KERNELS_WISDOM_RECORD_H
#define BB_SIM_KERNELS_WISDOM_RECORD_H

#include "core/schema.h"
#include "core/text.h"
#include "sim/config/node.h"
#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/tuning/verification.h"

enum { BB_WISDOM_VERSION = 1, BB_WISDOM_LINE_BYTES = 1 << 14 };

typedef struct bb_wisdom_record {
    bb_index version;
    // What must be equal
    const char *kernel;       ///< name of its manager, for the reader: `program` decides
    const char *program;      ///< digest of the description (bb_wisdom_program)
    bb_index code;            ///< BB_EMISSION_VERSION
    const char *types;        ///< "T=SP"
    int device;               ///< bb_device_kind
    const char *architecture; ///< "sm_90"
    // What makes it stale where it differs
    const char *name, *driver, *compiler; ///< of the device, its driver (NULL: none), what compiled
    // Where and what
    const char *set;
    bb_list sizes; ///< of bb_index: columns and rows of each object, in the program's order
    const char *variant;
    int status; ///< bb_trial_status
    const char *why;
    double least_s, median_s, bytes; ///< NaN where not measured
    bb_index samples;
    // Of `best`: how many variants were considered, in the program's order of sums and in others; 0
    // where not all.
    bb_index candidates, reordered;
    const char *date; ///< UTC
    // Not in the file
    bb_choice choice; ///< of `variant`
} bb_wisdom_record;

/// The keys of a record.
extern const bb_schema bb_wisdom_record_schema;

/// Appends the line of a record, line feed included. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_record_write(const bb_wisdom_record *record, bb_text *out);

/// Reads a line; `origin` ("FILE:12") and texts of the record live in the arena. What is wrong goes
/// to `problems`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_record_read(bb_arena *arena, const char *origin, const char *line,
                                           size_t length, bb_problems *problems,
                                           bb_wisdom_record *out);

#endif

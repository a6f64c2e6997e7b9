// SPDX-License-Identifier: Apache-2.0
//
// A wisdom file: records, a line each, only ever appended to, so that a file that
// several processes tune into loses nothing: each appends under a lock of the file, a record by one
// write that is synced. A last line without its end was torn as it was written: it counts as never
// written, and the next writer takes it away.
//
// One record of a wisdom file: a variant of a kernel that was tried on a set, where, and what
// became of it. A record is one line, an item of a YAML list:
//
//     - {version: 1, kernel: add, program: 5f..., code: 2, types: T=SP, device: cuda, ...}
#ifndef BB_SIM_KERNELS_WISDOM_FILE_H
#define BB_SIM_KERNELS_WISDOM_FILE_H

#include "core/schema.h"
#include "core/text.h"
#include "sim/config/node.h"
#include "solvers/kernels/emission/choice.h"
#include "solvers/kernels/tuning/verification.h"

enum { BB_WISDOM_VERSION = 1, BB_WISDOM_LINE_BYTES = 1 << 14 };

typedef struct bb_wisdom_record {
    bb_index version;
    // Key
    const char *kernel;       ///< name of its manager, for the reader: `program` decides
    const char *program;      ///< digest of the description (bb_wisdom_program)
    bb_index code;            ///< BB_EMISSION_VERSION
    const char *types;        ///< "T=SP"
    int device;               ///< bb_device_kind
    const char *architecture; ///< "sm_90"
    // A difference makes the record stale
    const char *name, *driver, *compiler; ///< of the device, its driver (NULL: none), what compiled
    // Where and what
    const char *set;
    bb_list sizes; ///< of bb_index: columns and rows of each object, in the program's order
    const char *variant;
    int status; ///< bb_trial_status
    const char *why;
    double least_s, median_s, bytes; ///< NaN where not measured
    bb_index samples;
    // For `best`: numbers of variants considered in the program's order of sums and in others; 0 if
    // not all.
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

enum { BB_WISDOM_FILE_BYTES = 1 << 26 };

/// Zero-initialise; release with bb_wisdom_file_release.
typedef struct bb_wisdom_file {
    char *path; ///< of the file that was read last
    bb_arena arena;
    bb_wisdom_record *records; ///< [count] in the order written
    bb_index count, capacity;
} bb_wisdom_file;

/// The file of the user: $XDG_CONFIG_HOME/bitbudget/kernels.yaml, or .config/bitbudget/kernels.yaml
/// of the home folder; `given` where that is not NULL. Errors: BB_IO (no home), BB_MEMORY. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_wisdom_file_place(const char *given, char **out);

/// Appends the records of a file; one that is missing or damaged adds none. A torn last line is
/// dropped with a warning. Errors: BB_IO, BB_INVALID (all that is wrong, with file and line),
/// BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_file_read(const char *path, bb_wisdom_file *out);
void bb_wisdom_file_release(bb_wisdom_file *file);

/// Appends a record to the file on disk and makes the folders that it needs. Errors: BB_IO (also
/// where the file would grow beyond BB_WISDOM_FILE_BYTES, which no reader takes), BB_INVALID (a
/// last line without its end that began as no record), and what stands in the file is then as
/// before; BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_file_append(const char *path, const bb_wisdom_record *record);

#endif

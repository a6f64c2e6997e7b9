// SPDX-License-Identifier: Apache-2.0
//
// Wisdom file: an append-only file with one record per line, so that several processes can tune
// into it. Each appends a record under a lock of the file, by one synced write. A last line without
// line end is an incomplete write: it is ignored, and the next writer removes it.
//
// A record describes one variant of a kernel tried on a set of data: device and result. It is one
// line, an item of a YAML list:
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
    const char *kernel;       ///< name of its manager, for readers: `program` identifies the kernel
    const char *program;      ///< digest of the description (bb_wisdom_program)
    bb_index code;            ///< BB_EMISSION_VERSION
    const char *types;        ///< "T=SP"
    int device;               ///< bb_device_kind
    const char *architecture; ///< "sm_90"
    // A difference makes the record stale
    const char *name, *driver, *compiler; ///< name of the device, its driver (NULL: none), compiler
    // Data and result
    const char *set;
    bb_list sizes; ///< list of bb_index: columns and rows of each object, in the program's order
    const char *variant;
    int status; ///< bb_trial_status
    const char *why;
    double least_s, median_s, bytes; ///< NaN if not measured
    bb_index samples;
    // For `best`: number of variants considered with the program's order of summation and with
    // others; 0 if incomplete.
    bb_index candidates, reordered;
    const char *date; ///< UTC
    // Not in the file
    bb_choice choice; ///< parsed form of `variant`
} bb_wisdom_record;

/// The keys of a record.
extern const bb_schema bb_wisdom_record_schema;

/// Appends the line of a record, including the line feed. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_record_write(const bb_wisdom_record *record, bb_text *out);

/// Reads a line; `origin` ("FILE:12") and texts of the record live in the arena. Problems are added
/// to `problems`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_record_read(bb_arena *arena, const char *origin, const char *line,
                                           size_t length, bb_problems *problems,
                                           bb_wisdom_record *out);

enum { BB_WISDOM_FILE_BYTES = 1 << 26 };

/// Records of wisdom files. Zero-initialise; release with bb_wisdom_file_release.
typedef struct bb_wisdom_file {
    char *path; ///< path of the file read last
    bb_arena arena;
    bb_wisdom_record *records; ///< [count] in the order written
    bb_index count, capacity;
} bb_wisdom_file;

/// Path of the user's file: `given` if not NULL, else $XDG_CONFIG_HOME/bitbudget/kernels.yaml or
/// ~/.config/bitbudget/kernels.yaml. Errors: BB_IO (no home directory), BB_MEMORY. The caller owns
/// `*out`.
BB_CHECKED bb_status bb_wisdom_file_place(const char *given, char **out);

/// Appends the records of a file; a missing or damaged file adds none. An incomplete last line is
/// ignored with a warning. Errors: BB_IO, BB_INVALID (all problems, with file and line), BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_file_read(const char *path, bb_wisdom_file *out);
void bb_wisdom_file_release(bb_wisdom_file *file);

/// Appends a record to the file on disk and creates the folders. Errors: BB_IO (also if the file
/// would exceed BB_WISDOM_FILE_BYTES, the limit of the reader), BB_INVALID (an incomplete last line
/// that does not start like a record); the content of the file is then unchanged; BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_file_append(const char *path, const bb_wisdom_record *record);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A wisdom file: records (wisdom_record.h), a line each, only ever appended to, so that a file that
// several processes tune into loses nothing: each appends under a lock of the file, a record by one
// write that is synced. A last line without its end was torn as it was written: it counts as never
// written, and the next writer takes it away.
#ifndef BB_SIM_KERNELS_WISDOM_FILE_H
#define BB_SIM_KERNELS_WISDOM_FILE_H

#include "sim/kernels/wisdom_record.h"

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

// SPDX-License-Identifier: Apache-2.0
//
// Tuning cache of kernel variants, and the selection for given sizes: the record of equal sizes,
// else of the nearest in the logarithm of the objects' extents.
//
// A record applies if program, types, code version, kind of device and architecture match. If
// device, driver or compiler differ, the record is stale: it must be measured again, unless the key
// tolerates the difference, as for shipped records. Only variants with the program's order of
// summation are selected, unless others are allowed.
#ifndef BB_SIM_KERNELS_WISDOM_H
#define BB_SIM_KERNELS_WISDOM_H

#include "core/device/device.h"
#include "sim/kernels/wisdom_file.h"
#include "solvers/kernels/program/binding.h"

enum {
    BB_WISDOM_DIGEST_BYTES = 33,
    BB_WISDOM_SIZES = 64, ///< number of compared sizes
    BB_WISDOM_TYPES_BYTES = 256,
    BB_WISDOM_COMPILER_BYTES = 512,
};

/// Tolerated differences between key and record.
typedef enum bb_wisdom_tolerance {
    BB_WISDOM_SAME,             ///< none
    BB_WISDOM_ANY_BUILD,        ///< another driver or compiler
    BB_WISDOM_ANY_ARCHITECTURE, ///< also another device of the architecture
} bb_wisdom_tolerance;

/// Properties that a record is compared with.
typedef struct bb_wisdom_key {
    char kernel[64]; ///< name of the kernel in records, to report other descriptions of that name
    char program[BB_WISDOM_DIGEST_BYTES];
    char types[BB_WISDOM_TYPES_BYTES];
    bb_device_kind device;
    bb_device_report report;
    char compiler[BB_WISDOM_COMPILER_BYTES]; ///< "": not compared
    bb_index sizes[BB_WISDOM_SIZES];
    bb_index size_count;
    bb_wisdom_tolerance tolerance;
    double size_factor; ///< largest ratio of an extent to that of a usable record; 0: unlimited
} bb_wisdom_key;

/// Digest (XXH3, 128 bits, hexadecimal) of a description as XML: comments, lines and file are
/// ignored. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_program(const bb_description *description,
                                       char out[BB_WISDOM_DIGEST_BYTES]);

/// Name of a kernel in records: "gemv-transposed" for "configs/kernels/gemv_transposed.kernel".
void bb_wisdom_name(const char *path, char out[64]);

/// Formats "T=SP U=DP" from words [count] of that form, sorted. Errors: BB_INVALID (too long).
BB_CHECKED bb_status bb_wisdom_types(char *const *words, bb_index count,
                                     char out[BB_WISDOM_TYPES_BYTES]);

/// Sets the sizes from a program's data; objects beyond BB_WISDOM_SIZES / 2 are ignored.
void bb_wisdom_key_set_sizes(bb_wisdom_key *key, const bb_program *program,
                             const bb_program_data *data);

/// Compiler of an open device (bb_build_compiler), found by compiling an empty text. Errors: those
/// of bb_build_create.
BB_CHECKED bb_status bb_wisdom_find_compiler(bb_device *device, char *out, size_t bytes);

/// Reason why a record does not apply; BB_WISDOM_FITS if it applies.
typedef enum bb_wisdom_fit {
    BB_WISDOM_FITS,
    BB_WISDOM_OTHER_PROGRAM,
    BB_WISDOM_OTHER_TYPES,
    BB_WISDOM_OTHER_CODE,
    BB_WISDOM_OTHER_DEVICE, ///< or architecture
    BB_WISDOM_STALE,        ///< another device of this architecture, driver or compiler
} bb_wisdom_fit;

bb_wisdom_fit bb_wisdom_record_fit(const bb_wisdom_record *record, const bb_wisdom_key *key);

/// True if kind of device, architecture and code version of a record match the key, and also
/// device, driver and compiler unless the key tolerates others.
bool bb_wisdom_record_is_usable(const bb_wisdom_record *record, const bb_wisdom_key *key);

/// True if a record has these sizes.
bool bb_wisdom_record_is_of(const bb_wisdom_record *record, const bb_wisdom_key *key);

/// Last applicable record of a variant with these sizes, or NULL.
const bb_wisdom_record *bb_wisdom_find(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                       const bb_choice *choice);

/// Last applicable record of a winner with these sizes, in the program's order of summation.
const bb_wisdom_record *bb_wisdom_find_best(const bb_wisdom_file *file, const bb_wisdom_key *key);

/// Record of the variant to use, NULL if none applies: among the nearest sizes the last winner,
/// else the fastest correct variant. `is_exact`: sizes are equal. If `reasons` is not NULL, a line
/// is appended for each record of this kernel, types and device with the reason for its use or
/// rejection, and the number of other records. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_choose(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                      const bb_program *program, bool may_reorder,
                                      const bb_wisdom_record **out, bool *is_exact,
                                      bb_text *reasons);

// Shipped records of tuned variants: configs/kernels/tuned/<device>.yaml of the shipped folders
// (shipped_folder.h), in the format of wisdom files. They apply to every driver and compiler, and
// to other devices of the architecture if the device has none for these sizes. Every extent has to
// be within a factor of four of the record's. Records of another version of the printed text are
// ignored, so that an outdated file is harmless. Only variants with the kernel's order of summation
// are used: results do not depend on these files.
enum { BB_SHIPPED_ORIGIN_BYTES = 160 };

/// Reads all files; a damaged one is skipped with a warning. Errors: BB_MEMORY. Release with
/// bb_wisdom_file_release, also after an error.
BB_CHECKED bb_status bb_wisdom_read_shipped(bb_wisdom_file *out);

/// Record for a key, as by bb_wisdom_choose: first for the device by its name, then for its
/// architecture; NULL if there is none. `origin` names the record's device and is otherwise
/// unchanged. If `reasons` is not NULL, lines are appended. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_choose_shipped(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                              const bb_program *program,
                                              const bb_wisdom_record **out,
                                              char origin[BB_SHIPPED_ORIGIN_BYTES],
                                              bb_text *reasons);

/// Device whose records a key's device uses, and their number; NULL and 0 if none are shipped.
const char *bb_wisdom_shipped_device(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                     bb_index *count);

#endif

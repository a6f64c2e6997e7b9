// SPDX-License-Identifier: Apache-2.0
//
// Tuning cache of kernel variants, and the choice for given sizes: the record of equal sizes, else
// of the nearest in the logarithm of the objects' extents.
//
// A record counts where program, types, code version, kind of device and architecture are those at
// hand. One whose device, driver or compiler is another is stale: it is measured again before it
// counts, unless the key tolerates it, as for records that are shipped. Only
// variants in the program's order of sums are taken, unless others are allowed.
#ifndef BB_SIM_KERNELS_WISDOM_H
#define BB_SIM_KERNELS_WISDOM_H

#include "core/device/device.h"
#include "sim/kernels/wisdom_file.h"
#include "solvers/kernels/program/binding.h"

enum {
    BB_WISDOM_DIGEST_BYTES = 33,
    BB_WISDOM_SIZES = 64, ///< of sizes that are compared
    BB_WISDOM_TYPES_BYTES = 256,
    BB_WISDOM_COMPILER_BYTES = 512,
};

/// Differences from the key with which a record still counts.
typedef enum bb_wisdom_tolerance {
    BB_WISDOM_SAME,             ///< none
    BB_WISDOM_ANY_BUILD,        ///< another driver or compiler
    BB_WISDOM_ANY_ARCHITECTURE, ///< and another device of the architecture
} bb_wisdom_tolerance;

/// What is at hand.
typedef struct bb_wisdom_key {
    char kernel[64]; ///< what records of it are called, where their descriptions are others
    char program[BB_WISDOM_DIGEST_BYTES];
    char types[BB_WISDOM_TYPES_BYTES];
    bb_device_kind device;
    bb_device_report report;
    char compiler[BB_WISDOM_COMPILER_BYTES]; ///< "": not looked at
    bb_index sizes[BB_WISDOM_SIZES];
    bb_index size_count;
    bb_wisdom_tolerance tolerance;
    double size_factor; ///< most ratio of an extent to that of a record that counts; 0: any
} bb_wisdom_key;

/// Digest (XXH3, 128 bits, in hexadecimal) of a description as XML: comments, lines and file do
/// not matter. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_program(const bb_description *description,
                                       char out[BB_WISDOM_DIGEST_BYTES]);

/// What a kernel's records are called: "gemv-transposed" of
/// "configs/kernels/gemv_transposed.kernel".
void bb_wisdom_name(const char *path, char out[64]);

/// "T=SP U=DP": words [count] of that form, sorted. Errors: BB_INVALID (too long).
BB_CHECKED bb_status bb_wisdom_types(char *const *words, bb_index count,
                                     char out[BB_WISDOM_TYPES_BYTES]);

/// Takes a program's sizes from its data; objects beyond BB_WISDOM_SIZES / 2 are left out.
void bb_wisdom_key_set_sizes(bb_wisdom_key *key, const bb_program *program,
                             const bb_program_data *data);

/// What an open device's compiler says of itself (bb_build_compiler), found by compiling an empty
/// text. Errors: those of bb_build_create.
BB_CHECKED bb_status bb_wisdom_find_compiler(bb_device *device, char *out, size_t bytes);

/// Why a record does not count; BB_WISDOM_FITS where it does.
typedef enum bb_wisdom_fit {
    BB_WISDOM_FITS,
    BB_WISDOM_OTHER_PROGRAM,
    BB_WISDOM_OTHER_TYPES,
    BB_WISDOM_OTHER_CODE,
    BB_WISDOM_OTHER_DEVICE, ///< or architecture
    BB_WISDOM_STALE,        ///< another device of this architecture, driver or compiler
} bb_wisdom_fit;

bb_wisdom_fit bb_wisdom_record_fit(const bb_wisdom_record *record, const bb_wisdom_key *key);

/// Whether a record is of the key's kind of device, architecture and code version, and of the
/// device, driver and compiler unless the key tolerates others.
bool bb_wisdom_record_is_usable(const bb_wisdom_record *record, const bb_wisdom_key *key);

/// Whether a record is of these sizes.
bool bb_wisdom_record_is_of(const bb_wisdom_record *record, const bb_wisdom_key *key);

/// The last record of a variant on these sizes that counts, NULL where there is none.
const bb_wisdom_record *bb_wisdom_find(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                       const bb_choice *choice);

/// The last record of what has won on these sizes, in the program's order of sums, that counts.
const bb_wisdom_record *bb_wisdom_find_best(const bb_wisdom_file *file, const bb_wisdom_key *key);

/// The record whose variant to take, NULL where none counts: of the nearest sizes what has won, the
/// last of it, else the fastest that was right. `is_exact`: the sizes are equal. Where `reasons` is
/// not NULL, lines are appended: for each record of this kernel, types and device why it was taken
/// or not, and how many are of something else. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_choose(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                      const bb_program *program, bool may_reorder,
                                      const bb_wisdom_record **out, bool *is_exact,
                                      bb_text *reasons);

// Shipped records of tuned variants: configs/kernels/tuned/<device>.yaml of the shipped folders
// (shipped_folder.h), in the form of any wisdom file. They apply to every driver and compiler, and
// to other devices of the architecture where the device has none for these sizes. Every extent has
// to be within a factor of four of the record's. Records of another version of the printed text
// are ignored, so that an outdated file does no harm. Only variants in the kernel's order of sums
// are taken: results do not depend on these files.
enum { BB_SHIPPED_ORIGIN_BYTES = 160 };

/// Reads all files; a damaged one is left out with a warning. Errors: BB_MEMORY. Release with
/// bb_wisdom_file_release, after an error too.
BB_CHECKED bb_status bb_wisdom_read_shipped(bb_wisdom_file *out);

/// The record for a key, as bb_wisdom_choose finds it: first of the device by its name, then of its
/// architecture; NULL where there is none. `origin`, unchanged then, names the record's device.
/// Where `reasons` is not NULL, lines are appended. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wisdom_choose_shipped(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                              const bb_program *program,
                                              const bb_wisdom_record **out,
                                              char origin[BB_SHIPPED_ORIGIN_BYTES],
                                              bb_text *reasons);

/// The device whose records a key's device uses, and how many there are; NULL and 0 where none are
/// shipped.
const char *bb_wisdom_shipped_device(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                     bb_index *count);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Kernel given by a user: the user's file or a shipped one, in XML or in the notation, recognised
// by its content.
#ifndef BB_SIM_KERNELS_KERNEL_SOURCE_H
#define BB_SIM_KERNELS_KERNEL_SOURCE_H

#include "sim/config/study_file.h"
#include "solvers/kernels/program/program.h"

/// Kernel of a file. Zero-initialise; release with bb_kernel_source_release.
typedef struct bb_kernel_source {
    char *path; ///< path of the file, and origin of all places
    bb_description description;
    bb_program program; ///< set by bb_kernel_source_bind
    char *const *words; ///< [word_count] words given to bind, borrowed
    bb_index word_count;
} bb_kernel_source;

/// Finds the file of a kernel: `gemv` is the first existing file of `gemv`, `gemv.kernel`,
/// `gemv.xml` here, then in the folders `configs/kernels` (shipped_folder.h). Errors: BB_IO with
/// the nearest name, BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_kernel_source_find(const char *name, char **out);

/// Reads the description of a kernel and adds its problems to `problems`. Errors: BB_IO, BB_INVALID
/// (too large), BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_read(const char *name, bb_problems *problems,
                                           bb_kernel_source *out);

/// Builds the program with types from `words` [count], each "NAME=TYPE". Problems are added to
/// `problems`; there is then no program. Errors: BB_INVALID, BB_MEMORY. `words` must outlive the
/// source.
BB_CHECKED bb_status bb_kernel_source_bind(bb_kernel_source *source, char *const *words,
                                           bb_index count, bb_problems *problems);
void bb_kernel_source_release(bb_kernel_source *source);

/// Prints problems to stderr, one line each. Errors: BB_INVALID if there are any, with their
/// number.
BB_CHECKED bb_status bb_kernel_source_report(const bb_kernel_source *source,
                                             const bb_problems *problems);

/// Reads a kernel, binds its types and reports problems.
BB_CHECKED bb_status bb_kernel_source_load(const char *name, char *const *words, bb_index count,
                                           bb_kernel_source *out);

/// Names of the kernels found by bb_kernel_source_find, sorted and unique; release with
/// bb_shipped_names_release. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_list(bb_shipped_names *out);

/// Appends the first comment line of a kernel's file, or nothing. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_title(const char *name, bb_text *out);

/// Parses values of parameters, "limit=0.5", for complex types "z=0.5,-1": `words` [count] into
/// `out` [parameter_count of the program]. `fallback` [parameter_count] has values for parameters
/// without a word; NULL: each needs one. Problems: a parameter without a value or with two, an
/// unknown one (the nearest is suggested), a value of another type. B accepts 0, 1, false and true,
/// floats also nan, inf and -inf. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_parameters(const bb_program *program,
                                                 const char *const *words, bb_index count,
                                                 const bb_scalar *fallback, bb_problems *problems,
                                                 bb_scalar *out);

#endif

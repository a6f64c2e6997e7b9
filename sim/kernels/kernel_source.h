// SPDX-License-Identifier: Apache-2.0
//
// A kernel as a user names it: a file of her own or one that is shipped, in XML or in the notation,
// told apart by what is in it.
#ifndef BB_SIM_KERNELS_KERNEL_SOURCE_H
#define BB_SIM_KERNELS_KERNEL_SOURCE_H

#include "sim/config/study_file.h"
#include "solvers/kernels/program/program.h"

/// Zero-initialise; release with bb_kernel_source_release.
typedef struct bb_kernel_source {
    char *path; ///< of the file, and the origin of all places
    bb_description description;
    bb_program program; ///< of bb_kernel_source_bind
    char *const *words; ///< [word_count] that it was given, borrowed
    bb_index word_count;
} bb_kernel_source;

/// The file of a kernel: `gemv` is the first there is of `gemv`, `gemv.kernel`, `gemv.xml` here,
/// then in the folders `configs/kernels` that studies are looked for in. Errors: BB_IO with the
/// nearest name, BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_kernel_source_find(const char *name, char **out);

/// Reads the description of a kernel. What is wrong with it goes to `problems`. Errors: BB_IO,
/// BB_INVALID (too large), BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_read(const char *name, bb_problems *problems,
                                           bb_kernel_source *out);

/// Makes the program, with types from `words` [count], "NAME=TYPE" each. What is wrong goes to
/// `problems`, and there is then no program. Errors: BB_INVALID, BB_MEMORY. `words` must live as
/// long as the source.
BB_CHECKED bb_status bb_kernel_source_bind(bb_kernel_source *source, char *const *words,
                                           bb_index count, bb_problems *problems);
void bb_kernel_source_release(bb_kernel_source *source);

/// Prints problems to stderr, one a line. Errors: BB_INVALID where there are any, with how many.
BB_CHECKED bb_status bb_kernel_source_report(const bb_kernel_source *source,
                                             const bb_problems *problems);

/// Reads, binds and reports.
BB_CHECKED bb_status bb_kernel_source_load(const char *name, char *const *words, bb_index count,
                                           bb_kernel_source *out);

/// Names of the kernels that bb_kernel_source_find knows, sorted, each once; release with
/// bb_shipped_names_release. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_list(bb_shipped_names *out);

/// Appends the first line of comment of a kernel's file, or nothing. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_title(const char *name, bb_text *out);

/// Reads values of parameters as they are typed, "limit=0.5", of complex types "z=0.5,-1":
/// `words` [count] into `out` [parameter_count of the program]. `fallback` [parameter_count]
/// has values of those that no word names, NULL: each needs one. Problems: a parameter without a
/// value or with two, an unknown one (the nearest is told), a value that is none of its type: B
/// takes 0, 1, false and true, floats also nan, inf and -inf. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_source_parameters(const bb_program *program,
                                                 const char *const *words, bb_index count,
                                                 const bb_scalar *fallback, bb_problems *problems,
                                                 bb_scalar *out);

#endif

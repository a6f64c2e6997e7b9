// SPDX-License-Identifier: Apache-2.0
//
// A kernel of the user's own with sizes, or data of a file, as a tuner's subject.
#ifndef BB_SIM_KERNELS_KERNEL_SUBJECT_H
#define BB_SIM_KERNELS_KERNEL_SUBJECT_H

#include "sim/kernels/kernel_source.h"
#include "sim/kernels/object_file.h"
#include "solvers/kernels/tuning/caller_subject.h"

/// What the user asks for.
typedef struct bb_kernel_subject_wish {
    const char *name;   ///< as bb_kernel_source_find takes it
    char *const *words; ///< [word_count] "T=SP"
    bb_index word_count;
    const char *sizes;             ///< as bb_object_sizes_read takes them; NULL: not given
    const char *input;             ///< HDF5 file with the objects; NULL: not given
    const char *const *parameters; ///< [parameter_count] "limit=0.5"
    bb_index parameter_count;
} bb_kernel_subject_wish;

/// Zero-initialise; release with bb_kernel_subject_release.
typedef struct bb_kernel_subject {
    bb_kernel_source source;
    bb_object_file_data data;
    bb_scalar *parameters;
    bb_caller_subject *subject;
} bb_kernel_subject;

/// Name of the one set of such a kernel.
extern const char bb_kernel_subject_set[];

/// Reads kernel, sizes or data, and parameters, of which those without a value are 1 (true of B).
/// Problems are printed to stderr. Errors: BB_INVALID, BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_kernel_subject_read(const bb_kernel_subject_wish *wish,
                                            bb_kernel_subject *out);
void bb_kernel_subject_release(bb_kernel_subject *subject);

#endif

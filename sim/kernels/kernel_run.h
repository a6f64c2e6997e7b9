// SPDX-License-Identifier: Apache-2.0
//
// A bound kernel computed on a device that a user names.
#ifndef BB_SIM_KERNELS_KERNEL_RUN_H
#define BB_SIM_KERNELS_KERNEL_RUN_H

#include "sim/kernels/kernel_choice.h"

/// What computed a kernel, for records.
typedef struct bb_kernel_run_record {
    char device[192];
    char compiler[512];
    bb_kernel_choice choice;
} bb_kernel_run_record;

/// Device of a word, "cuda"; NULL is the cpu. Errors: BB_INVALID (no such device).
BB_CHECKED bb_status bb_kernel_run_find_device(const char *name, bb_device_kind *out);

/// Runs a bound kernel on the first device of a kind, in the variant of kernel_choice.h. Where the
/// host has no C compiler and no prebuilt form of the kernel the evaluator computes in the place of
/// the cpu, to the same bits, which a log line says; nothing stands in for another device. Errors:
/// BB_INVALID (no such variant), BB_UNSUPPORTED, BB_DEVICE, BB_MEMORY, BB_IO.
BB_CHECKED bb_status bb_kernel_run_compute(bb_device_kind kind, const bb_kernel_source *source,
                                           const bb_choice_wish *wish, const bb_binding *binding,
                                           bb_kernel_run_record *out);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Which variant of a kernel a run takes: the one that is given, else what was measured here
// (wisdom.h), else what is shipped for the device, else the default. Nothing is
// measured here.
#ifndef BB_SIM_KERNELS_KERNEL_RUN_H
#define BB_SIM_KERNELS_KERNEL_RUN_H

#include "sim/kernels/kernel_source.h"
#include "sim/kernels/wisdom.h"

/// What the user asks for.
typedef struct bb_choice_wish {
    const char *variant;   ///< text of a variant or "default"; NULL: not given
    const char *wisdom;    ///< file, NULL: the user's
    bool is_deterministic; ///< always the default variant
    bool may_reorder;      ///< other orders of sums too
} bb_choice_wish;

enum { BB_CHOICE_ORIGIN_BYTES = 256 };

typedef struct bb_kernel_choice {
    bb_choice choice;
    char text[BB_CHOICE_TEXT_BYTES];
    char origin[BB_CHOICE_ORIGIN_BYTES]; ///< "given", "default", "wisdom exact, set large of FILE",
                                         ///< "tuned, shipped for NVIDIA H200"
} bb_kernel_choice;

/// Options that exclude each other, and what a text of a variant says. `*out` is the choice where
/// one is given. Errors: BB_INVALID.
BB_CHECKED bb_status bb_choice_wish_check(const bb_choice_wish *wish);

/// The variant that is given, or the default: without a device. Errors: BB_INVALID (no such
/// variant, with why).
BB_CHECKED bb_status bb_kernel_choice_read(const bb_choice_wish *wish, bb_device_kind kind,
                                           const bb_program *program, bb_kernel_choice *out);

/// The variant for the sizes of a binding on an open device. Where `reasons` is not NULL, what is
/// known and why it counts or not is appended. A wisdom file that cannot be read is an error.
/// Errors: BB_INVALID, BB_IO, BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_kernel_choice_find(const bb_choice_wish *wish, bb_device *device,
                                           const bb_kernel_source *source,
                                           const bb_binding *binding, bb_kernel_choice *out,
                                           bb_text *reasons);

/// What computed a kernel, for records.
typedef struct bb_kernel_run_record {
    char device[192];
    char compiler[512];
    bb_kernel_choice choice;
} bb_kernel_run_record;

/// Device of a word, "cuda"; NULL is the cpu. Errors: BB_INVALID (no such device).
BB_CHECKED bb_status bb_kernel_run_find_device(const char *name, bb_device_kind *out);

/// Runs a bound kernel on the first device of a kind, in the variant that a run takes. Where the
/// host has no C compiler and no prebuilt form of the kernel the evaluator computes in the place of
/// the cpu, to the same bits, which a log line says; nothing stands in for another device. Errors:
/// BB_INVALID (no such variant), BB_UNSUPPORTED, BB_DEVICE, BB_MEMORY, BB_IO.
BB_CHECKED bb_status bb_kernel_run_compute(bb_device_kind kind, const bb_kernel_source *source,
                                           const bb_choice_wish *wish, const bb_binding *binding,
                                           bb_kernel_run_record *out);

#endif

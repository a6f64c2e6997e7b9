// SPDX-License-Identifier: Apache-2.0
//
// Selection of a kernel's variant for a run: the given one, else one measured on this machine
// (wisdom.h), else one shipped for the device, else the default. Nothing is measured here.
#ifndef BB_SIM_KERNELS_KERNEL_RUN_H
#define BB_SIM_KERNELS_KERNEL_RUN_H

#include "sim/kernels/kernel_source.h"
#include "sim/kernels/wisdom.h"

/// Options of the user.
typedef struct bb_choice_wish {
    const char *variant;   ///< text of a variant or "default"; NULL: not set
    const char *wisdom;    ///< file, NULL: the user's
    bool is_deterministic; ///< always the default variant
    bool may_reorder;      ///< allow another order of summation
} bb_choice_wish;

enum { BB_CHOICE_ORIGIN_BYTES = 256 };

typedef struct bb_kernel_choice {
    bb_choice choice;
    char text[BB_CHOICE_TEXT_BYTES];
    char origin[BB_CHOICE_ORIGIN_BYTES]; ///< "given", "default", "wisdom exact, set large of FILE",
                                         ///< "tuned, shipped for NVIDIA H200"
} bb_kernel_choice;

/// Checks for contradictory options and parses the text of a variant. Errors: BB_INVALID.
BB_CHECKED bb_status bb_choice_wish_check(const bb_choice_wish *wish);

/// Reads the given variant, or the default, without a device. Errors: BB_INVALID (no such variant,
/// with the reason).
BB_CHECKED bb_status bb_kernel_choice_read(const bb_choice_wish *wish, bb_device_kind kind,
                                           const bb_program *program, bb_kernel_choice *out);

/// Finds the variant for the sizes of a binding on an open device. If `reasons` is not NULL,
/// appends the known records and why they apply or not. An unreadable wisdom file is an error.
/// Errors: BB_INVALID, BB_IO, BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_kernel_choice_find(const bb_choice_wish *wish, bb_device *device,
                                           const bb_kernel_source *source,
                                           const bb_binding *binding, bb_kernel_choice *out,
                                           bb_text *reasons);

/// Record of how a kernel was computed.
typedef struct bb_kernel_run_record {
    char device[192];
    char compiler[512];
    bb_kernel_choice choice;
} bb_kernel_run_record;

/// Device of a name such as "cuda"; NULL is the cpu. Errors: BB_INVALID (no such device).
BB_CHECKED bb_status bb_kernel_run_find_device(const char *name, bb_device_kind *out);

/// Runs a bound kernel on the first device of a kind, in the selected variant. If the host has no C
/// compiler and no prebuilt object of the kernel, the evaluator replaces the cpu with the same
/// bits, which is logged; other devices have no replacement. Errors: BB_INVALID (no such variant),
/// BB_UNSUPPORTED, BB_DEVICE, BB_MEMORY, BB_IO.
BB_CHECKED bb_status bb_kernel_run_compute(bb_device_kind kind, const bb_kernel_source *source,
                                           const bb_choice_wish *wish, const bb_binding *binding,
                                           bb_kernel_run_record *out);

#endif

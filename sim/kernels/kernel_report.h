// SPDX-License-Identifier: Apache-2.0
//
// What a kernel is, in the words of its description, for who wrote it.
#ifndef BB_SIM_KERNELS_KERNEL_REPORT_H
#define BB_SIM_KERNELS_KERNEL_REPORT_H

#include "core/text.h"
#include "solvers/kernels/program/program.h"

/// Appends objects, parameters, spaces, iterators with the order of their sums, accesses, and what
/// the kernel needs to be run. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_kernel_report_write(const bb_program *program, bb_text *out);

#endif

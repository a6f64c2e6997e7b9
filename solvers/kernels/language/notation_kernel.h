// SPDX-License-Identifier: Apache-2.0
//
// The first line of the notation (notation_reader.h): name, objects and parameters.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_KERNEL_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_KERNEL_H

#include "solvers/kernels/language/notation.h"

/// Reads `kernel NAME (...)` and makes the root with its sections. Errors as bb_notation_refuse.
BB_CHECKED bb_status bb_notation_kernel_read(bb_notation *notation);

#endif

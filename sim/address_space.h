// SPDX-License-Identifier: Apache-2.0
//
// What a process under `ulimit -v` can still map. OpenBLAS takes a buffer for every thread that
// calls it and tries for ever where there is none, so room is looked for before.
//
// Everything here works before the start of any library: no allocation, no stdio, no environ.
#ifndef BB_SIM_ADDRESS_SPACE_H
#define BB_SIM_ADDRESS_SPACE_H

#include "core/status.h"

#include <stdbool.h>

/// What one thread's calls of OpenBLAS map, bytes: its buffer (32 MiB x 4 on x86-64).
enum { BB_ADDRESS_SPACE_BLAS_BYTES = 1 << 27 };

/// What `ulimit -v` leaves to be mapped, bytes; INFINITY without a limit or where the system does
/// not say what is mapped.
double bb_address_space_left(void);

/// Whether `bytes` more can be mapped.
bool bb_address_space_holds(double bytes);

/// What OpenBLAS maps as it is loaded: a stack and a buffer for each of its threads but the first.
/// `environment` ends with NULL.
double bb_address_space_at_load(const char *const *environment);

/// What `count` threads of a run map: their buffers, and stacks and heaps of all but the
/// first.
double bb_address_space_threads(bb_index count);

#endif

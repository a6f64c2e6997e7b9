// SPDX-License-Identifier: Apache-2.0
//
// Address space left to a process under `ulimit -v`. OpenBLAS takes a buffer for every thread that
// calls it and tries for ever where there is none, so it gets them before anything else does.
//
// Everything here but bb_address_space_reserve works before the start of any library: no
// allocation, no stdio, no environ.
#ifndef BB_CORE_ADDRESS_SPACE_H
#define BB_CORE_ADDRESS_SPACE_H

#include "core/status.h"

#include <stdbool.h>

/// What one thread's calls of OpenBLAS map, bytes: its buffer (32 MiB x 4 on x86-64).
enum { BB_ADDRESS_SPACE_BLAS_BYTES = 1 << 27 };

/// What `ulimit -v` leaves to be mapped, bytes; INFINITY without a limit or where the system does
/// not say what is mapped.
double bb_address_space_left(void);

/// Whether `bytes` more can be mapped.
bool bb_address_space_fits(double bytes);

/// Under a limit, whether OpenBLAS starts threads as it is loaded, each with a stack and a buffer
/// that nothing uses, whose own threads call it. `environment` ends with NULL.
bool bb_address_space_wasted(const char *const *environment);

/// Starts the program again with one thread in OpenBLAS; returns where that cannot be.
void bb_address_space_restart(char *const *arguments, const char *const *environment);

/// What `count` threads of a run map beside their data: their buffers, and stacks of all but the
/// first.
double bb_address_space_threads(bb_index count);

/// Under a limit: maps the buffers of `count` threads, which OpenBLAS then keeps, and leaves heaps
/// of their own (64 MiB each) to no thread. Call before threads start. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_address_space_reserve(bb_index count);

/// Zeros that a child process can write to; NULL where there is no memory. Release with
/// bb_address_space_unshare, which ignores NULL.
void *bb_address_space_share(size_t bytes);
void bb_address_space_unshare(void *block, size_t bytes);

#endif

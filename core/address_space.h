// SPDX-License-Identifier: Apache-2.0
//
// Address space left to a process under `ulimit -v`. OpenBLAS allocates a buffer for every thread
// that calls it and retries forever if that fails, so the buffers are reserved before anything
// else.
//
// All functions but bb_address_space_reserve work before any library starts: no allocation, no
// stdio, no environ.
#ifndef BB_CORE_ADDRESS_SPACE_H
#define BB_CORE_ADDRESS_SPACE_H

#include "core/status.h"

#include <stdbool.h>

/// Address space of one thread that calls OpenBLAS, bytes: its buffer (32 MiB x 4 on x86-64).
enum { BB_ADDRESS_SPACE_BLAS_BYTES = 1 << 27 };

/// Address space left under `ulimit -v`, bytes; INFINITY without a limit or where the system does
/// not report the mapped bytes.
double bb_address_space_left(void);

/// Returns whether another `bytes` can be mapped.
bool bb_address_space_fits(double bytes);

/// Returns whether OpenBLAS, under a limit, would start threads when it is loaded. Each thread maps
/// a stack and a buffer that a program with its own threads never uses. `environment` ends with
/// NULL.
bool bb_address_space_wasted(const char *const *environment);

/// Restarts the program with one OpenBLAS thread; returns if that is impossible.
void bb_address_space_restart(char *const *arguments, const char *const *environment);

/// Address space that `count` threads of a run need in addition to their data: their buffers, and
/// the stacks of all but the first.
double bb_address_space_threads(bb_index count);

/// Under a limit: maps the buffers of `count` threads, which OpenBLAS then caches, and disables
/// per-thread heaps (64 MiB each). Call before threads start. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_address_space_reserve(bb_index count);

/// Allocates zeroed memory shared with child processes; NULL if there is none. Release with
/// bb_address_space_unshare, which ignores NULL.
void *bb_address_space_share(size_t bytes);
void bb_address_space_unshare(void *block, size_t bytes);

#endif

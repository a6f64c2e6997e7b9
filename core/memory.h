// SPDX-License-Identifier: Apache-2.0
//
// The only allocator of host memory: aligned to 64 bytes, sizes checked for overflow, and able to
// fail on request so that tests can cover every error path. No other file calls malloc.
#ifndef BB_CORE_MEMORY_H
#define BB_CORE_MEMORY_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_ALIGNMENT = 64 };

/// Allocates `count` items of `item_bytes` bytes, aligned to BB_ALIGNMENT, contents undefined.
/// `*out` is set to NULL for count 0. Errors: BB_MEMORY (with the requested bytes), BB_INVALID for
/// a negative count or an overflowing product. Owner: the caller, who releases with
/// bb_memory_release.
BB_CHECKED bb_status bb_memory_allocate(bb_index count, size_t item_bytes, void **out);

/// Allocates as bb_memory_allocate, filled with zero bytes.
BB_CHECKED bb_status bb_memory_zeroed(bb_index count, size_t item_bytes, void **out);

/// Resizes a block of this allocator to `count` items, preserving the contents that fit; `*block`
/// may be NULL. On failure `*block` is unchanged.
BB_CHECKED bb_status bb_memory_resize(bb_index count, size_t item_bytes, void **block);

/// Copies a string. Errors and ownership as bb_memory_allocate.
BB_CHECKED bb_status bb_memory_text(const char *text, char **out);

/// Formats a string of any length. Errors and ownership as bb_memory_allocate.
BB_CHECKED bb_status bb_memory_printf(char **out, const char *format, ...) BB_PRINTF(2, 3);

/// Frees `*block` (NULL is fine) and sets it to NULL.
void bb_memory_release(void **block);

/// Typed shorthands: BB_ALLOCATE(n, &p) for `double *p` and the like.
#define BB_ALLOCATE(count, pointer)                                                                \
    bb_memory_allocate((count), sizeof **(pointer), (void **)(pointer))
#define BB_ZEROED(count, pointer) bb_memory_zeroed((count), sizeof **(pointer), (void **)(pointer))
#define BB_RELEASE(pointer)       bb_memory_release((void **)(pointer))

/// Returns bytes and blocks currently allocated, and the peak of the bytes, over all threads.
size_t bb_memory_bytes(void);
size_t bb_memory_peak_bytes(void);
bb_index bb_memory_blocks(void);

/// Resets the peak to the current bytes, to measure one piece of work. Other threads must not
/// allocate meanwhile.
void bb_memory_peak_reset(void);

/// For tests: the `k`-th allocation from now on (1 is the next) fails with BB_MEMORY, also in a
/// child process forked later; 0 turns it off.
void bb_memory_fail_at(bb_index k);

/// For tests: true after the failure requested by bb_memory_fail_at has happened.
int bb_memory_failure_happened(void);

#ifdef __cplusplus
}
#endif

#endif

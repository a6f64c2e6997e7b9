// SPDX-License-Identifier: Apache-2.0
//
// Memory with one lifetime: nodes, strings and lists of a configuration are released together.
#ifndef BB_CORE_ARENA_H
#define BB_CORE_ARENA_H

#include "core/status.h"

typedef struct bb_arena_block bb_arena_block;

/// Zero-initialise; release with bb_arena_release.
typedef struct bb_arena {
    bb_arena_block *newest;
} bb_arena;

/// Allocates `count` zeroed items of `item_bytes`, aligned for any type; `*out` is NULL for count
/// 0.
BB_CHECKED bb_status bb_arena_zeroed(bb_arena *arena, bb_index count, size_t item_bytes,
                                     void **out);

/// Copies `length` bytes and appends a NUL.
BB_CHECKED bb_status bb_arena_text(bb_arena *arena, const char *text, size_t length,
                                   const char **out);

/// Formats a string.
BB_CHECKED bb_status bb_arena_printf(bb_arena *arena, const char **out, const char *format, ...)
    BB_PRINTF(3, 4);

void bb_arena_release(bb_arena *arena);

#endif

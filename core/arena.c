// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 8192, ITEM_ALIGNMENT = 16 };

struct bb_arena_block {
    bb_arena_block *older;
    size_t used;
    size_t capacity;
    char *bytes;
};

static bb_status add_block(bb_arena *arena, size_t bytes)
{
    bb_status status = BB_OK;
    bb_arena_block *block = NULL;
    BB_TRY(BB_ZEROED(1, &block));
    block->capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    BB_TRY(BB_ZEROED((bb_index)block->capacity, &block->bytes));
    block->older = arena->newest;
    arena->newest = block;
    block = NULL;
done:
    BB_RELEASE(&block);
    return status;
}

bb_status bb_arena_zeroed(bb_arena *arena, bb_index count, size_t item_bytes, void **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    if (count == 0) {
        goto done;
    }
    BB_REQUIRE(count > 0 && (size_t)count <= PTRDIFF_MAX / 2 / item_bytes, BB_INVALID,
               "%td items of %zu bytes overflow the address space", count, item_bytes);
    size_t bytes = ((size_t)count * item_bytes + ITEM_ALIGNMENT - 1) / ITEM_ALIGNMENT;
    bytes *= ITEM_ALIGNMENT;
    if (arena->newest == NULL || arena->newest->capacity - arena->newest->used < bytes) {
        BB_TRY(add_block(arena, bytes));
    }
    *out = arena->newest->bytes + arena->newest->used;
    arena->newest->used += bytes;
done:
    return status;
}

bb_status bb_arena_text(bb_arena *arena, const char *text, size_t length, const char **out)
{
    bb_status status = BB_OK;
    char *copy = NULL;
    BB_TRY(bb_arena_zeroed(arena, (bb_index)length + 1, 1, (void **)&copy));
    if (copy != NULL) { // always true: at least one byte
        memcpy(copy, text, length);
    }
    *out = copy;
done:
    return status;
}

bb_status bb_arena_printf(bb_arena *arena, const char **out, const char *format, ...)
{
    bb_status status = BB_OK;
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    BB_REQUIRE(length >= 0, BB_INTERNAL, "cannot format '%s'", format);
    BB_TRY(bb_arena_zeroed(arena, length + 1, 1, (void **)&text));
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    *out = text;
done:
    return status;
}

void bb_arena_release(bb_arena *arena)
{
    while (arena->newest != NULL) {
        bb_arena_block *block = arena->newest;
        arena->newest = block->older;
        BB_RELEASE(&block->bytes);
        BB_RELEASE(&block);
    }
}

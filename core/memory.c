// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Header of each block. Alignment is done here: glibc does not reuse the gaps that aligned_alloc
// leaves, and its calloc returns large zeroed blocks untouched.
typedef struct header {
    size_t bytes;
    void *base; // pointer to pass to free
} header;

static atomic_size_t live_bytes;
static atomic_size_t peak_bytes;
static atomic_ptrdiff_t live_blocks;

// Failure requested by tests, in memory shared with child processes so that their allocations
// count.
typedef struct injection {
    atomic_ptrdiff_t countdown;
    atomic_int happened;
} injection;

static injection *_Atomic injected;

static int injected_failure(void)
{
    injection *plan = atomic_load_explicit(&injected, memory_order_relaxed);
    if (plan == NULL || atomic_load_explicit(&plan->countdown, memory_order_relaxed) <= 0) {
        return 0;
    }
    if (atomic_fetch_sub(&plan->countdown, 1) == 1) {
        atomic_store(&plan->happened, 1);
        return 1;
    }
    return 0;
}

static void account(size_t bytes)
{
    size_t now = atomic_fetch_add(&live_bytes, bytes) + bytes;
    size_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) {
    }
    (void)atomic_fetch_add(&live_blocks, 1);
}

static header *header_of(void *block)
{
    return (header *)(void *)((char *)block - BB_ALIGNMENT);
}

// Requests pages of 2 MiB for large blocks, which are read sequentially: they reduce page faults
// and TLB misses. This is only a hint, where the system supports it.
static void advise_huge_pages(char *base, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    enum { LARGE = 1 << 22, PAGE = 4096 };
    if (bytes >= LARGE) {
        char *first = base + PAGE - (uintptr_t)base % PAGE;
        (void)madvise(first, bytes - PAGE, MADV_HUGEPAGE);
    }
#else
    (void)base;
    (void)bytes;
#endif
}

static bb_status allocate(bb_index count, size_t item_bytes, bool zeroed, void **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    BB_REQUIRE(count >= 0, BB_INVALID, "allocation of %td items, expected 0 or more", count);
    if (count == 0 || item_bytes == 0) {
        goto done;
    }
    BB_REQUIRE((size_t)count <= (SIZE_MAX / 2 - 2 * BB_ALIGNMENT) / item_bytes, BB_INVALID,
               "allocation of %td items of %zu bytes overflows the address space", count,
               item_bytes);
    size_t bytes = (size_t)count * item_bytes;
    size_t padded_bytes = bytes + 2 * BB_ALIGNMENT;
    char *base = injected_failure() ? NULL
                 : zeroed           ? calloc(1, padded_bytes)
                                    : malloc(padded_bytes);
    BB_REQUIRE(base != NULL, BB_MEMORY, "host memory exhausted: %zu bytes requested, %zu in use",
               bytes, bb_memory_bytes());
    advise_huge_pages(base, padded_bytes);
    *out = base + 2 * BB_ALIGNMENT - (uintptr_t)base % BB_ALIGNMENT;
    *header_of(*out) = (header){bytes, base};
    account(bytes);
done:
    return status;
}

bb_status bb_memory_allocate(bb_index count, size_t item_bytes, void **out)
{
    return allocate(count, item_bytes, false, out);
}

bb_status bb_memory_zeroed(bb_index count, size_t item_bytes, void **out)
{
    return allocate(count, item_bytes, true, out);
}

bb_status bb_memory_resize(bb_index count, size_t item_bytes, void **block)
{
    void *grown = NULL;
    BB_RETURN_IF_FAILED(bb_memory_allocate(count, item_bytes, &grown));
    if (*block != NULL && grown != NULL) {
        size_t kept = header_of(*block)->bytes;
        size_t wanted = (size_t)count * item_bytes;
        memcpy(grown, *block, kept < wanted ? kept : wanted);
    }
    bb_memory_release(block);
    *block = grown;
    return BB_OK;
}

bb_status bb_memory_text(const char *text, char **out)
{
    size_t length = strlen(text) + 1;
    BB_RETURN_IF_FAILED(bb_memory_allocate((bb_index)length, 1, (void **)out));
    if (*out != NULL) { // always true: length counts the final zero
        memcpy(*out, text, length);
    }
    return BB_OK;
}

bb_status bb_memory_printf(char **out, const char *format, ...)
{
    bb_status status = BB_OK;
    va_list arguments;
    *out = NULL;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    BB_REQUIRE(length >= 0, BB_INTERNAL, "cannot format '%s'", format);
    BB_TRY(bb_memory_allocate(length + 1, 1, (void **)out));
    va_start(arguments, format);
    (void)vsnprintf(*out, (size_t)length + 1, format, arguments);
    va_end(arguments);
done:
    return status;
}

void bb_memory_release(void **block)
{
    if (*block == NULL) {
        return;
    }
    const header about = *header_of(*block);
    (void)atomic_fetch_sub(&live_bytes, about.bytes);
    (void)atomic_fetch_sub(&live_blocks, 1);
    free(about.base);
    *block = NULL;
}

size_t bb_memory_bytes(void)
{
    return atomic_load(&live_bytes);
}

size_t bb_memory_peak_bytes(void)
{
    return atomic_load(&peak_bytes);
}

void bb_memory_peak_reset(void)
{
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

bb_index bb_memory_blocks(void)
{
    return atomic_load(&live_blocks);
}

void bb_memory_fail_at(bb_index k)
{
    injection *plan = atomic_load(&injected);
    if (plan == NULL) {
        void *page =
            mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            abort(); // otherwise the test would pass for the wrong reason
        }
        plan = page;
        atomic_store(&injected, plan);
    }
    atomic_store(&plan->happened, 0);
    atomic_store(&plan->countdown, k);
}

int bb_memory_failure_happened(void)
{
    injection *plan = atomic_load(&injected);
    return plan != NULL && atomic_load(&plan->happened);
}

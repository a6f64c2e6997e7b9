// SPDX-License-Identifier: Apache-2.0
#include "core/address_space.h"

#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    BB_ADDRESS_SPACE_BUFFERS = 64, // upper bound: OpenBLAS has two buffers per thread of its build
    ENVIRONMENT = 4096,            // limit of the environment entries passed on
};

static const char one_thread[] = "OPENBLAS_NUM_THREADS=1";

// Parses the decimal digits at the start of a text; 0 without any.
static double leading_number(const char *text)
{
    double value = 0.0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        value = 10.0 * value + (double)(*text - '0');
    }
    return value;
}

// Returns the mapped bytes of this process; infinite where the system does not report them.
static double mapped_bytes(void)
{
    char line[64] = "";
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return INFINITY;
    }
    const ssize_t length = read(file, line, sizeof line - 1);
    (void)close(file);
    return length > 0 ? leading_number(line) * (double)sysconf(_SC_PAGESIZE) : INFINITY;
}

double bb_address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return INFINITY;
    }
    const double mapped = mapped_bytes();
    return isfinite(mapped) ? fmax(0.0, (double)limit.rlim_cur - mapped) : INFINITY;
}

bool bb_address_space_fits(double bytes)
{
    return bytes <= bb_address_space_left();
}

static double stack_bytes(void)
{
    struct rlimit limit;
    const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? (double)limit.rlim_cur : 8.0 * 1024.0 * 1024.0;
}

double bb_address_space_threads(bb_index count)
{
    const double guard = (double)sysconf(_SC_PAGESIZE);
    return (double)count * BB_ADDRESS_SPACE_BLAS_BYTES +
           (double)(count - 1) * (stack_bytes() + guard);
}

// Internal OpenBLAS functions, exported but in no header: one gets a buffer, one returns it to the
// cache. NULL in other libraries.
__attribute__((weak)) void *blas_memory_alloc(int position);
__attribute__((weak)) void blas_memory_free(void *buffer);

bb_status bb_address_space_reserve(bb_index count)
{
    bb_status status = BB_OK;
    void *held[BB_ADDRESS_SPACE_BUFFERS];
    const double needed = bb_address_space_threads(count);
    const double rest = bb_address_space_left();
    BB_REQUIRE(needed <= rest, BB_MEMORY,
               "memory: %.1f MB needed for the buffers of OpenBLAS and the stacks of %td threads, "
               "the limit of this process (ulimit -v) leaves %.1f MB; use fewer --threads",
               1e-6 * needed, count, 1e-6 * rest);
    if (isinf(rest) || blas_memory_alloc == NULL || blas_memory_free == NULL) {
        goto done;
    }
    (void)mallopt(M_ARENA_MAX, 1);
    const bb_index buffers = count < BB_ADDRESS_SPACE_BUFFERS ? count : BB_ADDRESS_SPACE_BUFFERS;
    for (bb_index i = 0; i < buffers; ++i) {
        held[i] = blas_memory_alloc(0);
    }
    for (bb_index i = 0; i < buffers; ++i) {
        blas_memory_free(held[i]);
    }
done:
    return status;
}

bool bb_address_space_wasted(const char *const *environment)
{
    // Variables in the order in which OpenBLAS reads them.
    static const char *const names[] = {
        "OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_NUM_THREADS="};
    cpu_set_t set;
    CPU_ZERO(&set);
    double threads = sched_getaffinity(0, sizeof set, &set) == 0 ? (double)CPU_COUNT(&set) : 1.0;
    double requested = 0.0;
    for (size_t n = 0; n < sizeof names / sizeof *names && requested == 0.0; ++n) {
        const size_t length = strlen(names[n]);
        for (const char *const *entry = environment; *entry != NULL; ++entry) {
            requested = strncmp(*entry, names[n], length) == 0 ? leading_number(*entry + length)
                                                               : requested;
        }
    }
    threads = requested > 0.0 ? fmin(requested, threads) : threads;
    return threads > 1.0 && isfinite(bb_address_space_left());
}

void bb_address_space_restart(char *const *arguments, const char *const *environment)
{
    static const char *entries[ENVIRONMENT] = {one_thread};
    const size_t name = sizeof one_thread - 2; // including the '=' sign
    size_t count = 1;
    for (const char *const *entry = environment; *entry != NULL; ++entry) {
        if (count == ENVIRONMENT - 1) {
            return;
        }
        if (strncmp(*entry, one_thread, name) != 0) {
            entries[count++] = *entry;
        }
    }
    (void)execve("/proc/self/exe", arguments, (char *const *)(uintptr_t)entries);
}

void *bb_address_space_share(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

void bb_address_space_unshare(void *block, size_t bytes)
{
    if (block != NULL) {
        (void)munmap(block, bytes);
    }
}

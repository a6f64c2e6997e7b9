// SPDX-License-Identifier: Apache-2.0
#include "sim/address_space.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Decimal digits at the start of a text; 0 where there are none.
static double leading_number(const char *text)
{
    double value = 0.0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        value = 10.0 * value + (double)(*text - '0');
    }
    return value;
}

// Bytes that are mapped now; infinite where the system does not say.
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

bool bb_address_space_holds(double bytes)
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
    // glibc's heap of a thread, and as much again where its start is aligned.
    const double heap = 2.0 * (double)(1 << 26);
    return (double)count * BB_ADDRESS_SPACE_BLAS_BYTES +
           (double)(count - 1) * (stack_bytes() + heap);
}

double bb_address_space_at_load(const char *const *environment)
{
    // In the order that OpenBLAS reads them.
    static const char *const names[] = {
        "OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_NUM_THREADS="};
    cpu_set_t set;
    CPU_ZERO(&set);
    double threads = sched_getaffinity(0, sizeof set, &set) == 0 ? (double)CPU_COUNT(&set) : 1.0;
    double asked = 0.0;
    for (size_t n = 0; n < sizeof names / sizeof *names && asked == 0.0; ++n) {
        const size_t length = strlen(names[n]);
        for (const char *const *entry = environment; *entry != NULL; ++entry) {
            asked =
                strncmp(*entry, names[n], length) == 0 ? leading_number(*entry + length) : asked;
        }
    }
    threads = asked > 0.0 ? fmin(asked, threads) : threads;
    return (threads - 1.0) * (BB_ADDRESS_SPACE_BLAS_BYTES + stack_bytes());
}

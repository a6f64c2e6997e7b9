// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/ao/keeping.h"

int collected = -1;
int end_in;
int end_by;

int rename(const char *source, const char *target)
{
    char name[32];
    const int renamed = renameat(AT_FDCWD, source, AT_FDCWD, target);
    if (renamed == 0 && collected >= 0 && strcmp(target, "steps") == 0) {
        (void)snprintf(name, sizeof name, "seen-%d", ++collected);
        (void)unlink(name);
        assert_int_equal(link(target, name), 0);
    }
    if (renamed == 0 && end_in > 0 && strcmp(target, "state") == 0 && --end_in == 0) {
        struct stat about;
        assert_int_equal(stat(target, &about), 0);
        const struct rlimit limit = {(rlim_t)about.st_size + 4096, RLIM_INFINITY};
        assert_int_equal(end_by == 0 ? setrlimit(RLIMIT_FSIZE, &limit) : 0, 0);
        (void)(end_by == 0 ? 0 : raise(end_by));
    }
    return renamed;
}

// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <time.h>

double bb_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bb_clock_utc(char *out)
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    (void)strftime(out, 21, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

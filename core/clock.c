// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static int64_t system_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool system_sleep_until(int64_t ns)
{
    const struct timespec end = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return ns <= system_ns() ||
           clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != EINTR;
}

static const bb_clock system_clock = {system_ns, system_sleep_until};
static const bb_clock *clock_read = &system_clock;

void bb_clock_set(const bb_clock *clock)
{
    clock_read = clock == NULL ? &system_clock : clock;
}

int64_t bb_clock_ns(void)
{
    return clock_read->ns();
}

double bb_clock_seconds(void)
{
    return 1e-9 * (double)bb_clock_ns();
}

bool bb_clock_sleep_until(int64_t ns)
{
    return clock_read->sleep_until(ns);
}

void bb_clock_utc(char *out)
{
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    (void)strftime(out, 21, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

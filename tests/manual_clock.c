// SPDX-License-Identifier: Apache-2.0
#include "tests/manual_clock.h"

#include <stddef.h>

int64_t manual_ns;

int64_t manual_clock_read(void)
{
    return manual_ns += MANUAL_READING_NS;
}

bool manual_clock_sleep(int64_t ns)
{
    manual_ns = ns > manual_ns ? ns : manual_ns;
    return true;
}

void manual_clock_start(void)
{
    static const bb_clock clock = {manual_clock_read, manual_clock_sleep};
    manual_ns = 1000000000;
    bb_clock_set(&clock);
}

void manual_clock_advance(int64_t ns)
{
    manual_ns += ns;
}

void manual_clock_stop(void)
{
    bb_clock_set(NULL);
}

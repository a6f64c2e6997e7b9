// SPDX-License-Identifier: Apache-2.0
#include "tests/manual_clock.h"

#include <signal.h>
#include <stddef.h>

static const int64_t late_ns = 2500000;
static const int64_t polled_ns =
    150000; // sleeps end this long before a release; the rest is polled

int64_t manual_ns;
manual_events manual_event;

int64_t manual_clock_read(void)
{
    manual_events *event = &manual_event;
    manual_ns += MANUAL_READING_NS;
    if (event->signal_ns > 0 && manual_ns > event->signal_ns) {
        event->signal_ns = 0;
        (void)raise(SIGINT);
    }
    if (event->slow_ns > 0 && manual_ns > event->slow_ns) {
        event->slow_ns = 0;
        manual_ns += late_ns;
    }
    return manual_ns;
}

bool manual_clock_sleep(int64_t ns)
{
    manual_events *event = &manual_event;
    if (ns > manual_ns) {
        manual_ns = ns;
        event->sleeps += 1;
        event->slow_ns = event->sleeps == event->slow_sleep
                             ? ns + polled_ns + 3 * MANUAL_READING_NS / 2
                             : event->slow_ns;
        if (event->sleeps == event->signal_sleep) {
            (void)raise(event->signal == 0 ? SIGINT : event->signal);
        }
    }
    return true;
}

void manual_clock_start(void)
{
    static const bb_clock clock = {manual_clock_read, manual_clock_sleep};
    manual_ns = 1000000000;
    manual_event = (manual_events){0};
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

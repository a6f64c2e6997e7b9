// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "tests/check.h"
#include "tests/manual_clock.h"

#include <signal.h>
#include <sys/time.h>

TEST(seconds_do_not_run_backwards)
{
    double last = bb_clock_seconds();
    for (int i = 0; i < 1000; ++i) {
        double now = bb_clock_seconds();
        assert_true(now >= last);
        last = now;
    }
}

TEST(a_clock_can_be_set)
{
    manual_clock_start();
    manual_clock_advance(500000000);
    assert_int_equal(bb_clock_ns(), 1500000000 + MANUAL_READING_NS);
    assert_true(bb_clock_sleep_until(3000000000));
    check_close(bb_clock_seconds(), 3.0 + 1e-9 * MANUAL_READING_NS, 1e-12, 1.0);
    manual_clock_stop();
    assert_true(bb_clock_ns() != 3000000000 + 2 * MANUAL_READING_NS);
}

static void wake(int number)
{
    (void)number;
}

// Times in the past return at once; times in the future are reached unless a signal arrives.
TEST(sleep_ends_when_it_should)
{
    const struct sigaction caught = {.sa_handler = wake};
    assert_int_equal(sigaction(SIGALRM, &caught, NULL), 0);
    const int64_t now = bb_clock_ns();
    assert_true(bb_clock_sleep_until(now - 1));
    assert_true(bb_clock_sleep_until(now + 2000000));
    assert_true(bb_clock_ns() >= now + 2000000);
    const struct itimerval often = {{0, 20000}, {0, 20000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_false(bb_clock_sleep_until(now + 86400000000000));
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
}

TEST(utc_is_iso_8601)
{
    int year, month, day, hour, minute, second;
    char zone = '\0';
    char text[21];
    bb_clock_utc(text);
    assert_int_equal(strlen(text), 20);
    assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%c", &year, &month, &day, &hour, &minute,
                            &second, &zone),
                     7);
    assert_int_equal(zone, 'Z');
    assert_true(year >= 2024);
}

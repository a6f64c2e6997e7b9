// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "tests/check.h"

static void seconds_do_not_run_backwards(void **state)
{
    (void)state;
    double last = bb_clock_seconds();
    for (int i = 0; i < 1000; ++i) {
        double now = bb_clock_seconds();
        assert_true(now >= last);
        last = now;
    }
}

static void utc_is_iso_8601(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_do_not_run_backwards),
        cmocka_unit_test(utc_is_iso_8601),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

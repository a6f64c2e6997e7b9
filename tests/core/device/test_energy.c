// SPDX-License-Identifier: Apache-2.0
//
// Energy by RAPL counters, on a file tree that the test changes, with a simulated clock.
#include "core/device/energy.h"
#include "tests/first_device.h"
#include "tests/powercap_tree.h"

static char reason[200];
static const double WORK_WATTS = 100.0;
static const double HARD_WATTS = 900.0;

// 0.7 ms of work: not a multiple of the counter's ticks.
static bb_status work(void *context)
{
    ++*(int *)context;
    powercap_pass(700000, WORK_WATTS);
    return BB_OK;
}

// At a power for which a counter wraps every 7 ms.
static bb_status work_hard(void *context)
{
    ++*(int *)context;
    powercap_pass(700000, HARD_WATTS);
    return BB_OK;
}

// 15 ms: the counter wraps twice.
static bb_status work_long(void *context)
{
    ++*(int *)context;
    powercap_pass(15000000, HARD_WATTS);
    return BB_OK;
}

static bb_status fail_at_once(void *context)
{
    (void)context;
    return bb_status_set(BB_IO, __FILE__, __LINE__, "no work");
}

static int enter(void **state)
{
    (void)state;
    powercap_start();
    bb_energy_set_root(powercap.root);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    bb_energy_set_root(NULL);
    return powercap_stop();
}

// The meter of the cpu, NULL with a reason if there is none. Owner: the caller.
static bb_energy_meter *open_meter(void)
{
    autoclose(bb_device) cpu = open_device(BB_DEVICE_CPU);
    bb_energy_meter *meter = NULL;
    check_ok(bb_energy_meter_open(cpu, reason, sizeof reason, &meter));
    return meter;
}

// Package and memory count, the cores within the package and the second driver's zones do not; both
// counters wrap several times, independently.
TEST(counters_add_up_through_their_ends, .setup_func = enter, .teardown_func = leave)
{
    double joules = 0.0;
    autoclose(bb_energy_meter) meter = open_meter();
    assert_non_null(meter);
    for (int second = 0; second < 300; ++second) {
        powercap_pass(20000000, WORK_WATTS);
        check_ok(bb_energy_meter_read(meter, &joules));
    }
    check_close(joules, 600.0, 1e-5, 600.0);
}

TEST(work_is_repeated_until_the_counter_tells, .setup_func = enter, .teardown_func = leave)
{
    bb_energy_cost cost;
    int calls = 0;
    autoclose(bb_energy_meter) meter = open_meter();
    check_ok(bb_energy_meter_measure(meter, work, &calls, &cost));
    assert_int_equal(cost.repetitions, calls);
    assert_true(0.7 * calls >= BB_ENERGY_TICKS && 0.7 * (calls - 2) < BB_ENERGY_TICKS);
    check_close(cost.idle_watts, POWERCAP_IDLE_WATTS, 0.01, POWERCAP_IDLE_WATTS);
    assert_null(cost.unknown);
    // 0.7 ms at 100 W; a move of the counter is seen up to a poll late.
    check_close(cost.joules, 0.07, 0.02, 0.07);
    assert_int_equal(bb_energy_meter_measure(meter, fail_at_once, NULL, &cost), BB_IO);
}

// 20 ms of work wrap the package's counter at least twice.
TEST(ends_of_the_counter_are_seen_between_repetitions, .setup_func = enter, .teardown_func = leave)
{
    bb_energy_cost cost;
    int calls = 0;
    autoclose(bb_energy_meter) meter = open_meter();
    check_ok(bb_energy_meter_measure(meter, work_hard, &calls, &cost));
    assert_true(0.75e6 * 0.7e-3 * calls * HARD_WATTS > 2.0 * POWERCAP_RANGE_UJ);
    check_close(cost.joules, 0.63, 0.05, 0.63);
}

// One wraparound too many within a repetition: NaN rather than a wrong number, and the next piece
// of work is measured again.
TEST(a_repetition_that_outlasts_the_counter_tells_nothing, .setup_func = enter,
     .teardown_func = leave)
{
    bb_energy_cost cost;
    int calls = 0;
    autoclose(bb_energy_meter) meter = open_meter();
    check_ok(bb_energy_meter_measure(meter, work_long, &calls, &cost));
    assert_true(isnan(cost.joules) && calls == 2);
    assert_non_null(strstr(cost.unknown, "wrap around twice"));
    check_close(cost.idle_watts, POWERCAP_IDLE_WATTS, 0.01, POWERCAP_IDLE_WATTS);
    check_ok(bb_energy_meter_measure(meter, work, &calls, &cost));
    check_close(cost.joules, 0.07, 0.02, 0.07);
}

TEST(a_counter_that_stands_still_tells_nothing, .setup_func = enter, .teardown_func = leave)
{
    bb_energy_cost cost;
    int calls = 0;
    autoclose(bb_energy_meter) meter = open_meter();
    powercap.still = true;
    check_ok(bb_energy_meter_measure(meter, work, &calls, &cost));
    assert_true(isnan(cost.joules));
    assert_string_equal(cost.unknown, "its energy counter does not move");
    assert_int_equal(calls, 0);
}

static bb_status stop_counter(void *context)
{
    (void)context;
    powercap.still = true;
    return work(context);
}

// Also if it moved before.
TEST(a_counter_that_stops_tells_nothing, .setup_func = enter, .teardown_func = leave)
{
    bb_energy_cost cost;
    int calls = 0;
    autoclose(bb_energy_meter) meter = open_meter();
    check_ok(bb_energy_meter_measure(meter, work, &calls, &cost));
    assert_true(cost.joules > 0.0);
    // During the measurement, and before it.
    for (int i = 0; i < 2; ++i) {
        check_ok(bb_energy_meter_measure(meter, stop_counter, &calls, &cost));
        assert_true(isnan(cost.joules));
        assert_string_equal(cost.unknown, "its energy counter does not move");
    }
}

TEST(what_is_missing_has_a_reason, .setup_func = enter, .teardown_func = leave)
{
    char path[200];
    bb_energy_meter *meter = NULL;
    bb_energy_set_root("/nowhere");
    meter = open_meter();
    assert_null(meter);
    assert_string_equal(reason, "no RAPL counters: /nowhere: No such file or directory");
    bb_energy_set_root(powercap.root);
    for (int zone = 0; zone < 2; ++zone) {
        (void)snprintf(path, sizeof path, "%s/%s/energy_uj", powercap.root,
                       zone == 0 ? "intel-rapl:0" : "intel-rapl:0:1");
        assert_int_equal(unlink(path), 0);
    }
    meter = open_meter();
    assert_null(meter);
    assert_non_null(strstr(reason, "cannot be read: usually only root may"));
}

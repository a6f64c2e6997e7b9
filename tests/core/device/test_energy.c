// SPDX-License-Identifier: Apache-2.0
//
// Joules by RAPL's counters, on a tree that the test makes and moves, and a clock that it sets.
#include "core/clock.h"
#include "core/device/energy.h"
#include "tests/check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// What the fake machine draws: idle, and more while it works; its counters move every millisecond.
enum { TICK_NS = 1000000, RANGE_UJ = 5000000 };
static const double IDLE_WATTS = 40.0;
static const double WORK_WATTS = 100.0;

static char root[64];
static double drawn_uj; // by now, without wrap-around
static int64_t now_ns;
static bool moving;

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_zone(const char *folder, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", root, folder);
    assert_int_equal(mkdir(path, 0777), 0);
    write_file(folder, "name", name);
    (void)snprintf(path, sizeof path, "%d\n", RANGE_UJ);
    write_file(folder, "max_energy_range_uj", path);
    write_file(folder, "energy_uj", "0\n");
}

// The package counts three quarters of it, the memory a quarter, each up to its range.
static void show_counters(void)
{
    char text[40];
    const double ticks = floor((double)now_ns / TICK_NS);
    static double shown_uj;
    static double shown_ticks = -1.0;
    if (moving && ticks != shown_ticks) {
        shown_ticks = ticks;
        shown_uj = drawn_uj;
    }
    (void)snprintf(text, sizeof text, "%.0f\n", fmod(floor(0.75 * shown_uj), RANGE_UJ));
    write_file("intel-rapl:0", "energy_uj", text);
    (void)snprintf(text, sizeof text, "%.0f\n", fmod(floor(0.25 * shown_uj), RANGE_UJ));
    write_file("intel-rapl:0:1", "energy_uj", text);
}

static void pass_time(int64_t ns, double watts)
{
    now_ns += ns;
    drawn_uj += 1e-3 * watts * (double)ns;
    show_counters();
}

static int64_t read_clock(void)
{
    return now_ns;
}

static bool sleep_until(int64_t ns)
{
    pass_time(ns > now_ns ? ns - now_ns : 0, IDLE_WATTS);
    return true;
}

// 0.7 ms of work: not a multiple of the counter's ticks.
static bb_status work(void *context)
{
    ++*(int *)context;
    pass_time(700000, WORK_WATTS);
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
    static const bb_clock clock = {read_clock, sleep_until};
    (void)snprintf(root, sizeof root, "/tmp/bitbudget-energy-XXXXXX");
    assert_non_null(mkdtemp(root));
    make_zone("intel-rapl:0", "package-0\n");
    make_zone("intel-rapl:0:0", "core\n");
    make_zone("intel-rapl:0:1", "dram\n");
    make_zone("intel-rapl-mmio:0", "package-0\n");
    write_file("intel-rapl:0:0", "energy_uj", "77\n");
    bb_clock_set(&clock);
    bb_energy_set_root(root);
    now_ns = 1;
    drawn_uj = 0.0;
    moving = true;
    return 0;
}

static int leave(void **state)
{
    (void)state;
    char command[120];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    bb_clock_set(NULL);
    bb_energy_set_root(NULL);
    return system(command);
}

static void open_meter(bb_energy_meter **meter, char reason[200])
{
    bb_device *cpu = NULL;
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &cpu));
    check_ok(bb_energy_meter_open(cpu, reason, 200, meter));
    bb_device_close(&cpu);
}

// Package and memory count, the cores within the package and the second driver's zones do not; both
// counters wrap several times, at times of their own.
static void counters_add_up_through_their_ends(void **state)
{
    (void)state;
    char reason[200] = "";
    double joules = 0.0;
    bb_energy_meter *meter = NULL;
    open_meter(&meter, reason);
    assert_non_null(meter);
    for (int second = 0; second < 300; ++second) {
        pass_time(20000000, WORK_WATTS);
        check_ok(bb_energy_meter_read(meter, &joules));
    }
    check_close(joules, 600.0, 1e-5, 600.0);
    bb_energy_meter_close(&meter);
}

static void work_is_repeated_until_the_counter_tells(void **state)
{
    (void)state;
    char reason[200] = "";
    bb_energy_meter *meter = NULL;
    bb_energy_cost cost;
    int calls = 0;
    open_meter(&meter, reason);
    check_ok(bb_energy_meter_measure(meter, work, &calls, &cost));
    assert_int_equal(cost.repetitions, calls);
    assert_true(0.7 * calls >= BB_ENERGY_TICKS && 0.7 * (calls - 2) < BB_ENERGY_TICKS);
    check_close(cost.idle_watts, IDLE_WATTS, 0.01, IDLE_WATTS);
    // 0.7 ms at 100 W; a move of the counter is seen up to a poll late.
    check_close(cost.joules, 0.07, 0.02, 0.07);
    assert_int_equal(bb_energy_meter_measure(meter, fail_at_once, NULL, &cost), BB_IO);
    bb_energy_meter_close(&meter);
}

static void a_counter_that_stands_still_tells_nothing(void **state)
{
    (void)state;
    char reason[200] = "";
    bb_energy_meter *meter = NULL;
    bb_energy_cost cost;
    int calls = 0;
    open_meter(&meter, reason);
    moving = false;
    check_ok(bb_energy_meter_measure(meter, work, &calls, &cost));
    assert_true(isnan(cost.joules));
    assert_int_equal(calls, 0);
    bb_energy_meter_close(&meter);
}

static void what_is_missing_has_a_reason(void **state)
{
    (void)state;
    char reason[200] = "";
    char path[200];
    bb_energy_meter *meter = NULL;
    bb_energy_set_root("/nowhere");
    open_meter(&meter, reason);
    assert_null(meter);
    assert_string_equal(reason, "no RAPL counters: /nowhere: No such file or directory");
    bb_energy_set_root(root);
    for (int zone = 0; zone < 2; ++zone) {
        (void)snprintf(path, sizeof path, "%s/%s/energy_uj", root,
                       zone == 0 ? "intel-rapl:0" : "intel-rapl:0:1");
        assert_int_equal(unlink(path), 0);
    }
    open_meter(&meter, reason);
    assert_null(meter);
    assert_non_null(strstr(reason, "cannot be read: root alone may"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counters_add_up_through_their_ends, enter, leave),
        cmocka_unit_test_setup_teardown(work_is_repeated_until_the_counter_tells, enter, leave),
        cmocka_unit_test_setup_teardown(a_counter_that_stands_still_tells_nothing, enter, leave),
        cmocka_unit_test_setup_teardown(what_is_missing_has_a_reason, enter, leave),
    };
    return cmocka_run_group_tests_name("energy", tests, NULL, NULL);
}

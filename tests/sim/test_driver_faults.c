// SPDX-License-Identifier: Apache-2.0
//
// Allocations of a whole run of both drivers fail in turn: an error of memory, nothing kept, no
// crash. Every one for ao and for wafer with finite elements. A wafer run with the kernel, which
// makes the same and a tenth of a second of tables, is walked in strides; so are all on two
// threads, where the order is another one.
#include "core/clock.h"
#include "tests/sim/driver.h"

// Fails the k-th allocation of a run; returns whether there was one.
static bool fail_one(const bb_config *config, bb_index threads, bb_index k)
{
    bb_results *results = NULL;
    bb_index blocks = bb_memory_blocks();
    bb_memory_fail_at(k);
    bb_status status = driver_run_loaded(config, threads, &results);
    bool happened = bb_memory_failure_happened() != 0;
    bb_memory_fail_at(0);
    if (status != (happened ? BB_MEMORY : BB_OK)) {
        print_error("allocation %td: %s, '%s'\n%s", k, bb_status_name(status), bb_status_message(),
                    bb_status_trace_text());
        fail();
    }
    bb_results_destroy(&results);
    bb_threads_stop();
    assert_int_equal(bb_memory_blocks(), blocks);
    return happened;
}

// Fails the 1st, the (1 + stride)th, ... allocation until a run gets by without it.
static void walk(const driver_case *of, bb_index threads, bb_index stride)
{
    bb_config *config = NULL;
    check_ok(driver_load(of, &config));
    double begin = bb_clock_seconds();
    bb_index k = 1;
    while (fail_one(config, threads, k)) {
        k += stride;
    }
    print_message("%td allocations at least, every %td%s failed in turn on %td thread(s), %.1f s\n",
                  k - stride, stride, stride == 1 ? "st" : "th", threads,
                  bb_clock_seconds() - begin);
    assert_true(k > 100);
    bb_config_destroy(&config);
}

static void every_allocation_of_an_ao_run_fails_once(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
          "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
          "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"}
    };
    walk(&of, 1, 1);
    walk(&of, 2, 37);
}

#define WAFER_TINY                                                                                 \
    "mesh.spacing_mm=10.0", "clamp.spacing_mm=10.0", "scan.fields=[1]", "scan.light_steps=2",      \
        "scan.dark_steps=1", "response.grid={columns: 8, rows: 7}",                                \
        "response.slit_points={columns: 2, rows: 3}", "metrology={columns: 2, rows: 2}",           \
        "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, {name: "   \
        "e4m3, storage: e4m3, scale: row, multiply: fp32, accumulate: fp32}]"

static void allocations_of_a_wafer_run_fail_in_turn(void **state)
{
    (void)state;
    const driver_case of = {CONFIG_WAFER_SMALL, {WAFER_TINY}};
    walk(&of, 1, 13);
    walk(&of, 2, 37);
}

static void every_allocation_of_a_finite_element_run_fails_once(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_WAFER_SMALL, {WAFER_TINY, "response.generator=fem", "response.axes=[x, y]"}
    };
    walk(&of, 1, 1);
    walk(&of, 2, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_an_ao_run_fails_once),
        cmocka_unit_test(allocations_of_a_wafer_run_fail_in_turn),
        cmocka_unit_test(every_allocation_of_a_finite_element_run_fails_once),
    };
    bb_log_set_level(BB_LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}

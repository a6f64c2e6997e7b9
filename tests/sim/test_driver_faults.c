// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of a whole run of both drivers fails once: an error of memory, nothing kept, no
// crash. Every one up to the 300th in turn, later ones in strides of a prime where there are
// thousands; on one thread, and in strides on two.
#include "core/clock.h"
#include "tests/sim/driver.h"

enum { EVERY = 300, MOST_RUNS = 500 };

// Fails the k-th allocation of a run; returns whether there was one.
static bool fail_one(const bb_config *config, bb_index threads, bb_index k)
{
    bb_results *results = NULL;
    // The pool of threads stands before, so that only the run is counted.
    check_ok(bb_threads_set(threads));
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
    assert_int_equal(bb_memory_blocks(), blocks);
    return happened;
}

// How many allocations a run makes.
static bb_index count_allocations(const bb_config *config)
{
    bb_index low = 1;
    bb_index high = 2;
    while (fail_one(config, 1, high)) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        bb_index middle = low + (high - low) / 2;
        if (fail_one(config, 1, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void walk(const driver_case *of)
{
    bb_config *config = NULL;
    check_ok(driver_load(of, &config));
    double begin = bb_clock_seconds();
    bb_index count = count_allocations(config);
    bb_index stride = count <= MOST_RUNS ? 1 : (count - EVERY) / (MOST_RUNS - EVERY) + 1;
    bb_index runs = 0;
    for (bb_index k = 1; k <= count; k += k < EVERY ? 1 : stride) {
        assert_true(fail_one(config, 1, k));
        ++runs;
    }
    // On two threads the order is another one, the number is the same.
    for (bb_index k = 2; k <= count; k += count / 40 + 1) {
        assert_true(fail_one(config, 2, k));
    }
    print_message("%td allocations, %td of them failed in turn (from %d on every %tdth), %.1f s\n",
                  count, runs, (int)EVERY, stride, bb_clock_seconds() - begin);
    assert_true(count > 100);
    bb_config_destroy(&config);
}

static void every_allocation_of_an_ao_run_fails_once(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
          "wavelengths_um=[1.65]", "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"}
    };
    walk(&of);
}

#define WAFER_TINY                                                                                 \
    "mesh.spacing_mm=10.0", "clamp.spacing_mm=10.0", "scan.fields=[1]", "scan.light_steps=2",      \
        "scan.dark_steps=1", "response.grid={columns: 8, rows: 7}",                                \
        "response.slit_points={columns: 2, rows: 3}", "metrology={columns: 2, rows: 2}",           \
        "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, {name: "   \
        "e4m3, storage: e4m3, scale: row, multiply: fp32, accumulate: fp32}]"

static void every_allocation_of_a_wafer_run_fails_once(void **state)
{
    (void)state;
    const driver_case of = {CONFIG_WAFER_SMALL, {WAFER_TINY}};
    walk(&of);
}

static void every_allocation_of_a_finite_element_run_fails_once(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_WAFER_SMALL, {WAFER_TINY, "response.generator=fem", "response.axes=[x, y]"}
    };
    walk(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_an_ao_run_fails_once),
        cmocka_unit_test(every_allocation_of_a_wafer_run_fails_once),
        cmocka_unit_test(every_allocation_of_a_finite_element_run_fails_once),
    };
    bb_log_set_level(BB_LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}

// SPDX-License-Identifier: Apache-2.0
//
// Observed orders of the heat, as printed by `bitbudget convergence`.
#include "sim/wafer/wafer_experiment.h"
#include "tests/sim/driver.h"

// Order of the last level of a study.
static double last_order(const bb_results *results, const char *study)
{
    const bb_dataset *names = driver_dataset(results, "study");
    const bb_dataset *orders = driver_dataset(results, "order");
    for (bb_index i = names->count - 1; i >= 0; --i) {
        if (strcmp(names->texts[i], study) == 0) {
            return orders->numbers[i];
        }
    }
    print_error("no study %s\n", study);
    fail();
    return 0.0;
}

static double largest_error(const bb_results *results, const char *study)
{
    const bb_dataset *names = driver_dataset(results, "study");
    const bb_dataset *errors = driver_dataset(results, "error");
    double largest = 0.0;
    for (bb_index i = 0; i < names->count; ++i) {
        if (strcmp(names->texts[i], study) == 0) {
            largest = fmax(largest, errors->numbers[i]);
        }
    }
    return largest;
}

TEST_FULL(orders_are_those_of_the_theory)
{
    static const struct {
        const char *study;
        double order, tolerance;
    } expected[] = {
        {"cosine in space, closed form", 2.0, 0.01},
        {"cosine in time, explicit", 1.0, 0.01},
        {"cosine in time, crank-nicolson", 2.0, 0.01},
        {"field in space, end of dark", 2.0, 0.3},
        {"field in time, explicit, end of light", 1.0, 0.1},
        {"field in time, explicit, end of dark", 1.0, 0.05},
        {"field in time, crank-nicolson, end of light", 2.0, 0.3},
        {"field in time, crank-nicolson, end of dark", 2.0, 0.3},
    };
    const driver_case test_case = {
        CONFIG_WAFER_SMALL,
        {"scan.usable_radius_mm=60", "wafer.diameter_mm=120", "mesh.spacing_mm=2.0",
         "mesh.step_ms=1.0", "hood.exchange_w_per_m2_k=300", "ring.width_mm=8.0",
         "scan.light_steps=80", // a point is under the slit for 3.4 ms: several steps
         "scan.fields=all"}};
    autorelease(bb_text) table = {0};
    check_ok(bb_threads_set(2));
    autoptr(bb_config) config = driver_config(&test_case);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_wafer_experiment_converge(bb_config_study(config), results, &table));
    (void)fputs(bb_text_string(&table), stdout);
    driver_check_declared(&bb_wafer_experiment, results);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        check_close(last_order(results, expected[i].study), expected[i].order,
                    expected[i].tolerance, 1.0);
    }
    // The staircase of the rim changes by less than a cell: a small error without order.
    assert_true(largest_error(results, "mode in space, closed form") < 3e-3);
    assert_non_null(strstr(bb_text_string(&table), "crank-nicolson"));
}

TEST_GROUP(.is_quiet = true);

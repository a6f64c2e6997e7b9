// SPDX-License-Identifier: Apache-2.0
//
// The wafer's loop on a GPU against the offline path on the cpu, and the harness that times it.
#include "tests/sim/wafer/loop_parity.h"

static void the_loop_agrees_with_the_offline_path(void **state)
{
    (void)state;
    check_parity(BB_DEVICE_CUDA);
}

static void the_harness_measures_every_step(void **state)
{
    (void)state;
    static const char *const releases[] = {"realtime={release: fixed, steps: 300}",
                                           "realtime={release: back_to_back, steps: 300}"};
    for (int i = 0; i < 2; ++i) {
        const driver_case of = {
            CONFIG_WAFER_SMALL,
            {"device=cuda", PIPELINES, releases[i], "realtime.warm_up_steps=20",
              "realtime.pipeline=e4m3"}
        };
        bb_config *config = NULL;
        bb_results *results = NULL;
        bb_text table = {0};
        check_ok(bb_threads_set(2));
        check_ok(driver_load(&of, &config));
        check_ok(bb_results_create(&results));
        check_ok(bb_wafer_realtime_run(bb_config_study(config), results, &table));
        print_message("%s", bb_text_string(&table));
        const double *steps = driver_dataset(results, "steps")->numbers;
        assert_true(steps[0] == 300.0 && steps[1] + steps[2] + steps[3] == 300.0);
        assert_true(steps[1] > 0.0 && steps[2] > 0.0 && steps[3] > 0.0);
        assert_true(driver_dataset(results, "latency_p50_us")->numbers[0] > 0.0);
        bb_results_destroy(&results);
        bb_text_release(&table);
        bb_config_destroy(&config);
    }
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_agrees_with_the_offline_path),
        cmocka_unit_test(the_harness_measures_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}

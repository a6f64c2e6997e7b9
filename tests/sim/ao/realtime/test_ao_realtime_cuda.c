// SPDX-License-Identifier: Apache-2.0
//
// The loop of an ao study on a GPU: its frames against those of the cpu by fp64 products, in every
// form of storage that a GPU multiplies, of the study and drawn, and the command's table.
#include "sim/ao/realtime/ao_realtime.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp}, {name: p, arithmetic: dp, storage: %s, "        \
    "filter: "                                                                                     \
    "means, slopes: {bits: 14}}]"

static void frames_are_those_of_the_cpu(void **state)
{
    static const char *const storages[] = {"fp32",
                                           "{codec: fp16, rounding: sweep}",
                                           "{codec: bfp, bits: 8}",
                                           "{codec: bfp, bits: 4}",
                                           "{codec: integer, bits: 8, rounding: sweep}",
                                           "{codec: integer, bits: 5}",
                                           "{codec: quantiser, tolerance: 1.0e-3}",
                                           "e5m2"};
    static const char *const sizes[] = {"title=x", "realtime.size={commands: 60, slopes: 401}"};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof storages / sizeof *storages; ++k) {
        char pipelines[256];
        (void)snprintf(pipelines, sizeof pipelines, PIPELINES, storages[k / 2]);
        const driver_case study = {CONFIG_AO_SMALL,
                                   {"device=cuda", "solver.tile=128", pipelines, sizes[k % 2],
                                    "realtime.frames=300", "realtime.rate_hz=0",
                                    "realtime.delay_frames=1", "realtime.controller=integrator"}};
        bb_config *config = NULL;
        bb_results *results = NULL;
        bb_text table = {0};
        check_ok(bb_threads_set(2));
        check_ok(driver_load(&study, &config));
        check_ok(bb_results_create(&results));
        check_ok(bb_ao_realtime_run(bb_config_study(config), results, &table));
        const double distance = bb_results_find(results, "results/commands_distance")->numbers[0];
        print_message("%s, %s: %.2g\n", storages[k / 2], sizes[k % 2], distance);
        assert_true(distance < 2e-6);
        assert_true(bb_results_find(results, "results/held_frames")->numbers[0] == 0.0);
        assert_true(bb_results_find(results, "results/steps")->numbers[0] == 300.0);
        bb_text_release(&table);
        bb_results_destroy(&results);
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
        cmocka_unit_test(frames_are_those_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}

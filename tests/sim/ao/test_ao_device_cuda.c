// SPDX-License-Identifier: Apache-2.0
//
// nx456 on a cuda device against the cpu: Strehl ratios of every arithmetic, and targets in parts.
#include "core/device.h"
#include "tests/check.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp, device: cpu}, {name: dp, arithmetic: dp}, "      \
    "{name: sp, arithmetic: sp}, {name: x3, arithmetic: x3}, {name: tf32, arithmetic: tf32}, "     \
    "{name: hp1, arithmetic: hp1}, "                                                               \
    "{name: narrow, arithmetic: hp1, policy: {diagonal: follow}, sweeps: follow}, "                \
    "{name: band, arithmetic: hp1, policy: {kind: band, width: 3, inside: x3}}]"

static void strehl_ratios_agree_with_the_cpu(void **state)
{
    (void)state;
    static const struct {
        const char *pipeline;
        double error;
    } cases[] = {
        {"dp",     1e-10},
        {"sp",     1e-5 },
        {"x3",     1e-5 },
        {"tf32",   5e-3 },
        {"hp1",    5e-3 },
        {"narrow", 2e-2 },
        {"band",   5e-3 },
    };
    const driver_case of = {
        CONFIG_NX456, {"device=cuda", "solver.tile=128", PIPELINES}
    };
    bb_results *results = driver_results(&of);
    assert_string_equal(driver_text(results, "device", "reference"), "cpu");
    check_relative(driver_number(results, "strehl", "reference"), 0.81350, 1e-5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_string_equal(driver_text(results, "device", cases[i].pipeline), "cuda");
        assert_string_equal(driver_text(results, "status", cases[i].pipeline), "ok");
        double error = driver_number(results, "qoi_relative_error", cases[i].pipeline);
        print_message("%s: %.2e\n", cases[i].pipeline, error);
        check_close(error, 0.0, cases[i].error, 1.0);
    }
    bb_results_destroy(&results);
}

static void a_device_that_is_too_small_is_told_before_any_work(void **state)
{
    (void)state;
    const driver_case of = {BB_SOURCE_DIR "/configs/ao/mosaic-100368.yaml",
                            {"sensors.lenslets=400"}};
    bb_results *results = NULL;
    check_fails(driver_run(&of, 1, &results), BB_MEMORY, "are free");
}

int main(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strehl_ratios_agree_with_the_cpu),
        cmocka_unit_test(a_device_that_is_too_small_is_told_before_any_work),
    };
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}

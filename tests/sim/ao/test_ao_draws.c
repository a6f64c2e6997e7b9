// SPDX-License-Identifier: Apache-2.0
//
// Draws of factorizations: the distribution of a loss, on a case near breakdown.
#include "sim/output/summary.h"
#include "tests/sim/driver.h"

#define PIPELINE(name, arithmetic, count)                                                          \
    "{name: " name ", arithmetic: " arithmetic ", draws: " count "}"

enum { MEMBERS = 16 };

TEST_FULL(draw_0_is_the_study_without_draws)
{
    static const char *const same[] = {"strehl", "strehl_loss", "qoi_relative_error", "flops",
                                       "operator_bytes"};
    const driver_case drawn = {CONFIG_NX456,
                               {"pipelines=[" PIPELINE("reference", "dp", "4") ", " PIPELINE(
                                    "hp1", "hp1", "1") ", " PIPELINE("hp2", "hp2", "4") "]",
                                NULL}};
    autoptr(bb_results) plain = driver_results(
        CASE(CONFIG_NX456, {"pipelines=[" PIPELINE("reference", "dp", "1") ", " PIPELINE(
                                "hp1", "hp1", "1") ", " PIPELINE("hp2", "hp2", "1") "]",
                            NULL}));
    autoptr(bb_results) four = driver_results(&drawn);
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        const bb_dataset *expected = driver_dataset(plain, same[i]);
        const bb_dataset *got = driver_dataset(four, same[i]);
        assert_memory_equal(got->numbers, expected->numbers, (size_t)got->count * sizeof(double));
    }
    assert_true(driver_number(plain, "loss_worst", "hp2") ==
                driver_number(plain, "strehl_loss", "hp2"));
    assert_true(driver_number(four, "loss_worst", "hp2") >=
                driver_number(four, "strehl_loss", "hp2"));
    assert_true(driver_number(four, "loss_std", "hp2") > 1e-5);
    assert_true(isnan(driver_number(four, "loss_std", "hp1")));
    // Draws of dp agree.
    assert_true(driver_number(four, "loss_std", "reference") < 1e-12);
    assert_true(fabs(driver_number(four, "loss_worst", "reference")) < 1e-12);
    driver_check_threads(&drawn);
}

TEST_FULL(some_draws_lost_are_unsafe)
{
    autorelease(bb_text) table = {0};
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_NX456, {"pipelines=[" PIPELINE("reference", "dp", "1") ", " PIPELINE(
                               "hp3", "hp3", "32") ", " PIPELINE("bf16", "bf16", "4") "]"}));
    double failed = driver_number(results, "draws_failed", "hp3");
    print_message("hp3: %.0f of 32, bound %.2f, %s\n", failed,
                  driver_number(results, "failure_bound", "hp3"),
                  driver_text(results, "status_detail", "hp3"));
    assert_true(failed > 0.0 && failed < 32.0);
    assert_string_equal(driver_text(results, "status", "hp3"), "unsafe");
    assert_true(driver_number(results, "failure_bound", "hp3") > failed / 32.0);
    assert_true(isfinite(driver_number(results, "loss_worst", "hp3")));
    assert_string_equal(driver_text(results, "status", "bf16"), "not_spd");
    assert_true(driver_number(results, "failure_bound", "bf16") == 1.0);
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "ao"), results, NAN, &table));
    assert_non_null(strstr(table.data, "\n  hp3        unsafe"));
    assert_non_null(strstr(table.data, "strehl loss (worst draw)"));
}

// Mean and spread of a loss over the draws of one matrix, and over problems with indistinguishable
// outer scales, within 0.045 % of 25 m. Both use dithered rows: without dither, the ensemble rounds
// coherently and draws do not (docs/manual/precision.md, 6.5).
TEST_FULL(draws_agree_with_an_ensemble_of_problems)
{
    double losses[MEMBERS];
    double mean = 0.0;
    double deviation = 0.0;
    for (int i = 0; i < MEMBERS; ++i) {
        char scale[64];
        (void)snprintf(scale, sizeof scale, "atmosphere.outer_scale_m=%.7f",
                       25.0 * (1.0 + 0.00045 * (2.0 * (i + 0.5) / MEMBERS - 1.0)));
        autoptr(bb_results) results = driver_results(CASE(
            CONFIG_NX456,
            {scale, "solver.dither=0.04",
             "pipelines=[" PIPELINE("reference", "dp", "1") ", " PIPELINE("hp2", "hp2", "1") "]"}));
        losses[i] = driver_number(results, "strehl_loss", "hp2");
        mean += losses[i] / MEMBERS;
    }
    for (int i = 0; i < MEMBERS; ++i) {
        deviation += (losses[i] - mean) * (losses[i] - mean) / (MEMBERS - 1);
    }
    deviation = sqrt(deviation);
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_NX456,
        {"solver.dither=0.04",
         "pipelines=[" PIPELINE("reference", "dp", "1") ", " PIPELINE("hp2", "hp2", "64") "]"}));
    double drawn_mean = driver_number(results, "loss_mean", "hp2");
    double drawn_deviation = driver_number(results, "loss_std", "hp2");
    print_message("problems %.3e +- %.1e, draws %.3e +- %.1e\n", mean, deviation, drawn_mean,
                  drawn_deviation);
    check_relative(drawn_mean, mean, 0.1);
    assert_true(drawn_deviation > 0.5 * deviation && drawn_deviation < 2.5 * deviation);
}

// A max_loss that draw 0 just meets is exceeded if other draws are worse.
TEST_FULL(max_loss_is_met_in_every_draw)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_NX456,
             {"pipelines=[{name: reference, arithmetic: dp}, {name: one, arithmetic: hp2, "
              "max_loss: 2e-3, search: {inside: x3}}, {name: many, arithmetic: hp2, draws: "
              "8, max_loss: 2e-3, search: {inside: x3}}]",
              "solver.dither=0"}));
    print_message("one: %s\nmany: %s\n", driver_text(results, "status_detail", "one"),
                  driver_text(results, "status_detail", "many"));
    assert_true(driver_number(results, "loss_worst", "many") <= 2e-3);
    assert_true(driver_number(results, "draws", "many") == 8.0);
    assert_true(driver_number(results, "draws_failed", "many") == 0.0);
    assert_true(driver_number(results, "draws", "one") == 1.0);
    assert_true(driver_number(results, "relative_cost", "many") >
                driver_number(results, "relative_cost", "one"));
}

// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a pipeline's draws, from given losses.
#include "sim/pipelines/evaluation.h"
#include "tests/sim/driver.h"

static const bb_outcome fine = {BB_OUTCOME_OK, ""};
static const bb_outcome lost = {BB_OUTCOME_NOT_SPD, "tile (3, 3)"};

TEST(the_bound_is_clopper_and_pearsons)
{
    bb_draws draws = {0};
    assert_true(isnan(bb_draws_failure_bound(&draws)));
    for (int d = 0; d < 16; ++d) {
        bb_draws_add(&draws, &fine, 0.0);
    }
    // None of n: (1 - p)^n = 0.05.
    check_relative(bb_draws_failure_bound(&draws), 1.0 - pow(0.05, 1.0 / 16.0), 1e-10);
    draws.failed = 15; // all but one: 1 - p^n = 0.05
    check_relative(bb_draws_failure_bound(&draws), pow(0.95, 1.0 / 16.0), 1e-10);
    draws.failed = 16;
    assert_true(bb_draws_failure_bound(&draws) == 1.0);
    // 3 of 10, as in tables of exact binomial limits.
    draws.tried = 10;
    draws.failed = 3;
    check_close(bb_draws_failure_bound(&draws), 0.6066, 5e-5, 1.0);
}

static void publish(bb_results *results, const bb_draws *draws)
{
    bb_evaluation evaluation = bb_evaluation_start("a");
    const bb_evaluations evaluations = {&evaluation, sizeof evaluation, 1, NULL};
    evaluation.draws = *draws;
    check_ok(bb_evaluations_publish(&evaluations, "nm", results));
}

TEST(moments_are_of_the_draws_that_finished)
{
    bb_draws draws = {0};
    bb_draws_add(&draws, &fine, 5.0);
    bb_draws_add(&draws, &lost, 100.0); // a loss that does not count
    bb_draws_add(&draws, &fine, 7.0);
    bb_draws_add(&draws, &fine, 6.0);
    bb_draws_relate(&draws, 10.0, -1.0); // 5, 3, 4
    bb_draws same = {0};
    bb_draws_add(&same, &fine, 10.0);
    bb_draws_relate(&same, 10.0, -1.0);
    assert_false(signbit(same.losses[0]));
    assert_true(isnan(bb_draws_worst(&draws)) && bb_draws_worst(&same) == 0.0); // one failed
    autoptr(bb_results) results = empty_results();
    publish(results, &draws);
    assert_true(driver_number(results, "draws", "a") == 4.0);
    assert_true(driver_number(results, "draws_failed", "a") == 1.0);
    check_relative(driver_number(results, "loss_mean", "a"), 4.0, 1e-15);
    check_relative(driver_number(results, "loss_std", "a"), 1.0, 1e-15);
    assert_true(driver_number(results, "loss_worst", "a") == 5.0);
    assert_string_equal(driver_dataset(results, "loss_worst")->unit, "nm");
    assert_string_equal(driver_text(results, "status", "a"), "unsafe");
    assert_string_equal(driver_text(results, "status_detail", "a"),
                        "1 of 4 draws failed; draw 1: not_spd, tile (3, 3)");
}

TEST(what_is_not_known_is_nan)
{
    bb_draws draws = {0};
    bb_draws_add(&draws, &fine, 2.0);
    autoptr(bb_results) results = empty_results();
    publish(results, &draws);
    assert_true(driver_number(results, "loss_mean", "a") == 2.0);
    assert_true(isnan(driver_number(results, "loss_std", "a")));
    bb_results_destroy(&results);
    bb_draws_add(&draws, &fine,
                 NAN); // finished with an unknown loss: nothing is known of the worst
    check_ok(bb_results_create(&results));
    publish(results, &draws);
    assert_true(isnan(driver_number(results, "loss_worst", "a")));
    assert_string_equal(driver_text(results, "status", "a"), "ok");
}

TEST(all_draws_that_fail_are_a_failure)
{
    bb_draws draws = {0};
    bb_draws_add(&draws, &lost, NAN);
    bb_draws_add(&draws, &lost, NAN);
    assert_false(bb_draws_differ(&draws));
    autoptr(bb_results) results = empty_results();
    publish(results, &draws);
    assert_true(isnan(driver_number(results, "loss_worst", "a")));
    assert_true(isnan(driver_number(results, "loss_mean", "a")));
    assert_true(driver_number(results, "failure_bound", "a") == 1.0);
}

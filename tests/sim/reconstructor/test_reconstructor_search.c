// SPDX-License-Identifier: Apache-2.0
//
// max_loss with a user's covariance: the loss is one of variance, the result satisfies the limit in
// every draw, and no cheaper trial does.
#include "precision/variant.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/reconstructor/matrices.h"

#define SEARCHED(name, more)                                                                       \
    "{name: " name ", arithmetic: hp3, max_loss: " more ", search: {inside: x3}"

static const driver_case searches = {
    "mine.yaml",
    {"pipelines=[" SEARCHED("loose", "1e-2") "}, {name: reference, arithmetic: dp}, " SEARCHED(
         "tight", "1e-6") "}, " SEARCHED("drawn", "1e-6") ", draws: 4}, {name: sp, arithmetic: "
                                                          "sp}, " SEARCHED("exact", "1e-300") "}]",
     NULL}};

// Trials of one pipeline: accepted ones satisfy the limit, and the cheapest of them is in the
// results. Returns its loss.
static double check_trials(const bb_results *results, const char *name, double limit)
{
    const bb_dataset *pipeline = bb_results_find(results, "search/pipeline");
    const bb_dataset *loss = bb_results_find(results, "search/variance_loss");
    const bb_dataset *cost = bb_results_find(results, "search/relative_cost");
    const bb_dataset *accepted = bb_results_find(results, "search/accepted");
    const double found = driver_number(results, "relative_cost", name);
    double best = NAN;
    bb_index failed = 0;
    for (bb_index i = 0; i < pipeline->count; ++i) {
        if (strcmp(pipeline->texts[i], name) == 0) {
            const bool fits = accepted->numbers[i] == 1.0;
            assert_int_equal(fits, loss->numbers[i] <= limit);
            assert_true(!fits || cost->numbers[i] >= found);
            best = fits && cost->numbers[i] == found ? loss->numbers[i] : best;
            failed += fits ? 0 : 1;
        }
    }
    assert_true(failed >= 2); // with hp3 and hp2 the matrix is not positive definite here
    return best;
}

TEST(the_cheapest_accepted_trial_is_found)
{
    static const struct {
        const char *name;
        double limit;
    } cases[] = {
        {"loose", 1e-2},
        {"tight", 1e-6},
        {"drawn", 1e-6},
        {"exact", 1e-300},
    };
    autoptr(bb_results) results = driver_results(&searches);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *name = cases[i].name;
        const double loss = driver_number(results, "variance_loss", name);
        const double worst = driver_number(results, "loss_worst", name);
        const double best = check_trials(results, name, cases[i].limit);
        print_message("%s: %s\n", name, driver_text(results, "status_detail", name));
        assert_string_equal(driver_text(results, "status", name), "ok");
        assert_non_null(strstr(driver_text(results, "status_detail", name), ": met by "));
        assert_true(loss <= cases[i].limit && worst <= cases[i].limit);
        check_close(best, worst, 1e-9, 1e-18);
    }
    // A large max_loss needs only hp1; a tight one mixes formats; the worst of four draws counts.
    assert_true(driver_row(results, "product_share", "loose")[BB_VARIANT_HP1] == 1.0);
    const double *shares = driver_row(results, "product_share", "tight");
    assert_true(shares[BB_VARIANT_HP1] > 0.5 && shares[BB_VARIANT_X3] > 0.0);
    assert_true(driver_number(results, "draws", "drawn") == 4.0);
    assert_true(driver_number(results, "loss_worst", "drawn") >
                driver_number(results, "variance_loss", "drawn"));
}

TEST(runs_go_on_to_the_same_results)
{
    static const driver_case study = {
        "mine.yaml",
        {"solver.tile=auto",
         "pipelines=[" SEARCHED("loose", "1e-2") "}, {name: fp8, arithmetic: fp8}, {name: "
                                                 "reference, arithmetic: dp}, {name: drawn, "
                                                 "arithmetic: hp1, draws: 2}]"}};
    driver_resume_anywhere(&study, NULL, 4);
    driver_resume_anywhere(&study, "R", 4);
}

// Other pipelines have the same results as without a search.
TEST(searches_leave_others_alone)
{
    const driver_case plain = {
        "mine.yaml", {"pipelines=[{name: reference, arithmetic: dp}, {name: sp, arithmetic: sp}]"}};
    autoptr(bb_results) with = driver_results(&searches);
    autoptr(bb_results) without = driver_results(&plain);
    static const char *const names[] = {"reference", "sp"};
    for (size_t i = 0; i < 2; ++i) {
        assert_true(driver_number(with, "residual_trace", names[i]) ==
                    driver_number(without, "residual_trace", names[i]));
        assert_true(driver_number(with, "variance_loss", names[i]) ==
                    driver_number(without, "variance_loss", names[i]));
    }
    assert_true(driver_number(with, "variance_loss", "sp") > 0.0);
    assert_null(bb_results_find(without, "search/trial"));
}

TEST(what_cannot_be_met_says_so)
{
    const driver_case narrow = {
        "mine.yaml",
        {"pipelines=[{name: reference, arithmetic: dp}, {name: narrow, arithmetic: hp3, max_loss: "
         "1e-6, search: {variants: [hp3, hp1]}}]"}};
    const driver_case lost = {
        "lost.yaml",
        {"pipelines=[{name: reference, arithmetic: dp}, " SEARCHED("any", "1e-2") "}]",
         "solver.scale=none"}};
    autoptr(bb_results) results = driver_results(&narrow);
    assert_string_equal(driver_text(results, "status", "narrow"), "not_converged");
    assert_non_null(strstr(driver_text(results, "status_detail", "narrow"),
                           "max_loss 1e-06: not met in 2 trials; nearest is "));
    assert_true(isnan(driver_number(results, "variance_loss", "narrow")));
    bb_results_destroy(&results);
    assert_int_equal(system("sed 's/mine.h5, dataset: Cmm/mine.h5, dataset: lost/' mine.yaml > "
                            "lost.yaml"),
                     0);
    results = driver_results(&lost);
    assert_string_equal(driver_text(results, "status", "reference"), "not_spd");
    assert_string_equal(driver_text(results, "status", "any"), "underdetermined");
    assert_string_equal(driver_text(results, "status_detail", "any"),
                        "max_loss: the reference has no residual covariance");
}

TEST_FULL(allocations_may_fail_anywhere)
{
    autoptr(bb_config) config =
        driver_config(CASE("mine.yaml", {"pipelines=[{name: reference, arithmetic: dp}, " SEARCHED(
                                            "tight", "1e-6") ", draws: 2}]"}));
    bb_log_set_level(BB_LOG_QUIET);
    bb_threads_stop(); // from earlier tests
    allocation_walk("search", driver_run_alone, config, 67, 10);
}

TEST_GROUP(.begin = matrices_begin, .has_folder = true);

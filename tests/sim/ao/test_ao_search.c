// SPDX-License-Identifier: Apache-2.0
//
// Pipelines with a max_loss of Strehl ratio: the result is within it by the full chain, and the
// trials explain why no cheaper one was accepted.
#include "precision/variant.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"

static const driver_case searches = {
    CONFIG_NX456,
    {"pipelines=[{name: reference, arithmetic: dp}, "
     "{name: loose, arithmetic: hp1, max_loss: 2e-3, search: {inside: x3}}, "
     "{name: tight, arithmetic: hp1, max_loss: 1e-5, search: {inside: x3}}, "
     "{name: hp3, arithmetic: hp3, max_loss: 1e-4, search: {inside: sp}}, "
     "{name: exact, arithmetic: hp1, max_loss: 1e-300, search: {inside: x3}}]",
     NULL}};

TEST_FULL(max_loss_is_met_and_verified)
{
    const struct {
        const char *name;
        double limit, cost_limit;
    } cases[] = {
        {"loose", 2e-3, 0.08},
        {"tight", 1e-5, 0.14},
        {"hp3", 1e-4, 0.13},
        {"exact", 1e-300, 0.91},
    };
    autoptr(bb_results) results = driver_results(&searches);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double loss = driver_number(results, "strehl_loss", cases[i].name);
        double cost = driver_number(results, "relative_cost", cases[i].name);
        print_message("%s: loss %.2e, cost %.3f, %s\n", cases[i].name, loss, cost,
                      driver_text(results, "status_detail", cases[i].name));
        assert_string_equal(driver_text(results, "status", cases[i].name), "ok");
        assert_true(loss <= cases[i].limit);
        assert_true(cost > 0.0 && cost < cases[i].cost_limit);
        assert_non_null(strstr(driver_text(results, "status_detail", cases[i].name), ": met by "));
    }
    // No accepted trial is cheaper than the result.
    const bb_dataset *pipeline = bb_results_find(results, "search/pipeline");
    const bb_dataset *accepted = bb_results_find(results, "search/accepted");
    const bb_dataset *cost = bb_results_find(results, "search/relative_cost");
    for (bb_index i = 0; i < pipeline->count; ++i) {
        assert_true(accepted->numbers[i] == 0.0 ||
                    cost->numbers[i] >=
                        driver_number(results, "relative_cost", pipeline->texts[i]));
    }
    // A large max_loss needs only hp1.
    assert_true(driver_row(results, "product_share", "loose")[BB_VARIANT_HP1] == 1.0);
}

// Every trial is listed; the loss of the accepted trial is the one in the results.
TEST_FULL(trials_are_recorded)
{
    autoptr(bb_results) results = driver_results(&searches);
    const bb_dataset *pipeline = dataset_at(results, "search/pipeline");
    const bb_dataset *accepted = dataset_at(results, "search/accepted");
    const bb_dataset *loss = dataset_at(results, "search/strehl_loss");
    bb_index tight = 0;
    double found = NAN;
    double minimum = INFINITY;
    const bb_dataset *cost = bb_results_find(results, "search/relative_cost");
    for (bb_index i = 0; i < pipeline->count; ++i) {
        if (strcmp(pipeline->texts[i], "tight") == 0) {
            ++tight;
            assert_int_equal(accepted->numbers[i] == 1.0, loss->numbers[i] <= 1e-5);
            if (accepted->numbers[i] == 1.0 && cost->numbers[i] < minimum) {
                minimum = cost->numbers[i];
                found = loss->numbers[i];
            }
        }
    }
    assert_in_range(tight, 6, 12);
    // Worst of both wavelengths.
    const double *values = driver_row(results, "strehl_by", "tight");
    const double *reference = driver_row(results, "strehl_by", "reference");
    check_close(found, fmax(reference[0] - values[0], reference[1] - values[1]), 1e-12, 1.0);
}

// max_loss bounds every target and wavelength, or the first.
TEST(max_loss_bounds_all_or_the_first)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_AO_SMALL,
             {"score=stationary",
              "pipelines=[{name: reference, arithmetic: dp}, "
              "{name: all, arithmetic: fp8, max_loss: 2e-5}, "
              "{name: first, arithmetic: fp8, max_loss: 2e-5, search: {over: first}}, "
              "{name: listed, arithmetic: fp8, max_loss: 2e-5, search: {variants: [bf16, x3]}}]"}));
    const double *reference = driver_row(results, "strehl_by", "reference");
    const double *values = driver_row(results, "strehl_by", "all");
    for (int i = 0; i < 4; ++i) { // two targets at two wavelengths
        assert_true(reference[i] - values[i] <= 2e-5);
    }
    assert_true(driver_number(results, "strehl_loss", "first") <= 2e-5);
    assert_true(driver_number(results, "relative_cost", "first") <=
                driver_number(results, "relative_cost", "all"));
    const double *shares = driver_row(results, "product_share", "listed");
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        assert_true(shares[v] == 0.0 || v == BB_VARIANT_BF16 || v == BB_VARIANT_X3 ||
                    v == BB_VARIANT_SP); // potrf and trsm
    }
}

TEST(runs_without_max_loss_list_no_trials)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG_AO_SMALL, {NULL}));
    assert_null(bb_results_find(results, "search/trial"));
}

// A search of several trials and a spectrum, with allocations failing in turn.
TEST_FULL(allocations_may_fail_anywhere)
{
    autoptr(bb_config) config = driver_config(CASE(
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
         "wavelengths_um=[1.65]", "score=stationary", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
         "solver.spectrum={matrix: true, tiles: [{row: 1, column: 0}]}",
         "pipelines=[{name: reference, arithmetic: dp}, {name: searched, arithmetic: hp1, "
         "max_loss: 1e-8, search: {inside: x3}}]"}));
    bb_log_set_level(BB_LOG_QUIET);
    bb_threads_stop(); // used by earlier tests
    allocation_walk("search", driver_run_alone, config, 67, 20);
}

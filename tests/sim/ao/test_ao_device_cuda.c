// SPDX-License-Identifier: Apache-2.0
//
// nx456 on a CUDA device against the CPU: Strehl ratios of every arithmetic, targets in parts, and
// searches.
#include "core/device/device.h"
#include "sim/ao/ao_plan.h"
#include "tests/first_device.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp, device: cpu}, {name: dp, arithmetic: dp}, "      \
    "{name: sp, arithmetic: sp}, {name: x3, arithmetic: x3}, {name: tf32, arithmetic: tf32}, "     \
    "{name: hp1, arithmetic: hp1}, "                                                               \
    "{name: narrow, arithmetic: hp1, policy: {diagonal: follow}, sweeps: follow}, "                \
    "{name: band, arithmetic: hp1, policy: {kind: band, width: 3, inside: x3}}, "                  \
    "{name: zones, arithmetic: hp2, policy: {kind: three_zones, widths: [2, 4], "                  \
    "zones: [sp, hp1, hp2]}}]"

TEST(strehl_ratios_agree_with_the_cpu)
{
    static const struct {
        const char *pipeline;
        double error;
    } cases[] = {
        {"dp", 1e-10}, {"sp", 1e-5},     {"x3", 1e-5},   {"tf32", 5e-3},
        {"hp1", 5e-3}, {"narrow", 2e-2}, {"band", 5e-3}, {"zones", 5e-3},
    };
    const driver_case study = {CONFIG_NX456, {"device=cuda", "solver.tile=128", PIPELINES}};
    autoptr(bb_results) results = driver_results(&study);
    assert_string_equal(driver_text(results, "device", "reference"), "cpu");
    check_relative(driver_number(results, "strehl", "reference"), 0.81350, 1e-5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_string_equal(driver_text(results, "device", cases[i].pipeline), "cuda");
        assert_string_equal(driver_text(results, "status", cases[i].pipeline), "ok");
        double error = driver_number(results, "qoi_relative_error", cases[i].pipeline);
        print_message("%s: %.2e\n", cases[i].pipeline, error);
        check_close(error, 0.0, cases[i].error, 1.0);
    }
    // Of eight rows of tiles, 8 + 7 near the diagonal are sp, computed as x3; 6 + 5; 4 + 3 + 2 + 1.
    const double *shares = driver_row(results, "tile_share", "zones");
    check_close(shares[BB_VARIANT_X3], 15.0 / 36.0, 1e-12, 1.0);
    check_close(shares[BB_VARIANT_HP1], 11.0 / 36.0, 1e-12, 1.0);
    check_close(shares[BB_VARIANT_HP2], 10.0 / 36.0, 1e-12, 1.0);
}

// The reference has the same Strehl ratios and wavefront errors of all targets on both devices.
// Scores are by pairs with fitting, with one mirror per target and with mcao; and stationary, with
// reconstructors of several targets on the device and with a shared one.
static void compare_devices(const char *config, const char *change, const char *more)
{
    enum { NOISE = 1, TERMS = 7 }; // in the error budget; other terms are differences
    static const char pipelines[] = "pipelines=[{name: reference, arithmetic: dp}]";
    static const char *const names[] = {"strehl_by", "residual_rms_by_nm", "error_budget_nm"};
    bb_results *results[2];
    for (int d = 0; d < 2; ++d) {
        results[d] = driver_results(CASE(config, {d == 0 ? "device=cpu" : "device=cuda",
                                                  "solver.tile=128", pipelines, change, more}));
    }
    for (int i = 0; i < 3; ++i) {
        const bb_dataset *host = driver_dataset(results[0], names[i]);
        const bb_dataset *device = driver_dataset(results[1], names[i]);
        assert_int_equal(host->count, device->count);
        for (bb_index k = 0; k < host->count; ++k) {
            if (i < 2 || k % TERMS == NOISE) {
                assert_true(host->numbers[k] > 0.0);
                check_relative(device->numbers[k], host->numbers[k], 1e-9);
            }
        }
    }
    bb_results_destroy(&results[0]);
    bb_results_destroy(&results[1]);
}

TEST(scores_agree_with_the_cpu)
{
    static const char stationary[] = "score=stationary";
    static const char slopes[] = "error_terms.fitting=false";
    compare_devices(BB_SOURCE_DIR "/configs/ao/quick.yaml", "score=pairs", "seed=1");
    compare_devices(BB_SOURCE_DIR "/configs/ao/ltao.yaml", "score=pairs", "sensors.lenslets=8");
    compare_devices(BB_SOURCE_DIR "/configs/ao/mcao-mavis.yaml", "score=pairs",
                    "sensors.lenslets=8");
    compare_devices(BB_SOURCE_DIR "/configs/ao/quick.yaml", stationary, slopes);
    compare_devices(BB_SOURCE_DIR "/configs/ao/ltao.yaml", stationary, "sensors.lenslets=8");
}

// CUDA rounds tiles of 76 up to 128, and a band counts these.
TEST(a_tile_is_rounded_up)
{
    static const char *const tiles[] = {"solver.tile=76", "solver.tile=128", "solver.tile=auto"};
    double strehl[3];
    for (int i = 0; i < 3; ++i) {
        autoptr(bb_results) results = driver_results(CASE(
            CONFIG_NX456,
            {"device=cuda", tiles[i],
             "pipelines=[{name: reference, arithmetic: dp, device: cpu}, {name: band, arithmetic: "
             "hp1, policy: {kind: band, width: 2, inside: x3}}]"}));
        assert_string_equal(driver_text(results, "device", "band"), "cuda");
        assert_string_equal(driver_text(results, "status", "band"), "ok");
        check_close(driver_number(results, "tile_size", "reference"), 128.0, 1e-12, 1.0);
        check_close(driver_number(results, "tile_size", "band"), 128.0, 1e-12, 1.0);
        strehl[i] = driver_number(results, "strehl", "band");
    }
    assert_true(strehl[0] == strehl[1] && strehl[1] == strehl[2]);
}

// 3136 and 3904 measurements.
TEST(auto_takes_cuda_where_a_matrix_is_large)
{
    static const char *const lenslets[] = {"sensors.lenslets=16", "sensors.lenslets=18"};
    for (int i = 0; i < 2; ++i) {
        const driver_case study = {BB_SOURCE_DIR "/configs/ao/vlt-3136.yaml",
                                   {"device=auto", "solver.tile=auto", lenslets[i],
                                    "pipelines=[{name: reference, arithmetic: dp}]"}};
        autoptr(bb_results) results = driver_results(&study);
        assert_string_equal(driver_text(results, "device", "reference"), i == 0 ? "cpu" : "cuda");
    }
}

TEST(a_device_that_is_too_small_is_told_before_any_work)
{
    const bb_run_options options = {.threads = 1};
    autorelease(bb_plan) plan = {0};
    autoptr(bb_config) config = driver_config(
        CASE(BB_SOURCE_DIR "/configs/ao/mosaic-100368.yaml", {"sensors.lenslets=400"}));
    check_ok(bb_ao_plan(bb_config_study(config), &options, &plan));
    check_fails(bb_plan_require_device(&plan), BB_MEMORY, "are free"); // as check and run do
}

// Trials of one pipeline: the cheapest accepted one is the result.
static void check_trials(const bb_results *results, const char *name, double maximum)
{
    const bb_dataset *pipeline = bb_results_find(results, "search/pipeline");
    const bb_dataset *arithmetic = bb_results_find(results, "search/arithmetic");
    const bb_dataset *kept = bb_results_find(results, "search/accepted");
    const bb_dataset *loss = bb_results_find(results, "search/strehl_loss");
    const bb_dataset *cost = bb_results_find(results, "search/relative_cost");
    bb_index trials = 0;
    double found[2] = {NAN, INFINITY};
    assert_non_null(pipeline);
    for (bb_index i = 0; i < pipeline->count; ++i) {
        if (strcmp(pipeline->texts[i], name) == 0) {
            print_message("  %s: loss %.2e, cost %.3f\n", arithmetic->texts[i], loss->numbers[i],
                          cost->numbers[i]);
            ++trials;
            assert_int_equal(kept->numbers[i] == 1.0, loss->numbers[i] <= maximum);
            if (kept->numbers[i] == 1.0 && cost->numbers[i] < found[1]) {
                found[0] = loss->numbers[i];
                found[1] = cost->numbers[i];
            }
        }
    }
    // Four variants, and at most seven halves of 64 mixtures of each of three pairs.
    assert_in_range(trials, 1, 25);
    const double *by = driver_row(results, "strehl_by", name);
    const double *reference = driver_row(results, "strehl_by", "reference");
    check_close(found[0], fmax(reference[0] - by[0], reference[1] - by[1]), 1e-9, 1.0);
    check_relative(found[1], driver_number(results, "relative_cost", name), 1e-12);
}

#define SEARCHES                                                                                   \
    "pipelines=[{name: reference, arithmetic: dp}, "                                               \
    "{name: loose, arithmetic: hp1, max_loss: 5e-2, search: {inside: x3}}, "                       \
    "{name: tight, arithmetic: hp1, max_loss: 1e-5, search: {inside: x3}}, "                       \
    "{name: exact, arithmetic: hp1, max_loss: 1e-300, search: {inside: sp}}]"

// A large max_loss is met by hp1 throughout, one that no narrow format meets by a precise
// candidate.
TEST(max_loss_is_met_and_verified)
{
    static const struct {
        const char *name;
        double maximum, most_cost;
    } cases[] = {
        {"loose", 5e-2, 0.08},
        {"tight", 1e-5, 0.25},
        {"exact", 1e-300, 0.91},
    };
    autoptr(bb_results) results = driver_results(CASE(
        BB_SOURCE_DIR "/configs/ao/vlt-3136.yaml", {"device=cuda", "solver.tile=128", SEARCHES}));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *name = cases[i].name;
        const double loss = driver_number(results, "strehl_loss", name);
        const double cost = driver_number(results, "relative_cost", name);
        print_message("%s: loss %.2e, cost %.3f, %s\n", name, loss, cost,
                      driver_text(results, "status_detail", name));
        assert_string_equal(driver_text(results, "device", name), "cuda");
        assert_string_equal(driver_text(results, "status", name), "ok");
        assert_non_null(strstr(driver_text(results, "status_detail", name), ": met by "));
        assert_true(loss <= cases[i].maximum && cost > 0.0 && cost < cases[i].most_cost);
        check_trials(results, name, cases[i].maximum);
    }
}

TEST_GROUP(.begin = needs_cuda);

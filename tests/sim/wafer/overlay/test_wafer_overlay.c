// SPDX-License-Identifier: Apache-2.0
//
// Overlay report from configuration to table: loss by late corrections, and the definitions of the
// three errors.
#include "sim/input/hdf5_library.h"
#include "sim/wafer/overlay/wafer_overlay.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#include <sys/wait.h>

#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64"
#define SEED      ", storage: fp32, multiply: fp32, accumulate: fp64"
#define PIPELINES                                                                                  \
    "pipelines=[" REFERENCE "}, {name: on time" SEED "}, {name: late" SEED                         \
    ", delivery: {late_steps: 1}}, {name: later" SEED                                              \
    ", delivery: {late_steps: 3}}, {name: missed" SEED                                             \
    ", delivery: {missed_steps: [7, 8]}}, {name: drawn" SEED                                       \
    ", delivery: {missed_fraction: 0.5, seed: 4}}, {name: never" SEED                              \
    ", delivery: {missed_fraction: 1.0}}]"

enum { RAW, RESIDUAL, NUMERICAL, ERRORS };

// Exposures 6 and 7 are scanned up and down; the first of each row is at the edge.
static const driver_case deliveries = {
    CONFIG_WAFER_SMALL, {PIPELINES, "scan.fields=[4, 6, 7, 15]", "metrology.columns=7"}};
static bb_results *usual;

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    return driver_run(&deliveries, 2, &usual) == BB_OK ? 0 : -1;
}

static void leave(void)
{
    bb_results_destroy(&usual);
}

static double headline(const char *pipeline, int error)
{
    return driver_row(usual, "overlay_headline_nm", pipeline)[error];
}

TEST(late_and_missed_corrections_cost)
{
    print_message("residual: on time %.3g, missed %.3g, late %.3g, later %.3g, drawn %.3g, never "
                  "%.3g nm\n",
                  headline("on time", RESIDUAL), headline("missed", RESIDUAL),
                  headline("late", RESIDUAL), headline("later", RESIDUAL),
                  headline("drawn", RESIDUAL), headline("never", RESIDUAL));
    assert_true(headline("reference", RESIDUAL) == 0.0);
    assert_true(headline("on time", RESIDUAL) > 0.0);
    assert_true(headline("on time", RESIDUAL) < 1e-6);
    assert_true(headline("missed", RESIDUAL) > 1e3 * headline("on time", RESIDUAL));
    assert_true(headline("late", RESIDUAL) > headline("missed", RESIDUAL));
    assert_true(headline("later", RESIDUAL) > headline("late", RESIDUAL));
    // Without corrections the residual is the raw overlay.
    assert_true(headline("never", RESIDUAL) == headline("never", RAW));
    // The numerical error does not depend on deliveries.
    assert_true(headline("late", NUMERICAL) == headline("on time", NUMERICAL));
    // With corrections on time both are equal except for the sign.
    check_relative(headline("on time", RESIDUAL), headline("on time", NUMERICAL), 1e-6);
    assert_true(driver_number(usual, "delivery_missed_steps", "missed") == 8.0);
    assert_true(driver_number(usual, "delivery_held_steps", "missed") == 8.0);
    assert_true(driver_number(usual, "delivery_uncorrected_steps", "late") == 4.0);
    assert_true(driver_number(usual, "delivery_held_steps", "late") == 4.0 * 16.0);
    assert_true(driver_number(usual, "delivery_uncorrected_steps", "never") == 4.0 * 17.0);
    double drawn = driver_number(usual, "delivery_missed_steps", "drawn");
    assert_true(drawn > 20.0 && drawn < 48.0);
    // Values in the table and in the Pareto front.
    assert_true(driver_number(usual, "overlay_residual_nm", "late") == headline("late", RESIDUAL));
}

// A late reference is scored against the truth, which is never late.
TEST(the_reference_may_be_late_itself)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL,
             {"scan.fields=[0]",
              "pipelines=[" REFERENCE ", delivery: {late_steps: 1}}, {name: fp32" SEED "}]"}));
    const double *late = driver_row(results, "overlay_headline_nm", "reference");
    const double *fp32 = driver_row(results, "overlay_headline_nm", "fp32");
    assert_true(late[RESIDUAL] > 1e3 * fp32[RESIDUAL] && late[NUMERICAL] == 0.0);
    assert_true(late[RAW] == driver_row(results, "overlay_x_nm", "reference")[0] ||
                late[RAW] == driver_row(results, "overlay_y_nm", "reference")[0]);
    autorelease(bb_text) text = {0};
    check_ok(bb_wafer_overlay_print(results, &text));
    assert_non_null(strstr(bb_text_string(&text), " points of 1 field, rms of the reference"));
}

// Datasets of the earlier report have the same values.
TEST(the_report_agrees_with_what_there_was)
{
    enum { DIRECTIONS = 3, STATISTICS = 5, M3S = 2, MODELS = 5 };
    const double *raw = driver_row(usual, "overlay_statistics_nm", "late");
    const double *numerical = raw + NUMERICAL * DIRECTIONS * STATISTICS;
    const double *x = driver_row(usual, "overlay_x_nm", "reference");
    const double *y = driver_row(usual, "overlay_y_nm", "reference");
    const double *nce = driver_row(usual, "nce_nm", "late");
    assert_true(raw[M3S] == x[0] && raw[STATISTICS + M3S] == y[0]);
    for (int m = 0; m < 4; ++m) {
        assert_true(nce[m * DIRECTIONS] == x[m] && nce[m * DIRECTIONS + 1] == y[m]);
    }
    assert_true(nce[4 * DIRECTIONS] < x[3] && nce[4 * DIRECTIONS + 1] < y[3]);
    check_relative(numerical[M3S], driver_number(usual, "overlay_error_x_nm", "late"), 1e-12);
    check_relative(numerical[STATISTICS + M3S], driver_number(usual, "overlay_error_y_nm", "late"),
                   1e-12);
    double rms = driver_dataset(usual, "overlay_reference_rms_nm")->numbers[0];
    check_relative(driver_row(usual, "overlay_statistics_percent", "late")[M3S],
                   100.0 * raw[M3S] / rms, 1e-14);
    // Parts contain every point twice: by position and by scan direction.
    const double *points = driver_dataset(usual, "part_points")->numbers;
    double all = (double)driver_dataset(usual, "point")->count;
    assert_true(points[0] + points[1] == all && points[2] + points[3] == all);
    assert_true(points[0] > 0.0 && points[1] > 0.0 && points[2] > 0.0 && points[3] > 0.0);
    const double *fields = driver_row(usual, "field_headline_nm", "late");
    double worst = 0.0;
    for (int f = 0; f < 4; ++f) {
        worst = fmax(worst, fields[f]);
    }
    assert_true(worst == driver_row(usual, "worst_field_nm", "late")[RAW]);
}

TEST(the_table_has_every_error)
{
    static const char *const lines[] = {"raw heating overlay ",
                                        "|mean| + 3 sigma [% of rms]",
                                        "|mean| + 3 sigma, down scans",
                                        "NCE after cubic of each field",
                                        "mean square removed by each in turn: ",
                                        "reference: feed-forward residual: exactly 0\n",
                                        "reference: numerical error: exactly 0\n",
                                        "late: feed-forward residual ",
                                        "corrections late by 1 light step, 0 missed\n",
                                        "corrections late by 0 light steps, 8 missed\n",
                                        "(exposure "};
    autorelease(bb_text) text = {0};
    check_ok(bb_wafer_overlay_print(usual, &text));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        if (strstr(bb_text_string(&text), lines[i]) == NULL) {
            print_error("no '%s' in\n%s", lines[i], bb_text_string(&text));
            fail();
        }
    }
    bb_text_release(&text);
    autoptr(bb_results) none = empty_results();
    check_ok(bb_wafer_overlay_print(none, &text));
    assert_int_equal(text.length, 0);
    check_ok(results_values(none, "results/overlay_statistics_nm", "nm", "", "", NULL));
    check_fails(bb_wafer_overlay_print(none, &text), BB_INVALID, "has no 'results/pipeline'");
}

TEST_GROUP(.has_folder = true, .begin = begin, .end = leave, .is_quiet = true);

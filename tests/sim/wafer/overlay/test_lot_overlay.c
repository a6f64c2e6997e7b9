// SPDX-License-Identifier: Apache-2.0
//
// All wafers of a lot scored: each equals the last wafer of a shorter lot, the report of the last
// one is unchanged, and the spread agrees with the displacements.
#include "sim/wafer/overlay/wafer_overlay.h"
#include "tests/sim/driver.h"

#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}"
#define FIELDS    "scan.order=given", "scan.sequence=[50, 49, 48]", "scan.fields=[0, 2]"
#define PIPELINES                                                                                  \
    "pipelines=[" REFERENCE ", {name: e4m3, storage: e4m3, scale: row, multiply: fp32, "           \
    "accumulate: fp64}, {name: drawn, storage: fp32, multiply: fp32, accumulate: fp64, "           \
    "delivery: {missed_fraction: 0.5}}]"

enum { WAFERS = 3, PIPELINE_COUNT = 3, ERRORS = 3, DIRECTIONS = 3, SPREADS = 4 };

static const driver_case all_scored = {
    CONFIG_WAFER_SMALL,
    {FIELDS, PIPELINES, "wafers={count: 3, exchange_s: 0.3, arrival_rise_k: 0.02, scored: all}"}};
static const driver_case last_scored[WAFERS] = {
    {CONFIG_WAFER_SMALL,
     {FIELDS, PIPELINES, "wafers={count: 1, exchange_s: 0.3, arrival_rise_k: 0.02, scored: all}"}},
    {CONFIG_WAFER_SMALL,
     {FIELDS, PIPELINES, "wafers={count: 2, exchange_s: 0.3, arrival_rise_k: 0.02}"}},
    {CONFIG_WAFER_SMALL,
     {FIELDS, PIPELINES, "wafers={count: 3, exchange_s: 0.3, arrival_rise_k: 0.02}"}},
};

static bb_results *lot;
static bb_results *lasts[WAFERS];

static int begin(void)
{
    bool good = driver_run(&all_scored, 2, &lot) == BB_OK;
    for (int w = 0; w < WAFERS; ++w) {
        good = good && driver_run(&last_scored[w], 2, &lasts[w]) == BB_OK;
    }
    return good ? 0 : -1;
}

static void leave(void)
{
    bb_results_destroy(&lot);
    for (int w = 0; w < WAFERS; ++w) {
        bb_results_destroy(&lasts[w]);
    }
}

static const double *numbers(const bb_results *results, const char *name)
{
    return driver_dataset(results, name)->numbers;
}

// Wafers before the last have other draws of missed corrections; all other results agree.
TEST(each_wafer_is_the_last_of_a_shorter_lot)
{
    const bb_index points = driver_dataset(lot, "point")->count;
    const bb_index axes = driver_dataset(lot, "axis")->count;
    const size_t bytes = (size_t)points * sizeof(double);
    const double *moved = numbers(lot, "wafer_displacement_nm");
    const double *remainder = numbers(lot, "wafer_residual_nm");
    double change = 0.0;
    for (int w = 0; w < WAFERS; ++w) {
        const double *alone = numbers(lasts[w], "displacement_nm");
        const double *alone_left = numbers(lasts[w], "residual_nm");
        for (bb_index i = 0; i < PIPELINE_COUNT * axes; ++i) {
            const double *cursor = moved + (i * WAFERS + w) * points;
            assert_memory_equal(cursor, alone + i * points, bytes);
            if (i / axes < 2 || w == WAFERS - 1) {
                assert_memory_equal(remainder + (i * WAFERS + w) * points, alone_left + i * points,
                                    bytes);
            }
            for (bb_index k = 0; k < points; ++k) {
                change = fmax(change, fabs(cursor[k] - moved[i * WAFERS * points + k]));
            }
        }
        assert_true(numbers(lot, "wafer")[w] == (double)w);
        for (int p = 0; p < PIPELINE_COUNT; ++p) {
            assert_true(numbers(lot, "wafer_qoi_relative_error")[p * WAFERS + w] ==
                        numbers(lasts[w], "qoi_relative_error")[p]);
        }
    }
    print_message("%.3g nm at most between two wafers\n", change);
    assert_true(change > 1e-3);
    // The random draws differ.
    const bb_index item = 2 * axes * WAFERS * points;
    assert_memory_not_equal(remainder + item, remainder + item + (WAFERS - 1) * points, bytes);
}

// Results without the wafer axis belong to the last wafer, except the counts of products.
TEST(the_last_wafer_is_reported_as_ever)
{
    static const char *const counted[] = {"flops", "flops_dense_equivalent", "encode_time_s",
                                          "solve_time_s"};
    const bb_results *last = lasts[WAFERS - 1];
    int compared = 0;
    for (bb_index i = 0; i < bb_results_count(last); ++i) {
        const bb_dataset *expected = bb_results_dataset(last, i);
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", expected->group, expected->name);
        const bb_dataset *got = dataset_at(lot, path);
        bool skipped = expected->is_text || strstr(path, "certifi") != NULL;
        for (size_t k = 0; k < sizeof counted / sizeof *counted; ++k) {
            skipped = skipped || strcmp(expected->name, counted[k]) == 0;
        }
        if (!skipped) {
            assert_int_equal(got->count, expected->count);
            assert_memory_equal(got->numbers, expected->numbers,
                                (size_t)got->count * sizeof(double));
            ++compared;
        }
    }
    assert_true(compared > 60);
    for (int p = 0; p < PIPELINE_COUNT; ++p) {
        assert_true(numbers(lot, "flops")[p] == WAFERS * numbers(last, "flops")[p]);
    }
    // A single wafer has no spread, whichever is scored.
    assert_null(bb_results_find(lasts[0], "results/wafer"));
    assert_null(bb_results_find(last, "results/wafer_to_wafer_nm"));
}

TEST(statistics_are_those_of_the_wafers)
{
    enum { OVERALL = 5 };
    static const char *const names[OVERALL] = {"wafer_mean_nm", "wafer_sigma_nm", "wafer_m3s_nm",
                                               "wafer_percentile997_nm", "wafer_max_nm"};
    for (int item = 0; item < 2 * ERRORS; ++item) { // the third error has random deliveries
        for (int w = 0; w < WAFERS; ++w) {
            const double *alone = numbers(lasts[w], "overlay_statistics_nm");
            for (int d = 0; d < DIRECTIONS; ++d) {
                for (int s = 0; s < OVERALL; ++s) {
                    assert_true(numbers(lot, names[s])[(item * WAFERS + w) * DIRECTIONS + d] ==
                                alone[(item * DIRECTIONS + d) * OVERALL + s]);
                }
            }
            assert_true(numbers(lot, "wafer_headline_nm")[item * WAFERS + w] ==
                        numbers(lasts[w], "overlay_headline_nm")[item]);
        }
    }
}

// Spread of the raw error, recomputed from the displacements in the file.
TEST(spread_follows_from_displacements)
{
    const bb_index points = driver_dataset(lot, "point")->count;
    const double *moved = numbers(lot, "wafer_displacement_nm"); // starts with x of the reference
    const double *spread = numbers(lot, "wafer_to_wafer_nm");
    const double *means = numbers(lot, "wafer_mean_nm");
    double sum = 0.0;
    double maximum = 0.0;
    for (bb_index k = 0; k < points; ++k) {
        const double a = moved[k];
        const double b = moved[points + k];
        const double c = moved[2 * points + k];
        const double mean = (a + b + c) / 3.0;
        const double variance =
            0.5 * ((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean));
        sum += variance;
        maximum = fmax(maximum, variance);
    }
    const double a = means[0];
    const double b = means[DIRECTIONS];
    const double c = means[2 * DIRECTIONS];
    const double mean = (a + b + c) / 3.0;
    check_relative(
        spread[0],
        sqrt(0.5 * ((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean))),
        1e-6);
    check_relative(spread[1], sqrt(sum / (double)points), 1e-9);
    check_relative(spread[2], sqrt(maximum), 1e-9);
    print_message("raw, x: mean %.3g, point %.3g, most %.3g nm from wafer to wafer, m3s %.4g nm\n",
                  spread[0], spread[1], spread[2], spread[3]);
    for (int i = 0; i < PIPELINE_COUNT * ERRORS * DIRECTIONS; ++i) {
        const double *values = spread + i * SPREADS;
        assert_true(values[0] <= values[1] * (1.0 + 1e-12) && values[1] <= values[2]);
    }
}

TEST(the_table_has_the_wafers)
{
    static const char *const lines[] = {
        "|mean| + 3 sigma, wafer 0 ",           "|mean| + 3 sigma, wafer 2 ",
        "wafer to wafer: st.dev. of the mean ", "wafer to wafer: st.dev. at a point ",
        "wafer to wafer: largest st.dev. ",     "|mean| + 3 sigma, all wafers "};
    autorelease(bb_text) text = {0};
    check_ok(bb_wafer_overlay_print(lot, &text));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        assert_non_null(strstr(bb_text_string(&text), lines[i]));
    }
    bb_text_release(&text);
    check_ok(bb_wafer_overlay_print(lasts[WAFERS - 1], &text));
    assert_null(strstr(bb_text_string(&text), "wafer to wafer"));
}

TEST(output_is_planned_and_bits_keep)
{
    driver_check_output_plan(&all_scored, lot);
    driver_check_threads(&all_scored);
}

TEST_GROUP(.begin = begin, .end = leave, .is_quiet = true);

// SPDX-License-Identifier: Apache-2.0
//
// Axes of a sweep: values given by a plan, and refused plans.
#include "sim/sweep/sweep.h"
#include "tests/sim/sweep/toy_sweep.h"

// Checks the texts of a key, separated by blanks.
static void check_texts(const char *sweep, const char *path, const char *expected)
{
    autoptr(bb_sweep_plan) plan = toy_planned(sweep, NULL);
    autorelease(bb_text) text = {0};
    for (bb_index a = 0; a < plan->sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &plan->sweep->axes.axes[a];
        for (bb_index k = 0; k < axis->key_count; ++k) {
            for (bb_index i = 0; strcmp(axis->keys[k].path, path) == 0 && i < axis->count; ++i) {
                check_ok(bb_text_add(&text, "%s%s", i == 0 ? "" : " ", axis->keys[k].texts[i]));
            }
        }
    }
    assert_string_equal(bb_text_string(&text), expected);
}

TEST(lists_and_ranges_mean_what_a_user_would_write)
{
    check_texts("sweep: {axes: {air.r0_m: [0.10, 1e-2, 3]}}\n", "air.r0_m", "0.10 1e-2 3");
    check_texts("sweep: {axes: {air.r0_m: {from: 0, to: 0.6, step: 0.1}}}\n", "air.r0_m",
                "0.0 0.1 0.2 0.3 0.4 0.5 0.6");
    check_texts("sweep: {axes: {length_m: {from: 1, to: -1, step: -0.5}}}\n", "length_m",
                "1.0 0.5 0.0 -0.5 -1.0");
    check_texts("sweep: {axes: {count: {from: 0, to: 45, step: 15}}}\n", "count", "0 15 30 45");
    check_texts("sweep: {axes: {air.r0_m: {from: 1, to: 2, count: 5}}}\n", "air.r0_m",
                "1.0 1.25 1.5 1.75 2.0");
    check_texts("sweep: {seeds: 3..6}\n", "seed", "3 4 5 6");
    check_texts("sweep: {seeds: [9, 7]}\n", "seed", "9 7");
    check_texts("sweep: {zip: {air.r0_m: [1, 2], length_m: [5, 5]}}\n", "length_m", "5 5");
}

TEST(a_ladder_by_log_has_equal_ratios_and_its_ends)
{
    bb_sweep_plan *plan =
        toy_planned("sweep: {axes: {air.r0_m: {from: 1.0e-6, to: 1.0e-2, log: 5}}}\n", NULL);
    const double *numbers = plan->sweep->axes.axes[0].keys[0].numbers;
    assert_true(numbers[0] == 1e-6 && numbers[4] == 1e-2);
    for (int i = 1; i < 5; ++i) {
        check_relative(numbers[i] / numbers[i - 1], 10.0, 1e-12);
    }
    bb_sweep_plan_destroy(&plan);
}

TEST(values_of_a_ladder_are_short)
{
    check_texts("sweep: {axes: {air.r0_m: {from: 1.0e-6, to: 1.0e-2, log: 4}}}\n", "air.r0_m",
                "1.0e-06 2.154e-05 0.000464 0.01");
    check_texts("sweep: {axes: {air.r0_m: {from: 0, to: 1, count: 4}}}\n", "air.r0_m",
                "0.0 0.3333 0.6667 1.0");
    // Also if the ends are close.
    check_texts("sweep: {axes: {air.r0_m: {from: 1.0, to: 1.0001, count: 4}}}\n", "air.r0_m",
                "1.0 1.00003333 1.00006667 1.0001");
}

TEST(a_table_gives_its_columns_to_keys)
{
    write_text("conditions.csv", "air.r0_m,length_m\n0.5,7\n0.25,8\n");
    check_texts("sweep: {table: conditions.csv}\n", "air.r0_m", "0.5 0.25");
    check_texts("sweep: {table: conditions.csv}\n", "length_m", "7 8");
}

// Cells are not YAML, in which # starts a comment.
TEST(a_cell_that_is_no_number_is_named)
{
    static const char *const cases[][2] = {
        {"air.r0_m,length_m\n0.5,7\n0.25,#N/A\n",
         "bad.csv:3:6: sweep: length_m = #N/A: expected a"},
        {"length_m,air.r0_m\n7,0.5 # fair\n",
         "bad.csv:2:3: sweep: air.r0_m = 0.5 # fair: expected"},
        {"air.r0_m\n0.5\n#REF!\n", "bad.csv:3:1: '#REF!' is not a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        bb_sweep_plan *plan = NULL;
        write_text("bad.csv", cases[i][0]);
        check_fails(toy_try_plan(toy_base, "sweep: {table: bad.csv}\n", NULL, &plan), BB_INVALID,
                    cases[i][1]);
    }
    write_text("german.csv", "air.r0_m;length_m\n0,5;7\n0,25;8\n");
    check_texts("sweep: {table: german.csv}\n", "air.r0_m", "0.5 0.25");
}

TEST(samples_are_stratified_and_repeat)
{
    double first[2][16];
    double again[16];
    for (uint64_t seed = 1; seed < 4; ++seed) {
        const bb_sweep_samples samples = {false, 16, 2, seed};
        for (bb_index d = 0; d < 2; ++d) {
            unsigned strata = 0;
            check_ok(bb_sweep_samples_draw(&samples, d, first[d]));
            check_ok(bb_sweep_samples_draw(&samples, d, again));
            assert_memory_equal(first[d], again, sizeof again);
            for (int i = 0; i < 16; ++i) {
                strata |= 1U << (int)floor(16.0 * first[d][i]);
            }
            assert_int_equal(strata, 0xffff);
        }
        assert_memory_not_equal(first[0], first[1], sizeof again);
        const bb_sweep_samples other = {false, 16, 2, seed + 1};
        check_ok(bb_sweep_samples_draw(&other, 0, again));
        assert_memory_not_equal(first[0], again, sizeof again);
    }
    // First Sobol points in two dimensions (Bratley and Fox, ACM TOMS 14, 1988).
    const bb_sweep_samples sobol = {true, 3, 2, 0};
    check_ok(bb_sweep_samples_draw(&sobol, 0, first[0]));
    check_ok(bb_sweep_samples_draw(&sobol, 1, first[1]));
    // A seed shifts a coordinate as a whole, around the unit interval.
    const bb_sweep_samples shifted = {true, 3, 2, 5};
    double moved[3];
    check_ok(bb_sweep_samples_draw(&shifted, 1, moved));
    const double shift = fmod(moved[0] - first[1][0] + 1.0, 1.0);
    assert_true(shift > 0.01 && shift < 0.99);
    for (int i = 0; i < 3; ++i) {
        assert_true(moved[i] >= 0.0 && moved[i] < 1.0);
        check_close(fmod(moved[i] - first[1][i] + 1.0, 1.0), shift, 1e-12, 1.0);
    }
    const double expected[2][3] = {{0.5, 0.75, 0.25}, {0.5, 0.25, 0.75}};
    assert_memory_equal(first[0], expected[0], sizeof expected[0]);
    assert_memory_equal(first[1], expected[1], sizeof expected[1]);
    check_texts("sweep: {sobol: {samples: 3, keys: {air.r0_m: {from: 1, to: 5}, "
                "count: {from: 0, to: 8}}}}\n",
                "count", "4 2 6");
}

static void check_names(const char *sweep, const char *expected)
{
    autoptr(bb_sweep_plan) plan = toy_planned(sweep, NULL);
    autorelease(bb_text) text = {0};
    for (bb_index a = 0; a < plan->sweep->axes.count; ++a) {
        const bb_sweep_axis *axis = &plan->sweep->axes.axes[a];
        check_ok(bb_text_add(&text, "%s%s:", a == 0 ? "" : " ", axis->name));
        for (bb_index k = 0; k < axis->key_count; ++k) {
            check_ok(bb_text_add(&text, "%s%s", k == 0 ? "" : ",", axis->keys[k].name));
        }
    }
    assert_string_equal(bb_text_string(&text), expected);
}

TEST(coordinates_are_named_by_the_last_part)
{
    check_names("sweep: {axes: {air.r0_m: [1, 2], pipelines.a.width: [0, 4]}}\n",
                "r0_m:r0_m width:width");
    check_names("sweep: {axes: {pipelines.a.width: [0, 1], pipelines.b.width: [2, 4]}}\n",
                "pipelines_a_width:pipelines_a_width pipelines_b_width:pipelines_b_width");
    check_names("sweep: {zip: {air.r0_m: [1, 2], length_m: [3, 4]}, seeds: 1..2}\n",
                "zip:r0_m,length_m seed:seed");
    // A single key is its own axis, however it was given.
    check_names("sweep: {lhs: {samples: 4, keys: {air.r0_m: {from: 1, to: 2}}}}\n", "r0_m:r0_m");
    write_text("one.csv", "length_m\n7\n8\n");
    check_names("sweep: {table: one.csv}\n", "length_m:length_m");
}

TEST(pipelines_are_found_by_name_and_number)
{
    autoptr(bb_config) config = NULL;
    bb_problems problems = {0};
    bb_sweep_plan *plan = toy_planned(
        "sweep: {axes: {pipelines.b.width: [3, 4], pipelines.1.width: [6, 7]}}\n", NULL);
    check_ok(bb_sweep_bind(plan->sweep, 1, &problems, &config));
    const toy_study *study = bb_config_study(config);
    const toy_pipeline *lines = study->pipelines.items;
    assert_int_equal(lines[2].width, 3); // the last axis is the fastest
    assert_int_equal(lines[1].width, 7);
    assert_int_equal(lines[0].width, 0);
    bb_sweep_plan_destroy(&plan);
    toy_refused("sweep: {axes: {pipelines.c.width: [3, 4]}}\n", "pipelines");
}

TEST(wrong_axes_are_refused)
{
    static const char *const cases[][2] = {
        {"{axes: {air.r0_m: [1, 2, 1.0]}}", "twice"},
        {"{axes: {count: [1, 2, 1]}}", "twice"},
        {"{axes: {air.r0_m: [1, 2]}, zip: {air.r0_m: [3, 4]}}", "each key only once"},
        {"{axes: {air.r0_m: {from: 0, to: 1, step: 0.3}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: 1, step: -0.5}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: 1, step: 0}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: 1, step: nan}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: inf, step: 1}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 1, to: 1, count: 3}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: 1, count: 1}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: 1, log: 5}}}", "positive"},
        {"{axes: {device: [cpu, auto]}}", "expected a key that affects the results"},
        {"{axes: {air.r0_m: {from: 0, to: 1}}}", "divides the range"},
        {"{axes: {air.r0_m: {from: 0, to: 1, step: 0.5, count: 3}}}", "divides the range"},
        {"{axes: {air.r0_m: []}}", "a list of values"},
        {"{axes: {air.r0_m: 3}}", "a list of values"},
        {"{axes: {experiment: [toy]}}", "affects the results"},
        {"{axes: {title: [a, b]}}", "affects the results"},
        {"{axes: {air.nothing: [1, 2]}}", "nothing"},
        {"{axes: {air.r0_m: [1, 2000]}}", "r0_m"},
        {"{axes: {count: {from: 12, to: 14, step: 1}}}", "unlucky"},
        {"{zip: {air.r0_m: [1, 2], length_m: [1, 2, 3]}}", "equal length"},
        {"{zip: []}", "equal length"},
        {"{lhs: {samples: 0, keys: {air.r0_m: {from: 1, to: 2}}}}", "samples: N"},
        {"{lhs: {samples: 4}}", "samples: N"},
        {"{sobol: {samples: 4, seed: -1, keys: {air.r0_m: {from: 1, to: 2}}}}", "samples: N"},
        {"{lhs: {samples: 4, keys: {air.r0_m: {from: 0, to: 2, log: true}}}}", "samples: N"},
        {"{seeds: 5}", "1..16"},
        {"{seeds: 5..4}", "1..16"},
        {"{seeds: 1..1000000000}", "1..16"},
        {"{axis: {air.r0_m: [1]}}", "axis"},
        {"{}", "no key varies"},
        {"{axes: {length_m: {from: 0, to: 99999, step: 1}, air.r0_m: {from: 0, to: 999, step: 1}}}",
         "points"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char sweep[512];
        (void)snprintf(sweep, sizeof sweep, "sweep: %s\n", cases[i][0]);
        toy_refused(sweep, cases[i][1]);
    }
}

TEST(exclusions_leave_combinations_out)
{
    bb_sweep_plan *plan =
        toy_planned("sweep:\n"
                    "  axes: {air.r0_m: [1, 2, 3], count: [10, 20]}\n"
                    "  exclude: [{air.r0_m: 2.0, count: 20}, {air.r0_m: {from: 3, to: 9}}]\n",
                    NULL);
    // 1x10 1x20 2x10 2x20 3x10 3x20
    static const bool expected[] = {false, false, false, true, true, true};
    for (bb_index p = 0; p < 6; ++p) {
        assert_int_equal(bb_sweep_is_excluded(plan->sweep, p), expected[p]);
    }
    assert_int_equal(bb_sweep_plan_points(plan), 3);
    bb_sweep_plan_destroy(&plan);
    toy_refused("sweep: {axes: {count: [1, 2]}, exclude: [{air.r0_m: 1}]}\n", "not swept");
    toy_refused("sweep: {axes: {count: [1, 2]}, exclude: [{count: 3}]}\n", "none of these values");
    toy_refused("sweep: {axes: {count: [1, 2]}, exclude: [{count: [1, 2]}]}\n",
                "all points are excluded");
    toy_refused("sweep: {axes: {count: [1, 2]}, exclude: {count: 1}}\n", "a list of at most");
    // Excluded points need not be valid studies.
    plan = toy_planned("sweep: {axes: {count: [12, 13, 14]}, exclude: [{count: 13}]}\n", NULL);
    bb_sweep_plan_destroy(&plan);
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);

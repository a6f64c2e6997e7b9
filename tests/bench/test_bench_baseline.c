// SPDX-License-Identifier: Apache-2.0
//
// Baselines of benchmarks: a loss beyond spread and 5 % is a regression.
#include "bench/bench_baseline.h"
#include "tests/sim/fixture.h"

static void write_baseline(const char *rows)
{
    FILE *file = fopen("baseline.yaml", "w");
    bb_device_report report;
    bool is_cuda = true;
    check_ok(bb_bench_describe(&(bb_bench_setup){.cpu_only = true}, &is_cuda, &report));
    assert_false(is_cuda);
    (void)fprintf(file, "device: %s\nrows: [%s]\n", report.name, rows);
    (void)fclose(file);
}

TEST(a_regression_is_a_loss_beyond_spread_and_tolerance)
{
    const bb_baseline_row row = {.ratio = 2.0, .spread = 0.1};
    assert_true(fabs(bb_bench_baseline_least(&row) - 1.7) < 1e-15);
}

TEST(files_are_held_to_their_schema)
{
    autorelease(bb_bench_baseline) baseline;
    write_baseline("{name: a, ratio: 2, spread: 0.1}, {name: b, ratio: 0.5, spread: 0}");
    check_ok(bb_bench_baseline_read("baseline.yaml", &baseline));
    const bb_baseline_row *rows = baseline.rows.items;
    assert_int_equal(baseline.rows.count, 2);
    assert_string_equal(rows[1].name, "b");
    assert_true(rows[0].ratio == 2.0 && rows[0].spread == 0.1);
    bb_bench_baseline_release(&baseline);
    write_baseline("{name: a, ratio: 0, spread: 0.1}");
    check_fails(bb_bench_baseline_read("baseline.yaml", &baseline), BB_INVALID, "rows.0.ratio = 0");
    bb_bench_baseline_release(&baseline);
    check_fails(bb_bench_baseline_read("absent.yaml", &baseline), BB_IO, "absent.yaml");
    bb_bench_baseline_release(&baseline);
    FILE *file = fopen("based.yaml", "w"); // base that an output could replace
    (void)fputs("base: baseline.yaml\n", file);
    (void)fclose(file);
    write_baseline("{name: a, ratio: 1, spread: 0.1}");
    check_fails(bb_bench_baseline_read("based.yaml", &baseline), BB_INVALID, "remove base");
}

// Runs gemv-fp16, of `names`, with sizes for tests against a baseline of it.
static bb_status compare(const char *ratio, char *name, bb_index *slower, bb_text *table)
{
    bb_status status = BB_OK;
    bb_bench_setup setup = {.quick = true, .threads = 1, .cpu_only = true};
    autorelease(bb_bench_baseline) baseline = {0};
    char row[96];
    (void)snprintf(row, sizeof row, "{name: gemv-fp16, ratio: %s, spread: 0.02}", ratio);
    write_baseline(row);
    check_ok(bb_bench_baseline_read("baseline.yaml", &baseline));
    autoptr(bb_results) results = empty_results();
    status = bb_bench_baseline_compare(&setup, &baseline, &name, name == NULL ? 0 : 1, results,
                                       table, slower);
    return status;
}

TEST(what_is_slower_is_marked_and_counted)
{
    autorelease(bb_text) table = {0};
    bb_index slower = -1;
    check_ok(compare("1e-9", NULL, &slower, &table));
    assert_int_equal(slower, 0);
    assert_null(strstr(bb_text_string(&table), "SLOWER"));
    check_ok(compare("1e9", (char[]){"gemv-fp16"}, &slower, &table));
    assert_int_equal(slower, 1);
    assert_non_null(strstr(bb_text_string(&table), "-100.0 %  SLOWER\n"));
    check_fails(compare("1", (char[]){"gemv-fp32"}, &slower, &table), BB_INVALID,
                "the baseline has no row 'gemv-fp32'");
}

TEST(a_baseline_that_is_made_can_be_read)
{
    char *names[] = {(char[]){"gemv-fp16"}};
    bb_bench_setup setup = {.quick = true, .threads = 1, .cpu_only = true};
    bb_bench_baseline baseline = {0};
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = empty_results();
    check_ok(bb_bench_baseline_record(&setup, names, 1, results, &text));
    FILE *file = fopen("baseline.yaml", "w");
    (void)fputs(bb_text_string(&text), file);
    (void)fclose(file);
    check_ok(bb_bench_baseline_read("baseline.yaml", &baseline));
    const bb_baseline_row *row = baseline.rows.items;
    assert_true(row->ratio > 0.0 && row->spread >= 0.0 && row->spread < 1.0);
    bb_bench_baseline_release(&baseline);
    bb_text_release(&text);
    check_fails(bb_bench_baseline_record(&setup, names, 0, results, &text), BB_INVALID,
                "needs the names");
    names[0] = (char[]){"gemv-cuda-fp32"}; // skipped
    bb_results_destroy(&results);
    check_ok(bb_results_create(&results));
    check_fails(bb_bench_baseline_record(&setup, names, 1, results, &text), BB_INVALID,
                "no benchmark has a ratio");
}

TEST_GROUP(.has_folder = true);

// SPDX-License-Identifier: Apache-2.0
//
// bitbudget diff: keys by path, results by pipeline, and the exit code for scripts.
#include "sim/config/difference.h"
#include "sim/output/comparison.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

static const char study_file[] = CONFIG_WAFER_SMALL;
static const char ao_file[] = CONFIG_AO_SMALL;

static void expect_keys(const char *a, const char *b, const char *expected)
{
    const char *const texts[2] = {a, b};
    const char *const names[2] = {"a", "b"};
    autorelease(bb_text) text = {0};
    bb_index count = 0;
    bb_index lines = 0;
    check_ok(bb_difference_write_keys(texts, names, &text, &count));
    assert_string_equal(bb_text_string(&text), expected);
    for (const char *c = expected; *c != '\0'; ++c) {
        lines += *c == '\n';
    }
    assert_int_equal(count, lines);
}

TEST(keys_go_by_their_paths)
{
    expect_keys("a: 1\nb: {c: x, d: [1, 2]}\n", "b: {d: [1, 2], c: x}\na: 1\n", "");
    expect_keys("a: 1\nb: {c: x, d: [1, 2]}\n", "a: 2\nb: {d: [1, 2, 3], e: \"\"}\n",
                "  a: 1 in a, 2 in b\n"
                "  b.c: x in a, absent in b\n"
                "  b.d: [1, 2] in a, [1, 2, 3] in b\n"
                "  b.e: absent in a, \"\" in b\n");
    // Records are matched by name in any order; others by number.
    expect_keys("p: [{name: x, w: 1}, {name: y, w: 2}]\nq: [{h: 1}, {h: 2}]\n",
                "p: [{name: y, w: 3}, {name: x, w: 1}, {name: z}]\nq: [{h: 1}]\n",
                "  p.y.w: 2 in a, 3 in b\n"
                "  p.z: absent in a, {name: z} in b\n"
                "  q.1: {h: 2} in a, absent in b\n");
    expect_keys("a: {b: 1}\n", "a: 3\n", "  a: {b: 1} in a, 3 in b\n");
    autorelease(bb_text) text = {0};
    bb_index count = 0;
    check_fails(bb_difference_write_keys((const char *const[2]){"a: [", "a: 1"},
                                         (const char *const[2]){"x.h5", "y.h5"}, &text, &count),
                BB_IO, "configuration of 'x.h5' is damaged");
}

static void expect_results(const bb_results *a, const bb_results *b, double tolerance,
                           bb_index different, const char *expected)
{
    const bb_comparison pair = {
        bb_experiment_find(&bb_experiments, "wafer"), {a, b}, {"a", "b"}, tolerance};
    autorelease(bb_text) text = {0};
    bb_index count = 0;
    check_ok(bb_comparison_write_results(&pair, &text, &count));
    assert_string_equal(bb_text_string(&text), expected);
    assert_int_equal(count, different);
}

TEST(losses_of_two_definitions_are_told)
{
    static const double loss = 0.1;
    bb_results *files[2];
    autorelease(bb_text) text = {0};
    for (int side = 0; side < 2; ++side) {
        files[side] = empty_results();
        check_ok(results_values(files[side], "results/strehl_loss", "1",
                                side == 0 ? "loss: a" : "loss: b", "", &loss));
    }
    const bb_comparison pair = {
        bb_experiment_find(&bb_experiments, "ao"), {files[0], files[1]}, {"a.h5", "b.h5"}, 0.0};
    check_ok(bb_results_note(files[1], "", "loss_note", "with lag"));
    check_ok(bb_results_note(files[1], "results/strehl_loss", "definition", "whole residual"));
    check_ok(bb_comparison_write_origins(&pair, &text));
    static const char told[] = "definition of the loss:\n  a.h5: not recorded\n"
                               "  b.h5: with lag\ndefinition of strehl_loss:\n"
                               "  a.h5: loss: a\n  b.h5: loss: b\n"
                               "definition of strehl_loss:\n  a.h5: not recorded\n"
                               "  b.h5: whole residual\ndigest";
    assert_memory_equal(bb_text_string(&text), told, sizeof told - 1);
    bb_text_release(&text);
    check_ok(bb_comparison_write_origins(
        &(bb_comparison){pair.experiment, {files[0], files[0]}, {"a.h5", "a.h5"}, 0.0}, &text));
    assert_null(strstr(bb_text_string(&text), "definition"));
    bb_results_destroy(&files[0]);
    bb_results_destroy(&files[1]);
}

TEST(results_go_by_their_pipelines)
{
    autoptr(bb_results) a = empty_results();
    autoptr(bb_results) b = empty_results();
    check_ok(fixture_fill(a));
    check_ok(fixture_fill(b));
    expect_results(a, b, 0.0, 0, "");
    // Times are ignored; NaN equals NaN.
    results_set(b, "results/solve_time_s", 1, 7.0);
    expect_results(a, b, 0.0, 0, "");
    results_set(b, "results/overlay_error_x_nm", 2, 0.5 * (1.0 + 1e-6));
    expect_results(a, b, 0.0, 1,
                   "  fp16: overlay_error_x_nm 0.5 in a, 0.5000005 in b, relative 1e-06\n");
    expect_results(a, b, 1e-5, 0, "");
    results_set(b, "results/overlay_error_x_nm", 2, NAN);
    results_set_text(b, "results/status", 2, "not_spd");
    results_set(b, "results/by", 3, 5.0);
    results_set(b, "results/total", 0, 4.0);
    expect_results(a, b, 1e-5, 4,
                   "  fp16: status ok in a, not_spd in b\n"
                   "  fp16: overlay_error_x_nm 0.5 in a, nan in b\n"
                   "  by: 1 of 8 values differ, relative 0.2 at most (fp32)\n"
                   "  total: 1 of 1 values differ, relative 0.75 at most\n");
    // The order of pipelines is not a difference.
    static const char *const names[] = {"fp16", "reference", "new"};
    static const double bytes[] = {2e6, 8e6, 1e6};
    autoptr(bb_results) c = empty_results();
    check_ok(results_text_axis(c, "results/pipeline", "pipeline", 3, names));
    check_ok(results_values(c, "results/operator_bytes", "byte", "bytes", "pipeline", bytes));
    check_ok(results_values(c, "results/extra", "1", "more", "pipeline", bytes));
    const bb_comparison pair = {
        bb_experiment_find(&bb_experiments, "wafer"), {a, c}, {"a", "c"}, 0.0};
    autorelease(bb_text) text = {0};
    bb_index count = 0;
    check_ok(bb_comparison_write_results(&pair, &text, &count));
    assert_non_null(strstr(text.data, "  fp32: only in a\n  hp3: only in a\n  new: only in c\n"));
    assert_non_null(strstr(text.data, "  series: only in a\n"));
    assert_non_null(strstr(text.data, "  extra: only in c\n"));
    assert_null(strstr(text.data, "operator_bytes"));
}

TEST_FULL(the_exit_code_tells)
{
    CALL("run", study_file, "-q", "-o", "one.h5");
    CALL("run", study_file, "-q", "-o", "two.h5", "--threads", "1");
    CALL("run", study_file, "-q", "-o", "three.h5", "pipelines.6.storage=e5m2", "title=another");
    CALL_EXPECT(0, "configuration: equal\nresults except times: equal\n", "diff", "one.h5",
                "two.h5");
    program_expect(&run, 0, " in both\n");
    CALL_EXPECT(1, "configuration: 2 keys differ\n  title: a small wafer study", "diff", "one.h5",
                "three.h5");
    program_expect(&run, 1, "  pipelines.e4m3.storage.codec: e4m3 in one, e5m2 in three\n");
    program_expect(&run, 1, "  e4m3: overlay_error_x_nm ");
    program_expect(&run, 1, "digest of all except times: ");
    assert_null(strstr(run.printed, "bitbudget: "));
    CALL_EXPECT(2, "--tolerance -1: use a number of at least 0", "diff", "one.h5", "three.h5",
                "--tolerance", "-1");
    CALL("run", ao_file, "-q", "-o", "ao.h5");
    CALL_EXPECT(2, "'one.h5' is a result of wafer, 'ao.h5' of ao", "diff", "one.h5", "ao.h5");
    CALL_EXPECT(3, "cannot compare 'none.h5': No such file", "diff", "one.h5", "none.h5");
    CALL_EXPECT(2, "wrong number of operands (1)", "diff", "one.h5");
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);

// SPDX-License-Identifier: Apache-2.0
#include "sim/output/summary.h"
#include "tests/sim/fixture.h"

static void write_table(double within, bb_text *out)
{
    autoptr(bb_results) results = fixture_results();
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, within, out));
}

TEST(columns_are_aligned_and_the_front_is_marked)
{
    autorelease(bb_text) text = {0};
    write_table(NAN, &text);
    const char *expected =
        "  pipeline   status   overlay x [nm]  overlay y [nm]   operator [MB]      solve [ms]\n"
        "* reference  ok                    0               0           8.000           2.000\n"
        "* fp32       ok              0.01000         0.02000           4.000           1.000\n"
        "* fp16       ok               0.5000          0.2500           2.000          0.5000\n"
        "  hp3        not_spd               -               -           2.000               -\n"
        "* on the Pareto front of overlay error [nm] and bytes\n";
    assert_string_equal(bb_text_string(&text), expected);
}

static void cheapest_within(double loss, const char *expected)
{
    autorelease(bb_text) text = {0};
    write_table(loss, &text);
    if (strstr(bb_text_string(&text), expected) == NULL) {
        print_error("no '%s' in\n%s", expected, bb_text_string(&text));
        fail();
    }
}

TEST(the_cheapest_within_a_loss)
{
    cheapest_within(1.0, "cheapest within overlay error [nm] 1: fp16 (loss 0.5000, 2.000 MB)");
    // The loss is the larger of x and y.
    cheapest_within(0.02, "0.02: fp32 (loss 0.02000");
    cheapest_within(0.015, "0.015: reference");
    cheapest_within(0.0, "0: reference");
}

TEST(dominated_pipelines_are_not_marked)
{
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = fixture_results();
    results_set(results, "results/operator_bytes", 1, 9e6);
    results_set(results, "results/solve_time_s", 1, 3e-3);
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, 1e-9, &text));
    assert_non_null(strstr(text.data, "\n  fp32 "));
    assert_non_null(strstr(text.data, "\n* reference "));
    results_set(results, "results/overlay_error_x_nm", 0, NAN);
    bb_text_release(&text);
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, 1e-9, &text));
    assert_non_null(strstr(text.data, "no pipeline is within overlay error [nm] 1e-09"));
}

// Marks of fp32 and fp16 with given times in ms on a device, where fp32 has the bytes and loss of
// fp16.
static void check_marks(const char *device, double fp32_ms, double fp16_ms, const char *marks)
{
    const char *const devices[] = {device, device, device, "cpu"};
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = fixture_results();
    check_ok(results_texts(results, "results/device", "device", "pipeline", devices));
    results_set(results, "results/operator_bytes", 1, 2e6);
    results_set(results, "results/overlay_error_x_nm", 1, 0.5);
    results_set(results, "results/solve_time_s", 1, 1e-3 * fp32_ms);
    results_set(results, "results/solve_time_s", 2, 1e-3 * fp16_ms);
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, NAN, &text));
    const char *fp32 = strstr(text.data, " fp32 ");
    const char *fp16 = strstr(text.data, " fp16 ");
    assert_non_null(fp32);
    assert_non_null(fp16);
    if (fp32[-1] != marks[0] || fp16[-1] != marks[1]) {
        print_error("%s, %g and %g ms: not marked '%s' in\n%s", device, fp32_ms, fp16_ms, marks,
                    text.data);
        fail();
    }
}

// Times of a cpu mark nothing; times of a GPU do, except differences within the noise.
TEST(time_counts_where_it_is_the_formats)
{
    check_marks("cpu", 1.0, 5.0, "**");
    check_marks("cuda", 1.0, 5.0, "* ");
    check_marks("cuda", 5.0, 1.0, " *");
    check_marks("cuda", 1.0, 1.08, "**");
    check_marks("cuda", 1.08, 1.0, "**");
}

// A format without any remaining correction has the fewest bytes but is excluded.
TEST(a_lost_answer_is_never_marked)
{
    static const double errors[] = {0.0, 1e-6, 0.9996, NAN};
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = fixture_results();
    check_ok(
        results_values(results, "results/qoi_relative_error", "1", "error", "pipeline", errors));
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, NAN, &text));
    assert_non_null(strstr(text.data, "\n* fp32 "));
    assert_non_null(strstr(text.data, "\n  fp16 "));
}

// A pipeline with late corrections is not cheap because of its format.
TEST(a_residual_is_part_of_the_loss)
{
    static const double residual[] = {0.0, 0.9, 0.5, NAN};
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = fixture_results();
    check_ok(results_values(results, "results/overlay_residual_nm", "nm", "residual", "pipeline",
                            residual));
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, 0.02, &text));
    assert_non_null(strstr(text.data, "residual [nm]"));
    assert_non_null(strstr(text.data, "0.02: reference (loss 0"));
}

// The worst draw is the loss; a pipeline that is lost in some draws is excluded.
TEST(the_worst_draw_is_the_headline)
{
    static const char *const names[] = {"reference", "fp32", "fp16", "hp3"};
    static const char *const statuses[] = {"ok", "ok", "unsafe", "not_spd"};
    static const struct {
        const char *path;
        double values[4];
    } columns[] = {
        {"results/overlay_error_x_nm", {0.0, 0.01, 0.5, NAN}},
        {"results/overlay_error_y_nm", {0.0, 0.02, 0.25, NAN}},
        {"results/strehl_loss", {0.0, 0.01, 0.5, NAN}},
        {"results/operator_bytes", {8e6, 4e6, 2e6, 2e6}},
        {"results/draws", {1.0, 16.0, 16.0, 16.0}},
        {"results/loss_worst", {0.0, 0.03, 0.6, NAN}},
    };
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = empty_results();
    check_ok(results_text_axis(results, "results/pipeline", "pipeline", 4, names));
    check_ok(results_texts(results, "results/status", "outcome", "pipeline", statuses));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        check_ok(results_values(results, columns[i].path, "1", "a column", "pipeline",
                                columns[i].values));
    }
    // Two losses of one draw, then the worst of both over the draws.
    check_ok(
        bb_summary_write_full(bb_experiment_find(&bb_experiments, "wafer"), results, 0.02, &text));
    assert_non_null(strstr(text.data, "overlay y [nm]  overlay error [nm] (worst of 16)   oper"));
    assert_non_null(strstr(text.data, "\n* fp32       ok              0.01000         0.02000"
                                      "                           0.03000"));
    assert_non_null(strstr(text.data, "\n  fp16       unsafe "));
    assert_non_null(strstr(text.data, "0.02: reference (loss 0"));
    bb_text_release(&text);
    // With a single loss, the worst draw replaces it.
    check_ok(bb_summary_write_full(bb_experiment_find(&bb_experiments, "ao"), results, 0.5, &text));
    assert_non_null(strstr(text.data, "status   strehl loss (worst of 16)   operator [MB]"));
    assert_non_null(strstr(text.data, "0.5: fp32 (loss 0.03000"));
}

// Marks of reference, fp32 and fp16 of an ao table with these losses, and 8, 4 and 2 MB.
static void check_loss_marks(const double losses[3], const char *marks)
{
    static const char *const names[] = {"reference", "fp32", "fp16"};
    static const double bytes[] = {8e6, 4e6, 2e6};
    double strehls[3];
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = empty_results();
    fill_array(strehls, 3, i, 0.5 - losses[i]);
    check_ok(results_text_axis(results, "results/pipeline", "pipeline", 3, names));
    check_ok(results_values(results, "results/strehl", "1", "Strehl", "pipeline", strehls));
    check_ok(results_values(results, "results/strehl_loss", "1", "loss", "pipeline", losses));
    check_ok(
        results_values(results, "results/operator_bytes", "byte", "stored", "pipeline", bytes));
    check_ok(bb_summary_write_full(bb_experiment_find(&bb_experiments, "ao"), results, NAN, &text));
    for (int i = 0; i < 3; ++i) {
        const char *row = strstr(text.data, names[i]);
        assert_non_null(row);
        if (row[-2] != marks[i]) {
            print_error("%s is not marked '%c' in\n%s", names[i], marks[i], text.data);
            fail();
        }
    }
}

// A negative loss is not a gain over the reference; one within its rounding error is 0.
TEST(rounding_that_raises_the_score_is_no_gain)
{
    check_loss_marks((const double[3]){0.0, -5.9e-9, 1e-5}, "***");
    check_loss_marks((const double[3]){0.0, -1e-5, 1e-6}, "* *");
    check_loss_marks((const double[3]){0.0, -1e-15, -2e-13}, "  *");
    check_loss_marks((const double[3]){0.0, 1e-15, 1e-11}, " **");
}

TEST(results_without_pipelines_are_refused)
{
    bb_text text = {0};
    autoptr(bb_results) results = empty_results();
    check_fails(bb_summary_write_full(bb_experiments.rows[0], results, NAN, &text), BB_INVALID,
                "without an axis 'pipeline'");
}

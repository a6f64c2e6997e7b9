// SPDX-License-Identifier: Apache-2.0
//
// Pictures and tables of a collected sweep: positions for data written manually, and from the
// program.
#include "sim/report/plot.h"
#include "sim/report/swept.h"
#include "tests/sim/program.h"
#include "tests/sim/report/sweep_fixture.h"

static bb_plot_scene scene_of(void)
{
    return (bb_plot_scene){.results = results,
                           .experiment = bb_experiment_find(&bb_experiments, "ao")};
}

static void draw(const bb_plot_scene *scene, const char *kind, bb_figure *out)
{
    *out = (bb_figure){.format = BB_FIGURE_SVG, .width_cm = 8.5, .height_cm = NAN};
    check_ok(bb_plot_draw(scene, kind, out));
}

static void has(const bb_text *text, const char *expected)
{
    if (strstr(bb_text_string(text), expected) == NULL) {
        print_error("no '%s' in\n%s", expected, bb_text_string(text));
        fail();
    }
}

// Worst losses, the front of only the safe ones, and a cross for the choice that failed once.
TEST(choices_land_where_they_should)
{
    autorelease(bb_figure) figure;
    const bb_plot_scene scene = scene_of();
    draw(&scene, "pareto", &figure);
    has(&figure.data, "# stairs\n# the front in order of increasing bytes\n2 0.004\n4 6e-06\n8 ");
    has(&figure.data, "# others\n# operator [MB], loss\n3 0.006\n");
    has(&figure.data, "# unsafe\n# operator [MB], loss\n1 0.001\n");
    has(&figure.script, "set label 'worst strehl loss'");
    has(&figure.hovers, "<title>h&#39;&quot;&lt;b&gt;&amp;3, width 0: worst strehl loss 0.001, "
                        "operator as stored [MB] 1, failed at some conditions</title>");
}

// Cells of the pipeline whose key is drawn; the failed one is grey and hatched.
TEST(cells_land_where_they_should)
{
    autorelease(bb_figure) figure;
    bb_plot_scene scene = scene_of();
    draw(&scene, "heatmap", &figure);
    has(&figure.data, "\n0 0 -0.5 0.5 -0.5 0.5 0x440154 0.001\n"
                      "1 0 0.5 1.5 -0.5 0.5 0xb0b0b0 nan\n0 1 ");
    has(&figure.data, "\n1 2 0.5 1.5 1.5 2.5 0xfde725 0.006\n");
    has(&figure.data, "# hatch\n# lines across cells of failed points\n0.500 0.000\n1.000 0.500\n");
    has(&figure.script, "Hatched: failed at some points; grey: failed");
    has(&figure.script, "set label 'width [tiles]'");
    has(&figure.hovers, "<title>r0_m 0.2, width 0, failed at 1 of 1</title>");
    has(&figure.hovers, "<title>r0_m 0.2, width 4: strehl loss 0.006</title>");
    bb_figure_release(&figure);
    // Over all pipelines: the worst of the widths, hatched and coloured if one of them failed.
    scene.y = "pipeline";
    draw(&scene, "heatmap", &figure);
    has(&figure.data, "\n0 2 -0.5 0.5 1.5 2.5 0x");
    has(&figure.data, " 0.005\n1 2 0.5 1.5 1.5 2.5 0xfde725 0.006\n");
    has(&figure.data, "points\n0.500 2.000\n");
    has(&figure.script, "Worst value (largest) over width.");
    has(&figure.hovers, ": strehl loss 0.006, failed at 1 of 3</title>");
    bb_figure_release(&figure);
    // For a ratio the smallest is the worst.
    scene = scene_of();
    scene.x = "pipelines." SWEEP_FIXTURE_NAME ".policy.width";
    scene.y = "r0_m";
    scene.pipeline = "sp";
    scene.value = "compression_ratio";
    draw(&scene, "heatmap", &figure);
    has(&figure.data, "\n2 1 1.5 2.5 0.5 1.5 0x21918c 1\n");
    has(&figure.script, "Pipeline sp.");
}

TEST(lines_break_where_points_failed)
{
    autorelease(bb_figure) figure;
    const bb_plot_scene scene = scene_of();
    draw(&scene, "lines", &figure);
    has(&figure.data, "# line 0\n# key, worst value; nan: all failed\n0.1 0.001\n0.2 nan\n");
    has(&figure.data, "# failed 0\n# key, the lower edge where a point failed\n0.2 0.00");
    has(&figure.data, "# failed 1\n# key, the lower edge where a point failed\nnan nan\n");
    has(&figure.data, "# line 2\n# key, worst value; nan: all failed\n0.1 0.005\n0.2 0.006\n");
    has(&figure.script, "set label 'width 0'");
}

TEST(wrong_words_are_named)
{
    autorelease(bb_figure) figure = {.width_cm = 8.5, .height_cm = NAN};
    bb_plot_scene scene = scene_of();
    scene.x = "r0";
    check_fails(bb_plot_draw(&scene, "heatmap", &figure), BB_INVALID, "--x r0: not a swept");
    scene.x = scene.y = "r0_m";
    check_fails(bb_plot_draw(&scene, "lines", &figure), BB_INVALID, "--x and --y are both r0_m");
    scene = scene_of();
    scene.pipeline = "spp";
    check_fails(bb_plot_draw(&scene, "lines", &figure), BB_INVALID, "(did you mean sp?)");
    scene.pipeline = NULL;
    scene.value = "status";
    check_fails(bb_plot_draw(&scene, "lines", &figure), BB_INVALID, "--value status: use");
    check_fails(bb_plot_draw(&scene, "psf", &figure), BB_INVALID,
                "picture 'psf' is not available for this file");
}

// Kinds use all given options, or refuse them.
TEST(options_of_other_kinds_are_refused)
{
    autorelease(bb_figure) figure = {.width_cm = 8.5, .height_cm = NAN};
    bb_plot_scene scenes[6];
    static const char *const refused[] = {
        "--x is valid only for heatmap and lines, not for 'pareto'",
        "--y is valid only for heatmap and lines, not for 'pareto'",
        "--pipeline is valid only for heatmap and lines, not for 'pareto'",
        "--value is valid only for heatmap and lines, not for 'pareto'",
        "--exposure is valid only for heat, not for 'lines'",
        "--step is valid only for heat, not for 'lines'"};
    for (int i = 0; i < 6; ++i) {
        scenes[i] = scene_of();
    }
    scenes[0].x = "r0_m";
    scenes[1].y = "r0_m";
    scenes[2].pipeline = "sp";
    scenes[3].value = "loss";
    scenes[4].exposure = "8";
    scenes[5].step = 1;
    for (int i = 0; i < 6; ++i) {
        check_fails(bb_plot_draw(&scenes[i], i < 4 ? "pareto" : "lines", &figure), BB_INVALID,
                    refused[i]);
    }
    CALL_EXPECT(2, "--value is valid only for heatmap and lines", "plot", "s.h5", "--kind",
                "pareto", "--value", "loss", "-o", "no.svg");
}

TEST(answers_name_the_worst_point)
{
    autorelease(bb_swept) swept;
    autorelease(bb_text) text = {0};
    check_ok(bb_swept_read(results, bb_experiment_find(&bb_experiments, "ao"), &swept));
    check_ok(bb_swept_answer(&swept, NAN, &text));
    assert_string_equal(
        text.data,
        "4 of 5 choices finish at every condition. Fewest bytes among them: " SWEEP_FIXTURE_NAME
        ", width 2, 2 MB, strehl loss at "
        "worst 0.004 (r0_m 0.2, width 2).");
    bb_text_release(&text);
    check_ok(bb_swept_answer(&swept, 1e-5, &text));
    has(&text, "with strehl loss of at most 1e-05 at every condition: sp, 4 MB, ");
    assert_int_equal(bb_swept_best(&swept, -1.0), -1);
    // Losses of pictures equal those of the statistics.
    for (bb_index i = 0; i < swept.choice_count; ++i) {
        const bb_index worst = swept.choices[i].worst_point;
        double largest = 0.0;
        for (bb_index p = 0; p < 3; ++p) {
            if (strcmp(swept.pipelines->texts[p], swept.choices[i].pipeline) == 0) {
                largest = bb_swept_number(&swept, "loss", worst, p);
            }
        }
        check_relative(largest, swept.choices[i].loss_most, 1e-12);
    }
}

TEST(partial_searches_are_named)
{
    static const double index[] = {0};
    static const char *const answers[] = {"width = 2"};
    autoptr(bb_results) partial = empty_results();
    autorelease(bb_swept) swept;
    autorelease(bb_text) text = {0};
    check_ok(sweep_fixture_fill(partial));
    check_ok(sweep_fixture_judge(partial));
    check_ok(results_axis(partial, "search/group", "1", "group", 1, index));
    check_ok(results_texts(partial, "search/answer", "answer", "group", answers));
    check_ok(bb_results_note(partial, "", "status", "partial"));
    check_ok(bb_results_note(partial, "", "status_reason", "the search has not ended"));
    check_ok(bb_swept_read(partial, bb_experiment_find(&bb_experiments, "ao"), &swept));
    check_ok(bb_swept_answer(&swept, NAN, &text));
    assert_string_equal(text.data, "width = 2. Partial result: the search has not ended.");
}

// Plan that was ended early, whose cheapest choice has an unknown loss at a point.
TEST(partial_sweeps_and_unknown_losses_are_named)
{
    static const double without_loss[] = {0, 0, 0, 1, 0};
    autoptr(bb_results) partial = empty_results();
    autorelease(bb_swept) swept;
    autorelease(bb_text) text = {0};
    autorelease(bb_figure) figure = {.format = BB_FIGURE_SVG, .width_cm = 16.0, .height_cm = 10.0};
    check_ok(sweep_fixture_fill(partial));
    check_ok(sweep_fixture_judge(partial));
    check_ok(results_values(partial, "statistics/points_without_loss", "1", "statistic", "choice",
                            without_loss));
    check_ok(bb_results_note(partial, "", "status", "partial"));
    check_ok(bb_results_note(partial, "", "status_reason", "6 of 12 planned points were run"));
    check_ok(bb_swept_read(partial, bb_experiment_find(&bb_experiments, "ao"), &swept));
    check_ok(bb_swept_answer(&swept, 1.0, &text));
    assert_string_equal(
        text.data,
        "4 of 5 choices finish at every condition that was run. Partial result: 6 of 12 planned "
        "points were run. Loss unknown: " SWEEP_FIXTURE_NAME ", width 2 (1 of 2). Fewest "
        "bytes with strehl loss of at most 1 at every condition that was run: " SWEEP_FIXTURE_NAME
        ", width 4, 3 MB, strehl loss at worst 0.006 (r0_m 0.2, width 4).");
    assert_false(bb_swept_is_front(&swept, 3));
    check_ok(bb_figure_begin(&figure, partial, NULL));
    has(&figure.script, "6 of 12 planned points were run");
}

// A negative worst loss is rounding: it removes nothing from the front.
TEST(negative_losses_leave_the_reference_on_the_front)
{
    bb_swept_choice choices[] = {{.loss_most = 0.0, .bytes = 8e6},
                                 {.loss_most = -5.9e-9, .bytes = 4e6},
                                 {.loss_most = -1e-6, .bytes = 4e6}};
    const bb_swept swept = {.choices = choices, .choice_count = 3};
    assert_true(bb_swept_is_front(&swept, 0));
    assert_true(bb_swept_is_front(&swept, 1));
    assert_false(bb_swept_is_front(&swept, 2));
}

static void call(const char *const more[6], int code, const char *expected)
{
    const char *arguments[PROGRAM_ARGUMENTS] = {NULL};
    fill_array(arguments, 6, i, more[i]);
    program_call(arguments, &run);
    program_expect(&run, code, expected);
}

TEST(program_shows_and_draws)
{
    call((const char *const[6]){"show", "s.h5"}, 0, "4 of 5 choices finish at every condition.");
    call((const char *const[6]){"show", "s.h5", "--format", "csv"}, 0,
         "pipeline,points,points_failed,share_failed_bound,loss_median");
    call((const char *const[6]){"show", "s.h5", "--max-loss", "1e-9", "--format", "json"}, 0,
         "with strehl loss of at most 1e-09 at every condition: reference");
    call((const char *const[6]){"show", "s.h5", "s.h5"}, 2, "show it separately");
    call((const char *const[6]){"show", "s.h5", "--full"}, 2, "need a single run");
    call((const char *const[6]){"plot", "s.h5", "--list"}, 0, "heatmap  ");
    call((const char *const[6]){"plot", "s.h5", "--kind", "heatmap", "-o", "a.svg"}, 0, "a.svg");
    call((const char *const[6]){"plot", "s.h5", "--kind", "lines", "-o", "a.pdf"}, 0, "a.pdf");
    call((const char *const[6]){"plot", "s.h5", "--kind", "pareto", "-o", "b.tex"}, 0, "b.tex");
}

TEST_GROUP(.begin = sweep_fixture_begin, .end = sweep_fixture_end, .has_folder = true);

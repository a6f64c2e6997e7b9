// SPDX-License-Identifier: Apache-2.0
//
// Pictures of losses: positions for data written manually, and pictures of the program as users run
// it.
#include "core/file.h"
#include "core/memory.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/report/plot.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

#include <sys/stat.h>

static bb_results *results;

static void draw(const char *kind, bb_figure_format format, bb_figure *out)
{
    const bb_plot_scene scene = {.results = results,
                                 .experiment = bb_experiment_find(&bb_experiments, "wafer")};
    *out = (bb_figure){.format = format, .width_cm = 8.5, .height_cm = NAN};
    check_ok(bb_plot_draw(&scene, kind, out));
}

static void has(const bb_text *text, const char *expected)
{
    if (strstr(bb_text_string(text), expected) == NULL) {
        print_error("no '%s' in\n%s", expected, bb_text_string(text));
        fail();
    }
}

// Losses are the larger of x and y, bytes in MB, the front in order of bytes; the failed one is
// listed but not drawn, the loss of 0 is on the lower edge.
TEST(values_land_where_they_should)
{
    autorelease(bb_figure) figure;
    draw("pareto", BB_FIGURE_SVG, &figure);
    has(&figure.data, "# stairs\n# the front in order of increasing bytes\n2 0.5\n4 0.02\n8 ");
    has(&figure.data, "# front\n# operator [MB], loss\n8 ");
    has(&figure.data, "\n4 0.02\n2 0.5\n");
    has(&figure.data, "# unsafe\n# operator [MB], loss\nnan nan\n");
    has(&figure.script, "Not drawn: hp3 (not\\_spd). On the lower edge");
    has(&figure.script, "set label 'overlay error [nm]'");
    has(&figure.script, "set label 'fp16' at screen");
    assert_null(strstr(figure.script.data, "set label 'hp3'"));
}

TEST(kinds_that_lack_something_say_what)
{
    const bb_plot_scene scene = {.results = results,
                                 .experiment = bb_experiment_find(&bb_experiments, "wafer")};
    autorelease(bb_figure) figure = {.width_cm = 8.5};
    autorelease(bb_text) list = {0};
    check_fails(bb_plot_draw(&scene, "paretto", &figure), BB_INVALID, "did you mean pareto?");
    check_fails(bb_plot_draw(&scene, "draws", &figure), BB_INVALID,
                "/results/draws; use a file of 'bitbudget run' of pipelines with draws");
    check_ok(bb_plot_list(&scene, &list));
    has(&list, "pareto             loss against bytes");
    has(&list, "not available for this file:\n");
    has(&list, "draws              needs ");
}

TEST(ranges_leave_room)
{
    const double numbers[] = {NAN, 0.0, -1.0, 2.0, 2.0, INFINITY};
    double low = 0.0;
    double high = 0.0;
    bb_plot_range(numbers, 6, &low, &high);
    check_relative(low, 2.0 / 1.5, 1e-12);
    check_relative(high, 3.0, 1e-12);
    bb_plot_range(numbers, 3, &low, &high);
    check_relative(low, 0.1, 1e-12);
    check_relative(high, 10.0, 1e-12);
}

static void plot(const char *const more[6], int code, const char *expected)
{
    const char *arguments[PROGRAM_ARGUMENTS] = {"plot", "f.h5"};
    for (int i = 0; i < 6; ++i) {
        arguments[i + 2] = more[i];
    }
    program_call(arguments, &run);
    program_expect(&run, code, expected);
}

TEST(program_draws_every_format)
{
    static const char *const files[] = {"a.pdf", "a.svg", "a.png", "b.tex"};
    for (int f = 0; f < 4; ++f) {
        plot((const char *const[6]){"--kind", "pareto", "-o", files[f], "--script", "--force"}, 0,
             files[f]);
        assert_int_equal(access(files[f], F_OK), 0);
    }
    assert_int_equal(access("b.pdf", F_OK), 0);
    // The written script draws the same picture, byte for byte.
    plot((const char *const[6]){"--kind", "pareto", "-o", "c.svg", "--script"}, 0, "c.svg");
    assert_int_equal(system("cp c.svg kept.svg && gnuplot c.gp && cmp c.svg kept.svg"), 0);
    plot((const char *const[6]){"--kind", "pareto", "-o", "c.svg", "--force"}, 0, "c.svg");
    assert_int_equal(system("cmp c.svg kept.svg"), 0);
}

// File names never appear in scripts, so that quotes, commands and pipes in them are harmless. The
// written script draws under its own name too.
TEST(names_of_pictures_are_not_run)
{
    static const char *const stems[] = {"o'; system 'cd; touch ran'; b='", "it's", "|touch ran",
                                        "a\"`touch ran`"};
    char path[64];
    assert_int_equal(mkdir("odd", 0777), 0);
    assert_int_equal(mkdir("odd/tmp", 0777), 0);
    assert_int_equal(setenv("TMPDIR", "odd/tmp", 1), 0); // relative
    assert_int_equal(setenv("HOME", "odd", 1), 0);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; ++i) {
        (void)snprintf(path, sizeof path, "odd/%s.svg", stems[i]);
        plot((const char *const[6]){"--kind", "pareto", "-o", path, "--script"}, 0, "picture: ");
        assert_int_equal(access(path, F_OK), 0);
        (void)snprintf(path, sizeof path, "odd/%s.gp", stems[i]);
        assert_int_equal(rename(path, "odd/moved.gp"), 0);
        (void)snprintf(path, sizeof path, "odd/%s.dat", stems[i]);
        assert_int_equal(rename(path, "odd/moved.dat"), 0);
        (void)snprintf(path, sizeof path, "odd/%s.svg", stems[i]);
        assert_int_equal(rename(path, "odd/first.svg"), 0);
        assert_int_equal(system("cd odd && gnuplot moved.gp && cmp moved.svg first.svg"), 0);
    }
    plot((const char *const[6]){"--kind", "pareto", "-o", "odd/it's.tex"}, 0, "picture: ");
    assert_int_equal(system("grep -q \"{it's}\" \"odd/it's.tex\" && test -f \"odd/it's.pdf\""), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(access("odd/ran", F_OK), -1);
    assert_int_equal(access("ran", F_OK), -1);
    assert_int_equal(rmdir("odd/tmp"), 0);
}

TEST(program_refuses)
{
    plot((const char *const[6]){"--kind", "pareto", "-o", "f.jpg"}, 2, "must end in .pdf, .svg");
    plot((const char *const[6]){"--kind", "paret", "-o", "g.svg"}, 2, "did you mean pareto?");
    plot((const char *const[6]){"--kind", "pareto"}, 2, "plot needs --kind KIND and -o FILE");
    plot((const char *const[6]){"--kind", "pareto", "-o", "no/g.svg"}, 3, "output folder 'no'");
    plot((const char *const[6]){"--kind", "pareto", "-o", "g.svg", "--size", "3"}, 2, "--size 3");
    plot((const char *const[6]){"--kind", "pareto", "-o", "g.svg", "-q"}, 0, "");
    plot((const char *const[6]){"--kind", "pareto", "-o", "g.svg"}, 3, "exists");
    assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
    plot((const char *const[6]){"--kind", "pareto", "-o", "h.svg"}, 3,
         "set TMPDIR to another folder");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    const char *path = getenv("PATH");
    char *kept = strdup(path);
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    plot((const char *const[6]){"--kind", "pareto", "-o", "h.svg"}, 2,
         "install the package gnuplot-nox");
    assert_int_equal(setenv("PATH", kept, 1), 0);
    free(kept);
    assert_int_equal(access("h.svg", F_OK), -1);
}

// Truncated files, as on a full disk, are refused.
TEST(program_delivers_no_part)
{
    struct rlimit present;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &present), 0);
    const struct rlimit few = {6000, present.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    plot((const char *const[6]){"--kind", "pareto", "-o", "part.svg"}, 3, "gnuplot");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &present), 0);
    assert_int_equal(access("part.svg", F_OK), -1);
}

static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    results = fixture_results();
    check_ok(bb_provenance_end(results));
    write_results(results, "f.h5");
    return 0;
}

static void leave(void)
{
    bb_results_destroy(&results);
}

TEST_GROUP(.has_folder = true, .begin = begin, .end = leave);

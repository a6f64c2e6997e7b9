// SPDX-License-Identifier: Apache-2.0
//
// Texts passed to gnuplot: names with arbitrary characters, sizes, positions of names.
#include "sim/report/cloud.h"
#include "sim/report/gnuplot.h"
#include "tests/sim/fixture.h"

#include <unistd.h>

static void said(bb_figure_format format, const char *text, const char *expected)
{
    autorelease(bb_figure) figure = {.format = format, .width_cm = 10.0, .height_cm = 10.0};
    check_ok(bb_figure_add_text(&figure, "set label ", text, 8.0, "\n"));
    assert_string_equal(bb_text_string(&figure.script), expected);
}

TEST(texts_show_as_they_are)
{
    said(BB_FIGURE_SVG, "hp2_band-3", "set label 'hp2\\_band-3'\n");
    said(BB_FIGURE_PDF, "a'b{c}^d@e&f~g\\h", "set label 'a{\\047}b\\{c\\}\\^d\\@e\\&f\\~g\\\\h'\n");
    said(BB_FIGURE_PNG, "`touch x` \n\"$PATH\"", "set label '`touch x` ?\"$PATH\"'\n");
    // Quotes by their codes: gnuplot reads two in a row as one, but not four as two.
    said(BB_FIGURE_TEX, "50%_a'\\\"x",
         "set label '\\fontsize{8}{9.6}\\selectfont 50\\%\\_a{\\char39}\\textbackslash{}"
         "{\\ttfamily\\char34}x'\n");
}

TEST(endings_name_formats)
{
    bb_figure_format format = BB_FIGURE_PDF;
    check_ok(bb_figure_format_of("a/b.c.svg", &format));
    assert_int_equal(format, BB_FIGURE_SVG);
    check_ok(bb_figure_format_of("x.tex", &format));
    assert_int_equal(format, BB_FIGURE_TEX);
    check_fails(bb_figure_format_of("a/.pdf", &format), BB_INVALID, "must end in .pdf, .svg");
    check_fails(bb_figure_format_of("a.jpg", &format), BB_INVALID, "'a.jpg'");
}

TEST(sizes_are_in_centimetres)
{
    double width = 0.0;
    double height = 0.0;
    check_ok(bb_figure_size("8.5x6", &width, &height));
    check_relative(width, 8.5, 0.0);
    check_relative(height, 6.0, 0.0);
    check_ok(bb_figure_size("17", &width, &height));
    assert_true(isnan(height));
    check_fails(bb_figure_size("17x", &width, &height), BB_INVALID, "WIDTHxHEIGHT");
    check_fails(bb_figure_size("nanx5", &width, &height), BB_INVALID, "nanx5");
    check_fails(bb_figure_size("170x5", &width, &height), BB_INVALID, "from 4 to 100");
}

static bool meet(const bb_placement *a, const bb_placement *b)
{
    return fabs(a->name_x - b->name_x) < 0.5 * (a->width + b->width) &&
           fabs(a->name_y - b->name_y) < 0.5 * (a->height + b->height);
}

// Twelve coincident points and one in a corner: no names overlap, leave the axes or cover reserved
// regions.
TEST(names_do_not_meet)
{
    enum { COUNT = 13 };
    bb_placement places[COUNT];
    const bb_figure_box axes = {1.0, 1.0, 9.0, 9.0};
    const bb_figure_box kept = {5.2, 4.9, 9.0, 5.1};
    for (int i = 0; i < COUNT; ++i) {
        places[i] = (bb_placement){.x = 5.0 + 0.01 * i, .y = 5.0, .width = 1.2, .height = 0.3};
    }
    places[COUNT - 1].x = 9.0;
    places[COUNT - 1].y = 9.0;
    bb_placement_run(places, COUNT, axes, &kept, 1);
    for (int i = 0; i < COUNT; ++i) {
        assert_true(places[i].name_x - 0.6 >= axes.x_low && places[i].name_x + 0.6 <= axes.x_high);
        assert_true(places[i].name_y - 0.15 >= axes.y_low &&
                    places[i].name_y + 0.15 <= axes.y_high);
        assert_true(places[i].name_y > 5.24 || places[i].name_y < 4.76 ||
                    places[i].name_x + 0.6 < 5.2);
        for (int j = 0; j < i; ++j) {
            assert_false(meet(&places[i], &places[j]));
        }
    }
    assert_true(places[11].far);
    assert_false(places[COUNT - 1].far);
}

TEST(few_decades_have_plain_tics)
{
    autorelease(bb_figure) figure = {.format = BB_FIGURE_SVG};
    check_ok(bb_figure_log_axis(&figure, "x", 1.5, 60.0, 15.0));
    assert_non_null(strstr(figure.script.data, "('2' 2, '5' 5, '10' 10, '20' 20, '50' 50)"));
    check_ok(bb_figure_log_axis(&figure, "y", 1e-12, 1.0, 5.0));
    assert_non_null(strstr(figure.script.data, "set ytics nomirror 1e2\n"));
}

TEST(shades_grow_lighter)
{
    double last = -1.0;
    for (int s = 0; s <= 40; ++s) {
        char shade[8];
        bb_figure_shade(s / 40.0, shade);
        const long code = strtol(shade + 1, NULL, 16);
        const double light = 0.2126 * (double)(code >> 16) + 0.7152 * (double)(code >> 8 & 255) +
                             0.0722 * (double)(code & 255);
        assert_true(light > last);
        last = light;
    }
    char shade[8];
    bb_figure_shade(NAN, shade);
    assert_string_equal(shade, "#440154");
}

TEST(broken_scripts_carry_what_gnuplot_says)
{
    autorelease(bb_figure) figure = {.format = BB_FIGURE_SVG, .width_cm = 8.0, .height_cm = 6.0};
    check_ok(bb_text_add(&figure.script, "plot nonsense\n"));
    check_fails(bb_gnuplot_draw(&figure, "bad.svg", true, false, NULL), BB_IO, "nonsense");
    assert_int_equal(access("bad.svg", F_OK), -1);
    assert_int_equal(access("bad.gp", F_OK), -1);
}

TEST(a_gnuplot_that_hangs_is_ended)
{
    autorelease(bb_figure) figure = {.format = BB_FIGURE_SVG, .width_cm = 8.0, .height_cm = 6.0};
    check_ok(bb_text_add(&figure.script, "pause 100\n"));
    bb_gnuplot_set_limit(0.3);
    check_fails(bb_gnuplot_draw(&figure, "bad.svg", true, false, NULL), BB_IO,
                "gnuplot did not finish within 0.3 s");
    bb_gnuplot_set_limit(0.0);
    assert_int_equal(access("bad.svg", F_OK), -1);
}

TEST_GROUP(.has_folder = true);

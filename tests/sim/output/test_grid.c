// SPDX-License-Identifier: Apache-2.0
//
// Short table, its answer, and its forms for programs and papers.
#include "sim/output/cell.h"
#include "sim/output/grid.h"
#include "sim/output/grid_format.h"
#include "sim/output/summary.h"
#include "tests/sim/fixture.h"

static bb_results *filled;
static bb_front front;
static char label[] = "";
static bb_grid_source source;

static int enter(void **state)
{
    (void)state;
    filled = fixture_results();
    source = (bb_grid_source){bb_experiment_find(&bb_experiments, "wafer"), filled, &front, "a.h5",
                              label};
    check_ok(bb_front_find(source.experiment, filled, &front));
    return 0;
}

static int leave(void **state)
{
    (void)state;
    bb_front_release(&front);
    bb_results_destroy(&filled);
    return 0;
}

static void expect_text(bb_text *text, const char *expected)
{
    assert_string_equal(bb_text_string(text), expected);
    bb_text_release(text);
}

TEST(the_short_table_leads_with_its_answer, .setup_func = enter, .teardown_func = leave)
{
    bb_text text = {0};
    check_ok(bb_summary_write(source.experiment, filled, NAN, &text));
    expect_text(&text,
                "Reference: 8.000 MB. Fewest bytes within overlay error 0.1 nm, assumed (set it\n"
                "by --max-loss): fp32 (overlay error 0.02000 nm, 4.000 MB, 2 times fewer than the\n"
                "reference).\n"
                "  pipeline   status   overlay error [nm]     MB\n"
                "* reference  ok                        0  8.000\n"
                "* fp32       ok                  0.02000  4.000\n"
                "* fp16       ok                   0.5000  2.000\n"
                "  hp3        not_spd                   -  2.000\n"
                "* on the Pareto front of overlay error [nm] and bytes\n");
}

// Counts have no decimals in sentence and table; other numbers without a unit have decimals.
TEST(counts_are_whole)
{
    static const char *const names[] = {"reference", "fp16", "e4m3"};
    static const struct {
        const char *path, *unit;
        double values[3];
    } columns[] = {{"results/wrong_cycles", "1", {746.0, 749.0, NAN}},
                   {"results/wrong_cycles_reference", "1", {0.0, 3.0, NAN}},
                   {"results/operator_bytes", "byte", {8e6, 4e6, 2e6}},
                   {"results/compression_ratio", "1", {0.5, 1.0, 2.0}}};
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = empty_results();
    check_ok(results_text_axis(results, "results/pipeline", "pipeline", 3, names));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        check_ok(results_values(results, columns[i].path, columns[i].unit, "a column", "pipeline",
                                columns[i].values));
    }
    check_ok(bb_summary_write(bb_experiment_find(&bb_experiments, "fringe"), results, 5.0, &text));
    assert_non_null(strstr(text.data, "Reference: wrong cycles against the truth 746, 8.000 MB."));
    assert_non_null(strstr(text.data, "fp16 (wrong cycles 3, 4.000 MB)."));
    assert_non_null(strstr(text.data, "\n* fp16                  3  4.000   1.000\n"));
}

// Losses with different definitions are shown together: the definition of each file is printed.
TEST(definitions_of_several_files_are_told_where_they_differ, .setup_func = enter,
     .teardown_func = leave)
{
    autoptr(bb_results) other = fixture_results();
    const bb_grid_source sources[] = {{source.experiment, filled, &front, "a.h5", (char[]){"a"}},
                                      {source.experiment, other, &front, "b.h5", (char[]){"b"}}};
    const bb_answer_question question = {NAN, BB_FRONT_BYTES};
    autorelease(bb_grid) grid = {0};
    autorelease(bb_text) text = {0};
    check_ok(bb_grid_add_rows(&grid, filled, "fp16"));
    check_ok(bb_grid_add_named(&grid, &sources[0], "operator_bytes"));
    check_ok(bb_results_note(filled, "", "loss_note", "held: lag"));
    check_ok(bb_results_note(other, "", "loss_note", "held: lag"));
    check_ok(bb_summary_write_grid(&grid, sources, 2, &question, &text));
    assert_null(strstr(bb_text_string(&text), "held"));
    check_ok(bb_results_note(other, "", "loss_note", "held: none"));
    check_ok(bb_summary_write_grid(&grid, sources, 2, &question, &text));
    assert_non_null(strstr(bb_text_string(&text), "a: held: lag\nb: held: none\n"));
}

static void expect_answer(double within, bb_front_measure measure, const char *expected)
{
    bb_text text = {0};
    const bb_answer_question question = {within, measure};
    check_ok(bb_summary_add_answer(source.experiment, filled, &front, &question, &text));
    expect_text(&text, expected);
}

TEST(answers_name_the_least_within_a_loss, .setup_func = enter, .teardown_func = leave)
{
    expect_answer(1.0, BB_FRONT_BYTES,
                  "Reference: 8.000 MB. Fewest bytes within overlay error 1 nm: fp16 (overlay "
                  "error 0.5000 nm, 2.000 MB, 4 times fewer than the reference).");
    expect_answer(0.02, BB_FRONT_TIME,
                  "Reference: 8.000 MB. Least time within overlay error 0.02 nm: fp32 (overlay "
                  "error 0.02000 nm, 1.000 ms, 2 times less than the reference). Times are those "
                  "of a cpu, which emulates narrow formats.");
    expect_answer(1.0, BB_FRONT_JOULES,
                  "Reference: 8.000 MB. No pipeline within overlay error 1 nm has a known energy.");
    front.costs[2].measures[BB_FRONT_BYTES] =
        0.05e6; // 8 MB divided by it is not a number of two digits
    expect_answer(1.0, BB_FRONT_BYTES,
                  "Reference: 8.000 MB. Fewest bytes within overlay error 1 nm: fp16 (overlay "
                  "error 0.5000 nm, 0.05000 MB, 160 times fewer than the reference).");
    static const double costs[] = {4e-4, 2e-4, 3e-4, NAN};
    check_ok(results_measured(filled, "results/cost_usd", "USD", "cost", "pipeline", costs));
    bb_front_release(&front);
    check_ok(bb_front_find(source.experiment, filled, &front));
    expect_answer(1.0, BB_FRONT_COST,
                  "Reference: 8.000 MB. Least cost within overlay error 1 nm: fp32 (overlay error "
                  "0.02000 nm, 2.000e-04 USD, 2 times less than the reference).");
    results_set(filled, "results/overlay_error_x_nm", 0, 3.0);
    bb_front_release(&front);
    check_ok(bb_front_find(source.experiment, filled, &front));
    expect_answer(0.01, BB_FRONT_BYTES,
                  "Reference: 8.000 MB. No pipeline is within overlay error 0.01 nm.");
}

// Bytes are compared with fp32 if the results have that ratio; the whole front needs --full.
TEST(answers_compare_bytes_with_fp32, .setup_func = enter, .teardown_func = leave)
{
    static const double ratios[] = {0.5, 1.0, 2.0, 2.0};
    bb_text text = {0};
    check_ok(results_values(filled, "results/compression_ratio", "1", "ratio", "pipeline", ratios));
    expect_answer(1.0, BB_FRONT_BYTES,
                  "Reference: 8.000 MB. Fewest bytes within overlay error 1 nm: fp16 (overlay "
                  "error 0.5000 nm, 2.000 MB, 2 times fewer than fp32).");
    check_ok(bb_summary_add_front(source.experiment, filled, &front, &text));
    expect_text(&text, "Fewest bytes before the loss increases: fp32 (overlay error 0.02000 nm, "
                       "4.000 MB). Fewest bytes at any loss: fp16 (overlay error 0.5000 nm, "
                       "2.000 MB, 2 times fewer than fp32).");
}

// CSV preserves the stored bits, and NaN is empty.
TEST(csv_is_exact, .setup_func = enter, .teardown_func = leave)
{
    autorelease(bb_grid) grid = {0};
    bb_text text = {0};
    results_set(filled, "results/overlay_error_x_nm", 1, 0.1 + 0.2);
    results_set_text(filled, "results/status", 3, "a, \"b\"");
    check_ok(bb_grid_add_rows(&grid, filled, "fp32,hp3"));
    check_ok(bb_grid_add_named(&grid, &source, "overlay_error_x_nm,status,solve_time_s"));
    check_ok(bb_grid_format_csv(&grid, &text));
    expect_text(&text, "pipeline,overlay_error_x_nm [nm],status,solve_time_s [s]\n"
                       "fp32,0.30000000000000004,ok,0.001\n"
                       "hp3,,\"a, \"\"b\"\"\",\n");
}

TEST(json_has_units_and_null, .setup_func = enter, .teardown_func = leave)
{
    autorelease(bb_grid) grid = {0};
    bb_text text = {0};
    const char *const answers[] = {"a \"sentence\"\x1b[2J\\"};
    results_set(filled, "results/solve_time_s", 2, INFINITY);
    check_ok(bb_grid_add_rows(&grid, filled, "fp16,hp3"));
    check_ok(bb_grid_add_named(&grid, &source, "overlay_error_x_nm,solve_time_s"));
    check_ok(bb_grid_format_json(&grid, &source, answers, 1, &text));
    expect_text(
        &text,
        "{\n  \"files\": [\n    {\"path\": \"a.h5\", \"label\": \"\", \"experiment\": \"wafer\", "
        "\"title\": \"a fixture\", \"loss_note\": null, \"answer\": \"a \\\"sentence\\\"?[2J\\\\\""
        "}\n  ],\n  \"fields\": [\n    {\"key\": \"overlay_error_x_nm\", \"name\": "
        "\"overlay_error_x_nm\", \"unit\": \"nm\", \"long_name\": \"overlay error, x\"},\n"
        "    {\"key\": \"solve_time_s\", \"name\": \"solve_time_s\", \"unit\": \"s\", "
        "\"long_name\": \"time to apply\"}\n  ],\n  \"pipelines\": [\n"
        "    {\"pipeline\": \"fp16\", \"on_front\": true, \"overlay_error_x_nm\": 0.5, "
        "\"solve_time_s\": null},\n    {\"pipeline\": \"hp3\", \"on_front\": false, "
        "\"overlay_error_x_nm\": null, \"solve_time_s\": null}\n  ]\n}\n");
}

TEST(papers_escape_what_their_language_reads, .setup_func = enter, .teardown_func = leave)
{
    autorelease(bb_grid) grid = {0};
    bb_text text = {0};
    results_set_text(filled, "results/status", 3, "a_b%c&d#e|f{g}^~\\$*<");
    results_set(filled, "results/overlay_error_x_nm", 3, -1.5e-9);
    check_ok(bb_grid_add_rows(&grid, filled, "fp16,hp3"));
    check_ok(bb_grid_add_named(&grid, &source, "status,overlay_error_x_nm"));
    check_ok(bb_grid_format_latex(&grid, &text));
    expect_text(&text, "\\begin{tabular}{cllr}\n\\hline\n"
                       " & pipeline & status & overlay\\_error\\_x\\_nm [nm] \\\\\n\\hline\n"
                       "$*$ & fp16 & ok & 0.5000 \\\\\n"
                       " & hp3 & a\\_b\\%c\\&d\\#e|f\\{g\\}\\textasciicircum{}\\textasciitilde{}"
                       "\\textbackslash{}\\$*$<$ & $-1.500\\cdot10^{-9}$ \\\\\n"
                       "\\hline\n\\end{tabular}\n");
    check_ok(bb_grid_format_markdown(&grid, &text));
    expect_text(&text, "|  | pipeline | status | overlay_error_x_nm [nm] |\n|---|---|---|---:|\n"
                       "| \\* | fp16 | ok | 0.5000 |\n"
                       "|  | hp3 | a_b%c&d#e\\|f{g}^~\\\\$\\*&lt; | -1.500e-09 |\n");
}

TEST(names_that_are_not_there_are_refused, .setup_func = enter, .teardown_func = leave)
{
    autorelease(bb_grid) grid = {0};
    check_ok(bb_grid_add_rows(&grid, filled, NULL));
    check_fails(bb_grid_add_named(&grid, &source, "operator_byte"), BB_INVALID,
                "(did you mean operator_bytes?)");
    check_fails(bb_grid_add_named(&grid, &source, "series"), BB_INVALID, "has 2 axes");
    check_fails(bb_grid_add_named(&grid, &source, "status,"), BB_INVALID, "no dataset ''");
    check_ok(bb_grid_check_names("fp16,hp3", &source, 1));
    check_fails(bb_grid_check_names("fp16,hp", &source, 1), BB_INVALID, "(did you mean hp3?)");
}

// Largest display width of a line.
static int widest(const char *text)
{
    char line[2000];
    int widest_line = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        const int width = bb_cell_width(line);
        widest_line = width > widest_line ? width : widest_line;
        text += length + 1;
    }
    return widest_line;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *c = strstr(text, part); c != NULL; c = strstr(c + 1, part)) {
        ++count;
    }
    return count;
}

// Long names are shortened to different texts; columns beyond the width follow below.
TEST(tables_keep_to_80_columns, .setup_func = enter, .teardown_func = leave)
{
    enum { MANY = 12 };
    static const char *const names[] = {
        "a very long name of a pipeline that nobody could show in a table, in fp16, row scale",
        "a very long name of a pipeline that nobody could show in a table, in bf16, row scale",
        "a very long name of a pipeline that nobody could show in a table; in bf16, row scale",
        "b"};
    autorelease(bb_text) text = {0};
    autorelease(bb_grid) grid = {0};
    char path[64];
    char all_names[400] = "";
    autoptr(bb_results) results = empty_results();
    check_ok(results_text_axis(results, "results/pipeline", "names", 4, names));
    for (int i = 0; i < MANY; ++i) {
        (void)snprintf(path, sizeof path, "results/overlay_number_%d", i);
        check_ok(results_values(results, path, "nm", "a number", "pipeline", NULL));
        (void)snprintf(all_names + strlen(all_names), sizeof all_names - strlen(all_names), "%s%s",
                       i == 0 ? "" : ",", path + strlen("results/"));
    }
    autorelease(bb_front) other = {0};
    check_ok(bb_front_find(source.experiment, results, &other));
    const bb_grid_source long_source = {source.experiment, results, &other, "b.h5", label};
    check_ok(bb_grid_add_rows(&grid, results, NULL));
    check_ok(bb_grid_add_named(&grid, &long_source, all_names));
    check_ok(bb_summary_write_table(&grid, &text));
    assert_int_equal(widest(bb_text_string(&text)), 66);
    assert_true(widest(bb_text_string(&text)) <= BB_SUMMARY_WIDTH);
    assert_int_equal(count_of(bb_text_string(&text), "overlay_number_"), MANY);
    // Each name once in each block, all different.
    const int blocks = count_of(bb_text_string(&text), "  pipeline");
    for (const char *line = strstr(bb_text_string(&text), "\n  a"); line != NULL;
         line = strstr(line + 1, "\n  a")) {
        char cut[64];
        (void)snprintf(cut, sizeof cut, "%.44s", line + 1);
        assert_int_equal(count_of(bb_text_string(&text), cut), blocks);
        assert_non_null(strstr(cut, "\xE2\x80\xA6"));
    }
}

TEST(cells_have_the_columns_of_a_terminal, .setup_func = enter, .teardown_func = leave)
{
    static const struct {
        const char *text, *shown;
        int width;
    } cases[] = {
        {"plain", "plain", 5},
        {"\xC3\xA9t\xC3\xA9", "\xC3\xA9t\xC3\xA9", 3},
        {"e\xCC\x81", "e\xCC\x81", 1},
        {"\xE6\xBC\xA2\xE5\xAD\x97", "\xE6\xBC\xA2\xE5\xAD\x97", 4},
        {"a\x1b[31m\n\tb", "a?[31m??b", 9},
        {"\xC2\x9B", "?", 1}, // CSI as one character
        {"a\xE2\x80\xAE"
         "b",
         "a?b", 3},                 // right to left
        {"\xFFz\xC3", "?z?", 3},    // not UTF-8, and a truncated character
        {"\xC0\x9B", "??", 2},      // an escape in two bytes
        {"\xED\xA0\x80", "???", 3}, // a surrogate
    };
    bb_text text = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(bb_cell_width(cases[i].text), cases[i].width);
        check_ok(bb_cell_add(cases[i].text, 0, &text));
        expect_text(&text, cases[i].shown);
    }
    check_ok(bb_cell_add("\xE6\xBC\xA2", -4, &text));
    expect_text(&text, "  \xE6\xBC\xA2");
    check_ok(bb_cell_add("\xC3\xA9", 3, &text));
    expect_text(&text, "\xC3\xA9  ");
    // Half of a wide character is not shown.
    check_ok(bb_cell_add_cut("\xE6\xBC\xA2\xE5\xAD\x97xyz", 6, 2, &text));
    expect_text(&text, "\xE6\xBC\xA2\xE2\x80\xA6yz ");
    check_ok(bb_cell_add_lines("one two three  four", 8, &text));
    expect_text(&text, "one two\nthree\nfour\n");
}

static void expect_label(const char *const *paths, bb_index count, bb_index index,
                         const char *expected)
{
    autofree char *found = NULL;
    check_ok(bb_grid_find_label(paths, count, index, &found));
    assert_string_equal(found, expected);
}

TEST(files_go_by_what_tells_them_apart, .setup_func = enter, .teardown_func = leave)
{
    static const char *const studies[] = {"outputs/ao-quick.h5", "outputs/ao-quicker.h5"};
    static const char *const folders[] = {"one/run.h5", "two/run.h5", "three/run.h5"};
    static const char *const longer[] = {"a.h5", "a-rerun.h5"};
    static const char *const apart[] = {"outputs/ao-a.h5", "b.h5"};
    expect_label(studies, 2, 0, "quick");
    expect_label(apart, 2, 0, "ao-a");
    expect_label(studies, 2, 1, "quicker");
    expect_label(folders, 3, 2, "three");
    expect_label(longer, 2, 0, "a");
    expect_label(longer, 2, 1, "a-rerun");
    expect_label(studies, 1, 0, "");
    char *unused = NULL;
    check_fails(bb_grid_find_label((const char *const[]){"x", "y", "x"}, 3, 0, &unused), BB_INVALID,
                "'x' is given twice");
}

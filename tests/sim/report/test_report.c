// SPDX-License-Identifier: Apache-2.0
//
// Page of a result: content of its sections, texts that are markup, its size, and the message
// without gnuplot.
#include "sim/report/html.h"
#include "sim/report/report.h"
#include "tests/sim/program.h"
#include "tests/sim/report/sweep_fixture.h"

static void has(const bb_text *text, const char *expected)
{
    if (strstr(bb_text_string(text), expected) == NULL) {
        print_error("no '%s' in\n%.3000s", expected, bb_text_string(text));
        fail();
    }
}

static void write_page(double within, bb_text *out)
{
    const bb_report_request request = {.results = results,
                                       .experiment = bb_experiment_find(&bb_experiments, "ao"),
                                       .path = "a <b>.h5",
                                       .max_loss = within};
    check_ok(bb_report_write(&request, out));
}

static bb_index count_of(const bb_text *text, const char *word)
{
    bb_index count = 0;
    for (const char *place = strstr(text->data, word); place != NULL;
         place = strstr(place + 1, word)) {
        ++count;
    }
    return count;
}

TEST(values_land_where_they_should)
{
    autorelease(bb_text) page = {0};
    write_page(NAN, &page);
    has(&page, "<p>4 of 5 choices finish at every condition. Fewest bytes among them: "
               "h&#39;&quot;&lt;b&gt;&amp;3, width 2, 2 MB, strehl loss at worst 0.004 ");
    has(&page, "<tr class=\"front\"><td>sp</td><td>0/6</td>"
               "<td class=\"n\" data-value=\"3.4999999999999999e-06\">3.500e-06</td>");
    has(&page, "<tr><td>h&#39;&quot;&lt;b&gt;&amp;3, width 0</td><td>1/2</td>");
    has(&page, "<td>1 of 6 points</td><td>r0_m 0.2, width 0</td><td>not_spd</td>");
    has(&page, "<td>atmosphere.r0_m</td><td>2</td><td>0.1</td><td>0.2</td><td>m</td>");
    has(&page, "<title>r0_m 0.2, width 4: strehl loss 0.006</title>");
    has(&page, "bitbudget sweep run DIR");
    has(&page, "<meta name=\"viewport\"");
    has(&page, "@media print");
    // Three pictures, each for wide and for narrow pages.
    assert_int_equal(count_of(&page, "<figure id="), 3);
    assert_int_equal(count_of(&page, "<svg"), 6);
    assert_int_equal(count_of(&page, "<div class=\"narrow\">"), 3);
    bb_text_release(&page);
    write_page(1e-5, &page);
    has(&page, "with strehl loss of at most 1e-05 at every condition: sp, 4 MB");
}

// Titles, names and plans are shown literally: they contain no markup, and nothing is loaded.
TEST(texts_are_no_markup)
{
    autorelease(bb_text) page = {0};
    autorelease(bb_text) shown = {0};
    write_page(NAN, &page);
    has(&page, "<title>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</title>");
    has(&page, "{&quot;plan&quot;: &quot;of &lt;/script&gt;&quot;}");
    assert_int_equal(count_of(&page, "</script>"), 1);
    assert_int_equal(count_of(&page, "<img"), 0);
    assert_int_equal(count_of(&page, "<b>&amp;3"), 0);
    assert_int_equal(count_of(&page, "src=\"http"), 0);
    check_ok(bb_html_escape("a\x01\x7f\xff\xc3\xa9 <&>\"'\n", &shown));
    assert_string_equal(shown.data, "a???\xc3\xa9 &lt;&amp;&gt;&quot;&#39;\n");
}

// Identifiers of a picture are made unique; texts that resemble one are unchanged.
TEST(pictures_keep_their_names_apart)
{
    autorelease(bb_text) page = {0};
    check_ok(bb_html_add_picture("<?xml?><svg width='4'><g id=\"a\"/><use xlink:href='#a'/>"
                                 "<text fill='url(#a)'> id=\"t\" url(#t)</text></svg>\n",
                                 "p-", "wide", "a \"picture\"", "<rect/>", &page));
    assert_string_equal(page.data,
                        "<div class=\"wide\"><svg width='4' role=\"img\" "
                        "aria-label=\"a &quot;picture&quot;\"><g id=\"p-a\"/>"
                        "<use xlink:href='#p-a'/><text fill='url(#p-a)'> id=\"t\" url(#t)</text>"
                        "<rect/></svg></div>\n");
    check_fails(bb_html_add_picture("<svg width='4'", "p-", "wide", "", "", &page), BB_IO,
                "did not write an SVG picture");
}

static void call(const char *const more[8], int code, const char *expected)
{
    const char *arguments[PROGRAM_ARGUMENTS] = {NULL};
    fill_array(arguments, 8, i, more[i]);
    program_call(arguments, &run);
    program_expect(&run, code, expected);
}

TEST(program_writes_pages)
{
    call((const char *const[8]){"report", "s.h5"}, 2, "report needs -o REPORT.html");
    call((const char *const[8]){"report", "s.h5", "-o", "s.pdf"}, 2, "must end in .html");
    call((const char *const[8]){"report", "no.h5", "-o", "n.html"}, 3, "cannot report on 'no.h5'");
    call((const char *const[8]){"report", "s.h5", "-o", "s.html", "--tex", "paper"}, 0,
         "LaTeX: include paper/all.tex");
    call((const char *const[8]){"report", "s.h5", "-o", "s.html"}, 3, "exists");
    call((const char *const[8]){"report", "s.h5", "-o", "s.html", "--force"}, 0, "s.html");
    assert_int_equal(system("test -s paper/table.tex -a -s paper/heatmap.pdf && grep -q "
                            "'input{heatmap}' paper/all.tex"),
                     0);
    const char *path = getenv("PATH");
    char *kept = strdup(path == NULL ? "" : path);
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    call((const char *const[8]){"report", "s.h5", "-o", "t.html"}, 0, "t.html");
    assert_int_equal(setenv("PATH", kept, 1), 0);
    free(kept);
    assert_int_equal(system("grep -q 'Pictures need gnuplot' t.html && ! grep -q '<svg' t.html"),
                     0);
}

// A run, with the data of CITATION.cff.
TEST_FULL(program_reports_a_run)
{
    call((const char *const[8]){"run", BB_SOURCE_DIR "/tests/configs/small/ao.yaml", "-o", "a.h5",
                                "-q"},
         0, "");
    call((const char *const[8]){"report", "a.h5", "-o", "a.html", "--max-loss", "1e-3"}, 0, "");
    assert_int_equal(system("grep -q '<p>Reference: Strehl ratio .* within strehl loss 0.001: ' "
                            "a.html && grep -q 'bitbudget rerun a.h5 --verify' a.html && "
                            "grep -q 'experiment: ao' a.html && grep -q 'All pipelines succeeded' "
                            "a.html"),
                     0);
    assert_int_equal(system("title=$(sed -n 's/^title: \"\\(.*\\)\"$/\\1/p' " BB_SOURCE_DIR
                            "/CITATION.cff); test -n \"$title\" && grep -qF \"$title\" a.html"),
                     0);
}

TEST_GROUP(.begin = sweep_fixture_begin, .end = sweep_fixture_end, .has_folder = true);

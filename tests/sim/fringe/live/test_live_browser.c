// SPDX-License-Identifier: Apache-2.0
//
// The page of a stream in headless Chromium, opened as a file: it shows picture and numbers,
// updates them without a reload, and logs nothing to the console. Skipped with a message if there
// is no Chromium.
#include "sim/fringe/live/live_view.h"
#include "tests/sim/fixture.h"

enum { COLUMNS = 60, ROWS = 40, PAGE_BYTES = 1 << 16 };

#define CHROMIUM                                                                                   \
    "timeout 100 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars "                \
    "--user-data-dir=$PWD/profile --enable-logging=stderr "

static char page[PAGE_BYTES];

static bb_live_facts facts_of(bb_index frame, const char *state)
{
    return (bb_live_facts){.state = state,
                           .pipeline = "<b>fp\"16'\\",
                           .frame = frame,
                           .rate_hz = 123.45,
                           .p50_ms = 4.5,
                           .p99_ms = 7.25,
                           .max_ms = 9.0,
                           .dropped = 3.0,
                           .rejected_share = 0.015,
                           .wrong = NAN};
}

// A tilt of 2 nm a column over 60 columns, and one column without data.
static void show(bb_live_view *view, bb_index frame, const char *state)
{
    static double phase[ROWS * COLUMNS];
    const bb_live_facts facts = facts_of(frame, state);
    fill_array(phase, ROWS * COLUMNS, i, i % COLUMNS == 0 ? NAN : 0.04 * (i % COLUMNS));
    check_ok(bb_live_view_show(view, COLUMNS, ROWS, phase, &facts));
}

static void read_page(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
}

static void expect(const char *text)
{
    if (strstr(page, text) == NULL) {
        print_error("no '%s' in:\n%s\n", text, page);
        fail();
    }
}

// Adds a script that prints the contents of the page after some time.
static void add_probe(void)
{
    static const char probe[] =
        "<script>setTimeout(() => { const map = document.getElementById('map');\n"
        "document.body.append('PROBE ' + map.naturalWidth + ' x ' + map.naturalHeight + ' frame ' "
        "+ "
        "document.getElementById('frame').textContent + ' wide ' + "
        "(document.documentElement.scrollWidth > innerWidth) + ' bold ' + "
        "document.querySelectorAll('b').length + ' END'); }, 3000);</script></body>";
    read_page("view/index.html");
    char *end = strstr(page, "</body>");
    assert_non_null(end);
    *end = '\0';
    FILE *file = fopen("view/probe.html", "w");
    (void)fprintf(file, "%s%s</html>\n", page, probe);
    assert_int_equal(fclose(file), 0);
}

TEST(the_page_shows_what_comes)
{
    autoclose(bb_live_view) view = NULL;
    check_ok(bb_live_view_open("view", "a <title> & \"more\"", 0.02, &view));
    assert_true(bb_live_view_is_due(view));
    show(view, 5, "running");
    add_probe();               // page at phase 5
    show(view, 17, "running"); // the script must find this update
    assert_int_equal(system(CHROMIUM "--virtual-time-budget=6000 --window-size=500,900 --dump-dom "
                                     "file://$PWD/view/probe.html > dom 2> log"),
                     0);
    assert_int_equal(system("! grep CONSOLE log"), 0);
    read_page("dom");
    expect("PROBE 60 x 40 frame 17 wide false bold 0 END");
    expect("id=\"rms\">34.1 nm<");
    expect("id=\"pv\">116.0 nm<");
    expect("id=\"median\">4.50 ms<");
    expect("id=\"rate\">123.5<");
    expect("id=\"rejected\">1.50 %<");
    expect("id=\"wrong\">-<");
    expect("id=\"state\">running<");
}

TEST(it_stays_when_the_stream_is_over)
{
    bb_live_view *view = NULL;
    check_ok(bb_live_view_open("view", "again", 0.02, &view)); // the folder exists
    show(view, 2, "running");
    const bb_live_facts facts = facts_of(3, "ended");
    check_ok(bb_live_view_show(view, 0, 0, NULL, &facts)); // picture unchanged
    read_page("view/index.html");
    expect("id=\"state\">ended<");
    expect("id=\"pixels\">60 x 40<");
    expect("id=\"rms\">34.1 nm<");
    assert_int_equal(system("ls view | grep -c part"), 256); // no console output
    bb_live_view_close(&view);
    assert_null(view);
}

TEST_GROUP(.commands = "chromium", .has_folder = true);

// SPDX-License-Identifier: Apache-2.0
//
// Reports in headless Chromium: no messages on its console, every visible picture has a size, the
// table sorts, the page is no wider than a phone, and screenshots match the shapes in shapes/
// (BB_WRITE_SHAPES=1 writes them). Skipped with a message without Chromium.
#include "tests/sim/program.h"
#include "tests/sim/report/sweep_fixture.h"

enum { COMMAND_BYTES = 2000, PAGE_BYTES = 1 << 23 };

static char page[PAGE_BYTES];

#define CHROMIUM                                                                                   \
    "timeout 100 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars "                \
    "--user-data-dir=$PWD/profile --enable-logging=stderr "

// Summary of a page, printed in place of its last line.
static const char probe[] =
    "<script>\n"
    "const shown = [...document.querySelectorAll('svg')].filter((s) => "
    "getComputedStyle(s.parentNode).display !== 'none');\n"
    "const empty = shown.filter((s) => !(s.getBoundingClientRect().width > 100 && "
    "s.getBoundingClientRect().height > 30));\n"
    "const cut = shown.filter((s) => s.getBoundingClientRect().right > innerWidth);\n"
    "const hovers = document.querySelectorAll('svg rect title').length;\n"
    "const body = document.querySelector('#table tbody');\n"
    "const names = () => [...body.rows].map((r) => r.cells[0].textContent).join('|');\n"
    "document.querySelectorAll('#table th button')[SORTED].click();\n"
    "const first = names();\n"
    "document.querySelectorAll('#table th button')[SORTED].click();\n"
    "const wide = document.documentElement.scrollWidth > innerWidth;\n"
    "const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);\n"
    "document.body.textContent = 'PROBE width ' + innerWidth + ' pictures ' + shown.length + "
    "' empty ' + empty.length + ' cut ' + cut.length + ' hovers ' + (hovers > 0) + ' wide ' + wide "
    "+ ' twice ' + (ids.length - new Set(ids).size) + ' markup ' + "
    "document.querySelectorAll('img').length + ' up ' + first + ' down ' + names() + ' END';\n"
    "</script></body>";

// Writes NAME.probe.html: the page with the probe at its end, which sorts by a column.
static void add_probe(const char *name, int column)
{
    char path[64];
    char number[8];
    (void)snprintf(path, sizeof path, "%s.html", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(page, 1, sizeof page - 1, file);
    (void)fclose(file);
    page[length] = '\0';
    char *end = strstr(page, "</body>");
    assert_non_null(end);
    *end = '\0';
    (void)snprintf(path, sizeof path, "%s.probe.html", name);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(page, file);
    (void)snprintf(number, sizeof number, "%d", column);
    for (const char *rest = probe; *rest != '\0';) {
        const bool mark = strncmp(rest, "SORTED", 6) == 0;
        (void)fputs(mark ? number : (const char[]){*rest, '\0'}, file);
        rest += mark ? 6 : 1;
    }
    (void)fputs("</html>\n", file);
    assert_int_equal(fclose(file), 0);
}

static void look(const char *name, int width, const char *expected)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof command,
                   CHROMIUM "--window-size=%d,1400 --dump-dom file://$PWD/%s.probe.html > dom 2> "
                            "log; grep -o 'PROBE.*END' dom",
                   width, name);
    if (system(command) != 0 || system("! grep CONSOLE log") != 0) {
        assert_int_equal(system("tail -20 log; false"), 0);
    }
    FILE *file = fopen("dom", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
    const char *found = strstr(page, "PROBE");
    if (found == NULL || strstr(found, expected) == NULL) {
        print_error("no '%s' in %.600s\n", expected, found == NULL ? "" : found);
        fail();
    }
}

// Compares the first screens of a page with the recorded shape, all above the configuration.
static void shoot(const char *name, int width, const char *percent)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof command,
                   CHROMIUM "--window-size=%d,2400 --screenshot=$PWD/shot.png "
                            "file://$PWD/%s.html > log 2>&1",
                   width, name);
    (void)unlink("shot.png");
    assert_int_equal(system(command), 0);
    (void)snprintf(command, sizeof command,
                   "/usr/bin/python3 " BB_SOURCE_DIR "/tests/sim/report/screenshot_shape.py "
                   "shot.png " BB_SOURCE_DIR "/tests/sim/report/shapes/%s-%d.txt %s "
                   "${BB_WRITE_SHAPES:+--write}",
                   name, width, percent);
    assert_int_equal(system(command), 0);
}

TEST(sweeps_show_and_sort)
{
    CALL_OK("report", "s.h5", "-o", "s.html", "-q");
    // Sorted by the worst loss: 0, 6e-6, 1e-3, 4e-3, 6e-3, and back.
    add_probe("s", 4);
    static const char said[] =
        " pictures 3 empty 0 cut 0 hovers true wide false twice 0 markup 0 up reference|sp|"
        "h'\"&lt;b&gt;&amp;3, width 0|h'\"&lt;b&gt;&amp;3, width 2|h'\"&lt;b&gt;&amp;3, width 4 "
        "down h'\"&lt;b&gt;&amp;3, width 4|h'\"&lt;b&gt;&amp;3, width 2|";
    look("s", 500, said);
    look("s", 1200, said);
    shoot("s", 500, "0.2");
    shoot("s", 1200, "0.2");
}

TEST(runs_show_and_sort)
{
    CALL_OK("run", BB_SOURCE_DIR "/tests/configs/small/ao.yaml", "solver.spectrum.matrix=true",
            "-o", "a.h5", "-q");
    CALL_OK("report", "a.h5", "-o", "a.html", "-q");
    // Sorted by name: loss-against-bits, pareto, psf, spectrum, tiles and budget.
    add_probe("a", 0);
    static const char said[] =
        " pictures 6 empty 0 cut 0 hovers true wide false twice 0 markup 0 up dp again|hp2|hp3|"
        "reference|sp down sp|reference|hp3|hp2|dp again END";
    look("a", 500, said);
    look("a", 1200, said);
    // Times vary between runs, and so do the widths of columns.
    shoot("a", 500, "3");
    shoot("a", 1200, "3");
}

TEST_GROUP(.begin = sweep_fixture_begin, .end = sweep_fixture_end, .has_folder = true,
           .commands = "chromium gnuplot");

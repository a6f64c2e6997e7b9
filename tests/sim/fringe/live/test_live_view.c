// SPDX-License-Identifier: Apache-2.0
//
// Files of a stream's page: created anew, whatever the folder contains.
#include "sim/fringe/live/live_view.h"
#include "tests/sim/fixture.h"

#include <sys/stat.h>
#include <unistd.h>

// Neither a link nor a FIFO with the name of the page or of its temporary file is written through.
TEST(pages_are_made_anew)
{
    struct stat about;
    char first[16] = "";
    bb_live_view *view = NULL;
    write_text("precious", "precious\n");
    assert_int_equal(mkdir("view", 0777), 0);
    assert_int_equal(symlink("../precious", "view/index.html.part"), 0);
    assert_int_equal(symlink("../precious", "view/index.html"), 0);
    assert_int_equal(mkfifo("view/state.js.part", 0666), 0);
    assert_int_equal(mkfifo("view/state.js", 0666), 0);
    check_ok(bb_live_view_open("view", "a title", 0.02, &view));
    bb_live_view_close(&view);
    FILE *file = fopen("precious", "r");
    assert_non_null(fgets(first, sizeof first, file));
    (void)fclose(file);
    assert_string_equal(first, "precious\n");
    assert_int_equal(lstat("view/index.html", &about), 0);
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(lstat("view/state.js", &about), 0);
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(system("ls -A view | grep -c '^[.]'"), 256); // no temporary file is left
}

TEST_GROUP(.has_folder = true);

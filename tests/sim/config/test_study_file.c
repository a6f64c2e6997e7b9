// SPDX-License-Identifier: Apache-2.0
//
// Studies by name: search order, list, and copies that are valid in any folder.
#include "sim/config/study_file.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

#include <sys/stat.h>

// Share folder with three studies and a table, without files of the user.
static int begin(void)
{
    static const char *const folders[] = {
        "share", "share/configs", "share/configs/ao", "share/configs/w", "configs", "configs/ao",
        "ao"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
        assert_int_equal(mkdir(folders[i], 0777), 0);
    }
    write_text("share/configs/ao/quick.yaml", "experiment: ao\n");
    write_text("share/configs/ao/slow.yaml", "experiment: ao\n");
    write_text("share/configs/w/quick.yaml", "experiment: w\n");
    write_text("share/configs/w/doses.csv", "1\n");
    assert_int_equal(setenv("BITBUDGET_SHARE", "share", 1), 0);
    return 0;
}

static void leave(void)
{
    (void)unsetenv("BITBUDGET_SHARE");
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static void expect_found(const char *name, const char *path)
{
    autofree char *found = NULL;
    check_ok(bb_study_file_find(name, &found));
    if (!ends_with(found, path)) {
        print_error("%s: found %s, expected %s\n", name, found, path);
        fail();
    }
}

// Each location is used only if no earlier one has the name; folders are skipped.
TEST(the_users_own_files_come_first)
{
    expect_found("-", "-");
    expect_found("ao/quick", "/share/configs/ao/quick.yaml");
    expect_found("ao/quick.yaml", "/share/configs/ao/quick.yaml");
    write_text("configs/ao/quick.yaml", "");
    expect_found("ao/quick", "configs/ao/quick.yaml");
    write_text("configs/ao/quick", "");
    expect_found("ao/quick", "configs/ao/quick");
    write_text("ao/quick.yaml", "");
    expect_found("ao/quick", "ao/quick.yaml");
    write_text("ao/quick", "");
    autofree char *found = NULL;
    check_ok(bb_study_file_find("ao/quick", &found));
    assert_string_equal(found, "ao/quick");
    assert_int_equal(unlink("ao/quick") + unlink("ao/quick.yaml") + unlink("configs/ao/quick") +
                         unlink("configs/ao/quick.yaml"),
                     0);
}

TEST(unknown_names_bring_the_nearest)
{
    char *found = NULL;
    check_fails(bb_study_file_find("ao/quik", &found), BB_IO, "(did you mean ao/quick?)");
    check_fails(bb_study_file_find("quick.yaml", &found), BB_IO,
                "(did you mean ao/quick, w/quick?)");
    check_fails(bb_study_file_find("something/else", &found), BB_IO, "or shipped study; ");
    // An explicit path refers only to the user's files, and the reader reports the reason.
    expect_found("./ao/quick", "./ao/quick");
    expect_found("/ao/quick", "/ao/quick");
    assert_null(found);
}

TEST(names_are_listed_once_and_sorted)
{
    bb_shipped_names known = {0};
    write_text("configs/ao/mine.yaml", "");
    write_text("configs/ao/slow.yaml", "");
    write_text("configs/ao/.hidden.yaml", "");
    assert_int_equal(system("mkdir -p configs/kernels/tuned"), 0);
    write_text("configs/kernels/tuned/gpu.yaml", "");
    write_text("configs/ao/table.yaml", "# no study\ntitle: prices\nmachines:\n  - {name: a}\n");
    check_ok(bb_study_file_list(&known));
    static const char *const expected[] = {"ao/mine", "ao/quick", "ao/slow", "w/quick"};
    assert_int_equal(known.count, 4);
    for (int i = 0; i < 4; ++i) {
        assert_string_equal(known.names[i], expected[i]);
    }
    bb_shipped_names_release(&known);
    assert_int_equal(unlink("configs/ao/mine.yaml") + unlink("configs/ao/slow.yaml") +
                         unlink("configs/ao/.hidden.yaml") + unlink("configs/ao/table.yaml"),
                     0);
}

TEST(a_copy_names_files_where_they_are)
{
    autorelease(bb_text) copy = {0};
    char expected[1024];
    char *here = getcwd(NULL, 0);
    write_text("share/configs/w/based.yaml",
               "# base: quick.yaml, as the line below has it\n"
               "base: quick.yaml\n"
               "\n"
               "title: \"\xc2\xb5m of quick.yaml\"\n"
               "scan: {unit: \xc2\xb5m, layout: 'doses.csv', dose_map: none.csv} # rest\n");
    check_ok(bb_study_file_copy("share/configs/w/based.yaml", &copy));
    (void)snprintf(expected, sizeof expected,
                   "# base: quick.yaml, as the line below has it\n"
                   "base: \"%s/share/configs/w/quick.yaml\"\n"
                   "\n"
                   "title: \"\xc2\xb5m of quick.yaml\"\n"
                   "scan: {unit: \xc2\xb5m, layout: \"%s/share/configs/w/doses.csv\", "
                   "dose_map: none.csv} # rest\n",
                   here, here);
    assert_string_equal(bb_text_string(&copy), expected);
    bb_text_release(&copy);
    write_text("share/configs/w/based.yaml", "a: [\n");
    check_fails(bb_study_file_copy("share/configs/w/based.yaml", &copy), BB_INVALID, "not YAML");
    assert_int_equal(unlink("share/configs/w/based.yaml"), 0);
    free(here);
}

// Renamed keys move, in the style of the surrounding map; comments inside their group are dropped;
// all other bytes are unchanged, with any line end.
TEST(an_upgrade_renames_keys_of_earlier_versions)
{
    static const char before[] = "base: ao/quick # \xc2\xb5m\n"
                                 "pipelines:\n"
                                 "  - {name: reference, arithmetic: fp64}\n"
                                 "  - {name: a, policy: {kind: promise, inside: sp, price: 1e-3}, "
                                 "arithmetic: hp1} # \xc2\xb5\n"
                                 "  - name: b\n"
                                 "    arithmetic: fp64\n"
                                 "    storage: {codec: bfp}\n"
                                 "    promise:\n"
                                 "      price: 1.0e-3 # of Strehl ratio\n"
                                 "      over: all\n"
                                 "    draws: 2\n"
                                 "  - {name: c, arithmetic: hp1, policy: {kind: band, width: 2}}\n";
    static const char after[] = "base: ao/quick # \xc2\xb5m\n"
                                "pipelines:\n"
                                "  - {name: reference, arithmetic: fp64}\n"
                                "  - {name: a, search: {inside: sp}, max_loss: 1e-3, "
                                "arithmetic: hp1} # \xc2\xb5\n"
                                "  - name: b\n"
                                "    arithmetic: fp64\n"
                                "    storage: {codec: bfp}\n"
                                "    max_loss: 1.0e-3\n"
                                "    search: {over: all}\n"
                                "    draws: 2\n"
                                "  - {name: c, arithmetic: hp1, policy: {kind: band, width: 2}}\n";
    autorelease(bb_text) text = {0};
    write_text("old.yaml", before);
    CALL_EXPECT(2, "pipelines.1.policy.price: this key is called pipelines.1.max_loss now", "check",
                "old.yaml");
    CALL_EXPECT(0, "line 8: promise:", "config", "--upgrade", "old.yaml", "-o", "new.yaml");
    check_ok(bb_study_file_copy("new.yaml", &text));
    assert_string_equal(bb_text_string(&text), after);
    CALL_EXPECT(0, "keys of an earlier version: none", "config", "--upgrade", "new.yaml", "-o",
                "again.yaml");
    bb_text_release(&text);
    check_ok(bb_study_file_copy("again.yaml", &text));
    assert_string_equal(bb_text_string(&text), after);
    CALL("check", "new.yaml");
    write_text("plan.yaml", "base: ao/quick\nsweep:\n  search:\n    subject_to: {price: {at_most: "
                            "2}}\n    minimise: operator_bytes\n");
    CALL_EXPECT(0, "    max_loss: 2\n    minimise: operator_bytes\n", "config", "--upgrade",
                "plan.yaml");
    CALL_EXPECT(3, "new.yaml", "config", "--upgrade", "old.yaml", "-o", "new.yaml");
    CALL_EXPECT(2, "-o and --force need --upgrade", "config", "--list", "-o", "new.yaml");
    write_text("old.yaml", "\xEF\xBB\xBFtitle: \"a\xE2\x80\xA8"
                           "b\"\rexperiment: ao\r\npipelines:\r\n"
                           "  - name: a\r\n    promise: {price: 1, over: first}\r\n");
    CALL_EXPECT(0, "    max_loss: 1\r\n    search: {over: first}\r\n", "config", "--upgrade",
                "old.yaml");
    write_text("old.yaml",
               "base: ao/quick\npipelines: [{name: a, promise: {price: 1}, max_loss: 2}]\n");
    CALL_EXPECT(2, "the study with new keys: old.yaml:2:36: max_loss: duplicate key", "config",
                "--upgrade", "old.yaml");
    CALL_EXPECT(2, "needs exactly one STUDY file", "config", "--upgrade", "-");
    write_text("bad.yaml", "a: [\n");
    CALL_EXPECT(2, "not YAML", "config", "--upgrade", "bad.yaml");
    write_text("bad.yaml", "title: none\n");
    CALL_EXPECT(2, "names no known experiment", "config", "--upgrade", "bad.yaml");
}

TEST(a_build_tree_has_its_studies)
{
    assert_int_equal(unsetenv("BITBUDGET_SHARE"), 0);
    CALL("check", "ao/quick"); // from a folder of the test
    program_expect(&run, 0, "outputs/ao-quick.h5");
    // Base by name; the result can be rerun where neither study exists.
    write_text("mine.yaml", "base: ao/quick\nsensors: {lenslets: 6}\nscore: stationary\n"
                            "pipelines: [{name: reference, arithmetic: fp64}]\n");
    CALL_EXPECT(0, "Reference: Strehl ratio", "run", "mine.yaml", "-q", "--force", "-o", "mine.h5");
    assert_int_equal(setenv("BITBUDGET_SHARE", "share", 1) + unlink("mine.yaml"), 0);
    CALL_OK("rerun", "mine.h5", "-q", "--force", "--verify", "-o", "again.h5");
    assert_int_equal(unlink("mine.h5"), 0);
    // A file next to it has priority, a folder of that name is skipped.
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1) + mkdir("own", 0777) +
                         mkdir("own/ao", 0777) + mkdir("own/ao/ao", 0777) +
                         mkdir("own/ao/ao/nx456", 0777),
                     0);
    write_text("own/ao/quick.yaml", "base: ao/nx456\nseed: 4242\n");
    write_text("own/mine.yaml", "base: ao/quick\n");
    CALL_EXPECT(0, "seed: 4242", "config", "--resolved", "own/mine.yaml");
    program_expect(&run, 0, "nx456");
    assert_int_equal(unlink("own/ao/quick.yaml") + unlink("own/mine.yaml") +
                         rmdir("own/ao/ao/nx456") + rmdir("own/ao/ao") + rmdir("own/ao") +
                         rmdir("own"),
                     0);
    write_text("mine.yaml", "base: ao/quicker\n");
    CALL("check", "mine.yaml");
    program_expect(&run, 3,
                   "mine.yaml:1:7: base: cannot read configuration 'ao/quicker': no such file or "
                   "shipped study (did you mean ao/quick?)");
    assert_int_equal(unlink("mine.yaml"), 0);
}

// Shipped studies used from a folder that has none: lists all of them, runs one whose base and
// tables are next to it, and a copy of it.
TEST_FULL(shipped_studies_work_from_anywhere)
{
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1), 0);
    CALL_EXPECT(0, "wafer/layout", "new", "--list");
    program_expect(&run, 0, "Strehl ratio against number formats, 8 m telescope, 5 guide stars\n");
    bb_shipped_names known = {0};
    bb_index lines = 0;
    check_ok(bb_study_file_list(&known));
    for (const char *line = run.printed; (line = strchr(line, '\n')) != NULL; ++line) {
        ++lines;
    }
    assert_int_equal(lines, known.count);
    bb_shipped_names_release(&known);
    CALL_EXPECT(0, "outputs/wafer-layout.h5", "check", "wafer/layout");
    CALL_EXPECT(0, "configuration: copy.yaml\n", "new", "wafer/layout", "copy.yaml");
    CALL_EXPECT(0, "outputs/wafer-copy.h5", "check", "copy.yaml");
    CALL("config", "--resolved", "copy");
    program_expect(&run, 0, "  layout:\n"); // of the table, with its rows
    CALL_EXPECT(2, "configs/ao/quick.yaml:1:1: no map 'sweep:'", "sweep", "ao/quick", "--list");
    assert_int_equal(setenv("BITBUDGET_SHARE", "share", 1), 0);
}

TEST_GROUP(.has_folder = true, .begin = begin, .end = leave);

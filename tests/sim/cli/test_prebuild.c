// SPDX-License-Identifier: Apache-2.0
//
// bitbudget prebuild, end to end: a study and a shipped kernel without a C compiler, bit-identical
// to compiled ones.
#include "sim/input/hdf5_library.h"
#include "sim/run/experiment.h"
#include "tests/sim/command_line.h"
#include "tests/sim/fixture.h"

#include <hdf5.h>
#include <hdf5_hl.h>

#define STUDY BB_SOURCE_DIR "/tests/configs/small/fringe.yaml"

static char *cache;

static void take_compiler(void)
{
    assert_int_equal(unsetenv("BB_CC"), 0);
    if (cache != NULL) { // cache of the tests: compilation by cc is not under test
        assert_int_equal(setenv("BITBUDGET_CACHE", cache, 1), 0);
    }
}

static void take_forms(void)
{
    assert_int_equal(setenv("BB_CC", "/nonexistent/cc", 1), 0);
    assert_int_equal(setenv("BITBUDGET_PREBUILT", "forms", 1), 0);
    assert_int_equal(setenv("BITBUDGET_CACHE", "off", 1), 0);
}

// Checks the compiler that a file records for its kernels.
static void expect_compiler(const char *name, const char *place, const char *attribute,
                            const char *expected)
{
    char text[400] = "";
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_true(H5LTget_attribute_string(file, place, attribute, text) >= 0);
    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
}

TEST_FULL(a_study_runs_as_it_was_prebuilt)
{
    take_forms();
    expect("bitbudget run " STUDY " -o none.h5", 2,
           "no C compiler: /nonexistent/cc is not there; no prebuilt kernel for this source in "
           "'forms'");
    take_compiler();
    expect("bitbudget prebuild " STUDY, 2, "prebuild needs -o FOLDER");
    expect("bitbudget prebuild " STUDY " -o forms", 0, "compiler: prebuilt, ");
    assert_non_null(strstr(printed, "prebuilt: forms\n"));
    expect("bitbudget run " STUDY " -o compiled.h5", 0, "results: compiled.h5");
    expect_compiler("compiled.h5", "provenance", "device_cpu_compiler", "cc, ");
    take_forms();
    expect("bitbudget run " STUDY " -o prebuilt.h5", 0, "using prebuilt kernels: no C");
    expect_compiler("prebuilt.h5", "provenance", "device_cpu_compiler", "prebuilt, ");
    expect("bitbudget diff compiled.h5 prebuilt.h5", 0, "digest of all except times: ");
    expect("bitbudget live " STUDY " --frames 2 --pipeline reference,fp32", 0, "2 phases");
    expect("bitbudget info", 0, "kernels\n  cpu    prebuilt, ");
    // Other number formats need other kernel texts.
    expect("bitbudget run " STUDY " pipelines.1.arithmetic=fp64 pipelines.1.storage=fp32 -o x.h5",
           2, "no prebuilt kernel for this source");
}

TEST_FULL(shipped_kernels_run_as_they_were_prebuilt)
{
    enum { COLUMNS = 5, ROWS = 3 };
    static const hsize_t shape[] = {ROWS, COLUMNS};
    static const float ones[ROWS * COLUMNS] = {1.0F, 2.0F, 3.0F};
    static const char *const names[] = {"A", "B", "C"};
    take_compiler();
    expect("bitbudget prebuild -o forms -q", 0, "prebuilt: forms\n");
    const hid_t file = H5Fcreate("in.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 3; ++i) {
        assert_true(H5LTmake_dataset_float(file, names[i], 2, shape, ones) >= 0);
    }
    assert_true(H5Fclose(file) >= 0);
    take_forms();
    assert_int_equal(setenv("BITBUDGET_SHARE", BB_SOURCE_DIR, 1), 0);
    for (int wide = 0; wide < 2; ++wide) {
        expect(wide ? "bitbudget kernel run add T=DP --in in.h5 -o out.h5 --force"
                    : "bitbudget kernel run add T=SP --in in.h5 -o out.h5",
               0, "using prebuilt kernels");
        expect_compiler("out.h5", "/", "compiler", "prebuilt, ");
    }
    assert_int_equal(unsetenv("BITBUDGET_SHARE"), 0);
}

static int begin(void)
{
    command_line_experiments = &bb_experiments;
    check_ok(bb_hdf5_library_start());
    const char *named = getenv("BITBUDGET_CACHE");
    cache = named == NULL ? NULL : strdup(named);
    return 0;
}

static void leave(void)
{
    free(cache);
}

TEST_GROUP(.has_folder = true, .begin = begin, .end = leave, .commands = "cc");

// SPDX-License-Identifier: Apache-2.0
#include "sim/output/provenance.h"
#include "sim/run/experiment.h"
#include "tests/first_device.h"
#include "tests/sim/fixture.h"

static bb_results *record(int count, char *const *arguments)
{
    autorelease(bb_problems) problems = {0};
    autoptr(bb_config) config = NULL;
    check_ok(bb_experiment_load(&bb_experiments, BB_SOURCE_DIR "/tests/configs/good/wafer.yaml",
                                NULL, 0, &problems, &config));
    bb_results *results = empty_results();
    check_ok(bb_provenance_begin(results, config, bb_config_study(config), count, arguments, 1));
    return results;
}

// The shell splits the recorded line into the original arguments.
TEST(sh_reads_the_command_back)
{
    static char given[][32] = {"printf", "%s\\n",     "it's",         "'",           "a b",
                               "",       "$HOME`ls`", "plain=1.5e-3", "''x''y\"z\"", "new\nline"};
    enum { COUNT = sizeof given / sizeof given[0] };
    char *arguments[COUNT];
    char expected[256] = "";
    char got[256] = "";
    for (int i = 0; i < COUNT; ++i) {
        arguments[i] = given[i];
        if (i > 1) {
            (void)strcat(strcat(expected, given[i]), "\n");
        }
    }
    autoptr(bb_results) results = record(COUNT, arguments);
    const char *line = bb_results_note_text(results, "provenance", "command");
    assert_non_null(line);
    assert_non_null(strstr(line, " 'it'\\''s' "));
    assert_non_null(strstr(line, " plain=1.5e-3 "));
    FILE *shell = popen(line, "r");
    assert_non_null(shell);
    got[fread(got, 1, sizeof got - 1, shell)] = '\0';
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(got, expected);
}

TEST(libraries_and_processor_are_recorded)
{
    static const char *const names[] = {"library_hdf5",    "library_openblas", "library_lapack",
                                        "library_cholmod", "library_fftw",     "library_gsl",
                                        "library_zfp",     "library_libyaml"};
    static char program[] = "bitbudget";
    char *arguments[] = {program};
    autoptr(bb_results) results = record(1, arguments);
    for (int i = 0; i < BB_LIBRARIES; ++i) {
        const char *version = bb_results_note_text(results, "provenance", names[i]);
        assert_non_null(version);
        print_message("%s: %s\n", names[i], version);
        assert_true(strpbrk(version, "123456789") != NULL);
    }
    bb_device_report report;
    autoclose(bb_device) cpu = open_device(BB_DEVICE_CPU);
    check_ok(bb_device_describe(cpu, &report));
    assert_string_equal(bb_results_note_text(results, "provenance", "processor"), report.name);
    print_message("processor: %s\n", report.name);
}

TEST_GROUP(.has_folder = true);

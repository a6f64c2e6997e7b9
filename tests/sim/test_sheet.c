// SPDX-License-Identifier: Apache-2.0
//
// CSV sheet of a result file: its name, and the columns of a group to the last bit.
#include "sim/output/results.h"
#include "tests/sim/fixture.h"

TEST(names_stand_beside_the_result)
{
    static const char *const cases[][2] = {
        {"outputs/wafer-a.h5", "outputs/wafer-a-probes.csv"},
        {"a.hdf", "a.hdf-probes.csv"},
        {".h5", ".h5-probes.csv"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autofree char *path = NULL;
        check_ok(bb_results_sheet_path(cases[c][0], "probes", &path));
        assert_string_equal(path, cases[c][1]);
    }
}

TEST(columns_read_back)
{
    static const double time[] = {0.1, 0.1 + 0.2};
    static const double rise[] = {1.0 / 3.0, NAN};
    static const double table[] = {1.0, 2.0, 3.0, 4.0};
    static const char *const words[] = {"a", "b"};
    autorelease(bb_text) text = {0};
    autoptr(bb_results) results = empty_results();
    check_ok(bb_results_write_sheet(results, "probes", &text));
    assert_int_equal(text.length, 0);
    check_ok(results_axis(results, "probes/time_s", "s", "time", 2, time));
    check_ok(results_text_axis(results, "probes/word", "word", 2, words));
    check_ok(results_values(results, "probes/a_k", "K", "rise", "time_s", rise));
    check_ok(results_values(results, "probes/two", "K", "no column", "time_s, word", table));
    check_ok(results_values(results, "probes/b_k", "K", "rise", "time_s", time));
    check_ok(bb_results_write_sheet(results, "probes", &text));
    assert_string_equal(bb_text_string(&text), "time_s,a_k,b_k\n"
                                               "0.1,0.33333333333333331,0.1\n"
                                               "0.3,nan,0.30000000000000004\n");
}

// An axis is printed with 12 digits if these distinguish its steps, otherwise with more.
TEST(steps_of_the_axis_stay_apart)
{
    static const double value[] = {1.0, 2.0, 3.0};
    static const struct {
        double time[3];
        const char *lines;
    } cases[] = {
        {{2.2279999999999998, 2.2290000000000005, 2.23}, "time_s,a_k\n2.228,1\n2.229,2\n2.23,3\n"},
        {{1e6, 1e6 + 1e-7, 1e6 + 2e-7},
         "time_s,a_k\n1000000,1\n1000000.0000001,2\n1000000.0000002,3\n"},
        {{0.3, 0.30000000000000004, 0.4},
         "time_s,a_k\n0.29999999999999999,1\n0.30000000000000004,2\n"
         "0.40000000000000002,3\n"},
        {{0.1, 0.1, NAN}, "time_s,a_k\n0.1,1\n0.1,2\nnan,3\n"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        autorelease(bb_text) text = {0};
        autoptr(bb_results) results = empty_results();
        check_ok(results_axis(results, "probes/time_s", "s", "time", 3, cases[c].time));
        check_ok(results_values(results, "probes/a_k", "K", "rise", "time_s", value));
        check_ok(bb_results_write_sheet(results, "probes", &text));
        assert_string_equal(bb_text_string(&text), cases[c].lines);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Written results are read back by our reader and by xarray with both of its engines.
#include "core/file.h"
#include "core/memory.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/reader.h"
#include "tests/sim/fixture.h"

#include <hdf5.h>
#include <sys/wait.h>

static void compare(const bb_dataset *got, const bb_dataset *expected)
{
    assert_non_null(got);
    assert_int_equal(got->rank, expected->rank);
    assert_int_equal(got->count, expected->count);
    assert_int_equal(got->measured, expected->measured);
    assert_string_equal(got->unit, expected->unit);
    assert_string_equal(got->long_name, expected->long_name);
    for (bb_index i = 0; i < got->count; ++i) {
        if (got->is_text) {
            assert_string_equal(got->texts[i], expected->texts[i]);
        } else {
            assert_memory_equal(&got->numbers[i], &expected->numbers[i], sizeof(double));
        }
    }
}

TEST(files_read_back_bit_for_bit)
{
    autoptr(bb_results) results = fixture_results();
    check_ok(bb_provenance_end(results));
    write_results(results, "a.h5");
    autoptr(bb_results) back = read_results("a.h5");
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *expected = bb_results_dataset(results, i);
        char path[200];
        (void)snprintf(path, sizeof path, "%s%s%s", expected->group,
                       expected->group[0] == '\0' ? "" : "/", expected->name);
        compare(bb_results_find(back, path), expected);
    }
    assert_string_equal(bb_results_note_text(back, "", "title"), "a fixture");
}

// File of the former schema: the root without the table, and its number.
TEST(other_schemas_are_told_apart)
{
    autoptr(bb_results) results = fixture_results();
    bb_results *back = NULL;
    hid_t file = -1;
    check_ok(bb_results_note(results, "", "schema_version", "1"));
    check_ok(bb_provenance_end(results));
    write_results(results, "old.h5");
    file = H5Fopen("old.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        const bool is_linked = strcmp(dataset->group, "results") == 0 && dataset->rank == 1 &&
                               strcmp(dataset->axes[0], "pipeline") == 0;
        const char *name = dataset->name;
        assert_int_equal(H5Lexists(file, name, H5P_DEFAULT) > 0,
                         is_linked || dataset->group[0] == '\0');
        assert_true(!is_linked || H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    }
    assert_true(H5Fclose(file) >= 0);
    check_ok(bb_reader_read("old.h5", &back));
    compare(bb_results_find(back, "results/overlay_error_x_nm"),
            bb_results_find(results, "results/overlay_error_x_nm"));
    bb_results_destroy(&back);
    check_ok(bb_results_note(results, "", "schema_version", "3"));
    write_results(results, "new.h5");
    check_fails(bb_reader_read("new.h5", &back), BB_IO,
                "schema 3 is not supported, expected 1 or 2");
}

TEST(unfinished_results_are_refused)
{
    autoptr(bb_results) results = fixture_results();
    bb_results *back = NULL;
    write_results(results, "b.h5");
    check_fails(bb_reader_read("b.h5", &back), BB_IO, "no attribute 'status'");
    check_ok(bb_provenance_end(results));
    check_ok(bb_results_note(results, "", "status", "running"));
    write_results(results, "b.h5");
    check_fails(bb_reader_read("b.h5", &back), BB_IO, "status 'running'");
    check_ok(bb_results_note(results, "", "status", "complete"));
    results_set(results, "results/by", 0, 1.5);
    write_results(results, "b.h5");
    check_fails(bb_reader_read("b.h5", &back), BB_IO, "damaged: the results have digest");
    assert_null(back);
}

// Adds a provenance with a long configuration, as recorded by a run.
static void add_configuration(bb_results *results)
{
    enum { LONG = 80000 };
    autofree char *text = new_zeros(char, LONG);
    memset(text, '#', LONG - 1);
    const char *names[] = {"a.yaml"};
    const char *texts[] = {text};
    const char *resolved[] = {"experiment: wafer\n"};
    check_ok(results_text_axis(results, "provenance/config_file", "files", 1, names));
    check_ok(results_texts(results, "provenance/config_as_typed", "text", "config_file", texts));
    check_ok(results_texts(results, "provenance/config_resolved", "text", "", resolved));
}

TEST(xarray_opens_them_with_both_engines)
{
    autoptr(bb_results) results = fixture_results();
    add_configuration(results);
    check_ok(bb_provenance_end(results));
    write_results(results, "c.h5");
    int how = system("/usr/bin/python3 '" BB_SOURCE_DIR "/tests/sim/read_with_xarray.py' c.h5");
    if (WIFEXITED(how) && (WEXITSTATUS(how) == 77 || WEXITSTATUS(how) == 127)) {
        skip();
    }
    assert_int_equal(how, 0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);

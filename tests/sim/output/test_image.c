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

// The fixture with a loss and its statistics, by the names of this version or of an earlier one.
static bb_results *with_losses(bool former)
{
    static const double worst[] = {0.0, 0.1, 0.2, NAN};
    static const double median[] = {1.0, 2.0};
    static const double unknown[] = {0.0, 3.0};
    bb_results *results = fixture_results();
    check_ok(results_axis(results, "statistics/choice", "1", "choice", 2, median));
    check_ok(results_values(results, former ? "results/price_worst" : "results/loss_worst", "nm",
                            "largest loss", "pipeline", worst));
    check_ok(results_values(results, former ? "statistics/price_median" : "statistics/loss_median",
                            "nm", "median loss", "choice", median));
    check_ok(results_values(
        results, former ? "statistics/points_unpriced" : "statistics/points_without_loss", "1",
        "points", "choice", unknown));
    check_ok(bb_results_note(results, "", former ? "price_note" : "loss_note", "with lag"));
    check_ok(bb_provenance_end(results));
    return results;
}

// The digest of such a file, which covers its own names, is verified before they are replaced.
TEST(names_of_earlier_versions_are_replaced)
{
    autoptr(bb_results) old = with_losses(true);
    autoptr(bb_results) now = with_losses(false);
    write_results(old, "former.h5");
    assert_string_not_equal(bb_results_note_text(old, "", "results_digest"),
                            bb_results_note_text(now, "", "results_digest"));
    for (int whole = 0; whole < 2; ++whole) {
        autoptr(bb_results) back =
            whole ? read_all_results("former.h5", NULL) : read_results("former.h5");
        assert_null(bb_results_find(back, "results/price_worst"));
        assert_null(bb_results_note_text(back, "", "price_note"));
        assert_string_equal(bb_results_note_text(back, "", "loss_note"), "with lag");
        compare(bb_results_find(back, "results/loss_worst"), dataset_at(now, "results/loss_worst"));
        check_same_digest(back, now);
        if (whole) {
            static const char *const paths[] = {"statistics/loss_median",
                                                "statistics/points_without_loss"};
            compare(bb_results_find(back, paths[0]), dataset_at(now, paths[0]));
            compare(bb_results_find(back, paths[1]), dataset_at(now, paths[1]));
        }
    }
}

TEST(a_former_and_a_current_name_are_refused_together)
{
    autoptr(bb_results) results = fixture_results();
    bb_results *back = NULL;
    check_ok(results_values(results, "results/price_std", "nm", "deviation", "pipeline", NULL));
    check_ok(results_values(results, "results/loss_std", "nm", "deviation", "pipeline", NULL));
    check_ok(bb_provenance_end(results));
    write_results(results, "both.h5");
    check_fails(bb_reader_read("both.h5", &back), BB_INVALID,
                "'results/price_std' and 'results/loss_std' are the same result");
    assert_null(back);
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

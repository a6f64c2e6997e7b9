// SPDX-License-Identifier: Apache-2.0
//
// bitbudget rerun: a study from its result file alone, checked against the recorded inputs.
#include "core/file.h"
#include "core/memory.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/reader.h"
#include "sim/reconstructor/reconstructor_study.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#include <hdf5.h>
#include <hdf5_hl.h>
#include <sys/stat.h>

static const char study_file[] = CONFIG_WAFER_SMALL;

// rows.h5 has dumped rows, study.h5 the results of a study that reads them.
static int begin(void)
{
    check_ok(bb_hdf5_library_start());
    CALL("run", study_file, "-q", "-o", "rows.h5", "--dump", "rows");
    if (run.code == 0) {
        CALL("run", study_file, "response.generator=file", "response.file=rows.h5",
             "title='again: é # 1'", "seed=random", "-q", "-o", "study.h5");
    }
    return run.code;
}

TEST(a_file_is_enough)
{
    char expected[64 + BB_DIGEST_BYTES];
    bb_results *results = read_all_results("study.h5", NULL);
    (void)snprintf(expected, sizeof expected, "except times (digest %s)",
                   bb_results_note_text(results, "", "reproducible_digest"));
    assert_string_equal(bb_results_find(results, "provenance/input")->texts[0], "response.file");
    assert_int_equal(bb_results_find(results, "provenance/input_file")->texts[0][0], '/');
    bb_results_destroy(&results);
    // From another folder, without the configuration's.
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    assert_int_equal(chdir("elsewhere"), 0);
    CALL_EXPECT(0, expected, "rerun", "../study.h5", "--verify", "-q");
    assert_int_not_equal(access("outputs", F_OK), 0);
    // A file under the default name is not replaced.
    CALL_EXPECT(0, "results: outputs/study-rerun.h5", "rerun", "../study.h5", "-q");
    CALL_EXPECT(3, "'outputs/study-rerun.h5' exists", "rerun", "../study.h5", "-q");
    CALL_EXPECT(0, "results: third.h5", "rerun", "outputs/study-rerun.h5", "--verify", "-q", "-o",
                "third.h5");
    program_expect(&run, 0, expected);
    assert_int_equal(chdir(".."), 0);
}

TEST(what_differs_is_told)
{
    CALL_EXPECT(1, "different:\n", "rerun", "study.h5", "--verify", "-q",
                "pipelines.1.storage=e4m3");
    program_expect(&run, 1, ": overlay_error_x_nm ");
    program_expect(&run, 1, "compression_ratio: 1 of ");
    program_expect(&run, 1, "possible causes");
    program_expect(&run, 1, "  pipelines.fp64 again.storage.codec: fp64 in the file, e4m3 in this");
    assert_null(strstr(run.printed, "solve_time_s"));
    assert_null(strstr(run.printed, "bitbudget:"));
    // Pipelines are matched by name, so that their order makes no difference in losses.
    CALL_EXPECT(1, "  other: only in this run\n", "rerun", "study.h5", "--verify", "-q",
                "pipelines.1.name=other");
}

TEST_FULL(inputs_are_held_to_their_digests)
{
    assert_int_equal(rename("rows.h5", "moved.h5"), 0);
    CALL_EXPECT(3, "/rows.h5': No such file", "rerun", "study.h5", "--verify", "-q");
    program_expect(&run, 3, "1 file named by its study is missing or changed; name another");
    CALL_EXPECT(0, "equal: ", "rerun", "study.h5", "--verify", "-q", "response.file=moved.h5");
    CALL_EXPECT(0, "results: ", "run", study_file, "response.grid.columns=41", "-q", "-o",
                "rows.h5", "--force", "--dump", "rows");
    CALL_EXPECT(3, "response.file: '", "rerun", "study.h5", "-q");
    program_expect(&run, 3, "' has changed: digest ");
    assert_int_equal(rename("moved.h5", "rows.h5"), 0);
}

static void copy_file(const char *name, hid_t *file)
{
    char line[128];
    (void)snprintf(line, sizeof line, "cp study.h5 %s", name);
    assert_int_equal(system(line), 0);
    *file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(*file >= 0);
}

// Writes texts along the scale `scale`; NULL: none. Each of the `count` items is "x".
static void put_texts(hid_t file, const char *path, hsize_t count, const char *scale)
{
    static const char *words[4096];
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate_simple(1, &count, NULL);
    for (hsize_t i = 0; i < count; ++i) {
        words[i] = "x";
    }
    assert_true(H5Tset_size(type, H5T_VARIABLE) >= 0);
    const hid_t set = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, words) >= 0);
    if (scale != NULL && strcmp(scale, path) == 0) {
        assert_true(H5DSset_scale(set, strrchr(path, '/') + 1) >= 0);
    } else if (scale != NULL) {
        const hid_t along = H5Dopen2(file, scale, H5P_DEFAULT);
        assert_true(H5DSattach_scale(set, along, 0) >= 0);
        (void)H5Dclose(along);
    }
    (void)H5Dclose(set);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

// Checks that every command that reads provenance names the modified dataset.
static void refuse(const char *file, const char *expected)
{
    CALL_EXPECT(3, expected, "rerun", file, "--verify", "-q");
    CALL_EXPECT(3, expected, "report", file, "-o", "page.html", "-q");
    CALL_EXPECT(3, expected, "diff", file, "study.h5");
    CALL_EXPECT(3, expected, "export", file, "-o", "x.fits");
    assert_int_equal(access("page.html", F_OK), -1);
}

TEST(crafted_lists_are_refused_by_name)
{
    static const char *const lists[] = {"provenance/input_digest", "provenance/input_file",
                                        "provenance/input"};
    static const double number = 1.0;
    static const hsize_t one = 1;
    hid_t file = -1;
    copy_file("long.h5", &file); // more keys than files
    for (int i = 0; i < 3; ++i) {
        assert_true(H5Ldelete(file, lists[i], H5P_DEFAULT) >= 0);
    }
    put_texts(file, "provenance/input", 4096, "provenance/input");
    put_texts(file, "provenance/input_file", 1, NULL);
    put_texts(file, "provenance/input_digest", 4096, "provenance/input");
    assert_true(H5Fclose(file) >= 0);
    refuse("long.h5", "'/provenance/input_file' has texts over '', expected texts over 'input'");
    copy_file("type.h5", &file);
    assert_true(H5Ldelete(file, lists[0], H5P_DEFAULT) >= 0);
    assert_true(H5LTmake_dataset_double(file, lists[0], 1, &one, &number) >= 0);
    assert_true(H5Fclose(file) >= 0);
    refuse("type.h5", "'/provenance/input_digest' has numbers over '', expected texts over");
    copy_file("scale.h5", &file); // a scale longer than its dataset
    assert_true(H5Gclose(H5Gcreate2(file, "extra", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    put_texts(file, "extra/along", 4096, "extra/along");
    put_texts(file, "extra/few", 1, "extra/along");
    assert_true(H5Fclose(file) >= 0);
    refuse("scale.h5", "'/extra/few' has 1 items along 'along', expected 4096");
    copy_file("comma.h5", &file); // a scale whose name is parsed as two axes
    assert_true(H5Gclose(H5Gcreate2(file, "extra", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    assert_true(H5Gclose(H5Gcreate2(file, "extra/x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    put_texts(file, "extra/a", 1, "extra/a");
    put_texts(file, "extra/b", 4096, "extra/b");
    put_texts(file, "extra/x/a, b", 1, "extra/x/a, b");
    put_texts(file, "extra/few", 1, "extra/x/a, b");
    assert_true(H5Fclose(file) >= 0);
    refuse("comma.h5", "'few' has a dimension scale that is not named like an axis");
    copy_file("detail.h5", &file); // one reason fewer than states
    assert_true(H5Ldelete(file, "results/status_detail", H5P_DEFAULT) >= 0);
    put_texts(file, "results/status_detail", 1, NULL);
    assert_true(H5Fclose(file) >= 0);
    refuse("detail.h5", "'/results/status_detail' has 1 items, expected one for each of");
}

// Output folders in a file by others are ignored; the command line may set them.
TEST(folders_of_a_file_are_ignored)
{
    write_text("plate.yaml",
               "experiment: wafer\ndevice: cpu\nwafer: {diameter_mm: 60.0}\n"
               "clamp: {spacing_mm: 10.0}\nmesh: {spacing_mm: 5.0, step_ms: 2.0}\n"
               "scan: {fields: [0], light_steps: 4, dark_steps: 2, usable_radius_mm: 28.0}\n"
               "response: {generator: plate, cache_folder: kept, grid: {columns: 8, rows: 8},\n"
               "  slit_points: {columns: 3, rows: 3}}\nmetrology: {columns: 3, rows: 3}\n"
               "pipelines: [{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}]\n");
    CALL_OK("run", "plate.yaml", "-o", "plate.h5", "-q");
    assert_int_equal(system("test -n \"$(ls kept)\" && rm -r kept"), 0);
    CALL_EXPECT(0, "equal: bit-identical except times", "rerun", "plate.h5", "--verify");
    program_expect(&run, 0, "'cache_folder' of 'plate.h5:/provenance/config_resolved' is ignored");
    assert_int_equal(access("kept", F_OK), -1);
    CALL_OK("rerun", "plate.h5", "--verify", "-q", "response.cache_folder=mine");
    assert_int_equal(access("mine", F_OK), 0);
}

// Replaces the study recorded in a file; `former` and `latter` have equal length.
static void replace_study(const char *path, const char *former, const char *latter)
{
    char *text = NULL;
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "provenance/config_resolved", H5P_DEFAULT);
    const hid_t type = H5Dget_type(set);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, (void *)&text) >= 0);
    assert_non_null(strstr(text, former));
    for (char *place = text; (place = strstr(place, former)) != NULL;) {
        memcpy(place, latter, strlen(latter));
    }
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, (void *)&text) >= 0);
    (void)H5free_memory(text);
    (void)H5Tclose(type);
    (void)H5Dclose(set);
    assert_true(H5Fclose(file) >= 0);
}

// Recorded defaults of an earlier version have its keys.
TEST(keys_of_earlier_versions_are_renamed)
{
    CALL_OK("run", CONFIG_FRINGE_SMALL, "-q", "-o", "fringe.h5");
    replace_study("fringe.h5", " search: {wrong_cycles: 0}", "promise: {wrong_cycles: 0}");
    CALL_EXPECT(0, "equal: ", "rerun", "fringe.h5", "--verify");
    program_expect(&run, 0, "config_resolved: renamed keys of an earlier version:\n");
    program_expect(&run, 0, "promise: {wrong_cycles: 0} -> search: {wrong_cycles: 0}\n");
    replace_study("fringe.h5", "promise: {wrong_cycles: 0}", "unknown: {wrong_cycles: 0}");
    CALL_EXPECT(2, "unknown: unknown key", "rerun", "fringe.h5", "--verify");
}

// The other key of this kind, in a group shared by experiments.
TEST(swap_folders_of_a_file_are_ignored)
{
    autorelease(bb_problems) problems = {0};
    autoptr(bb_config) config = NULL;
    const bb_config_file file = {"r.h5",
                                 "experiment: reconstructor\nsolver: {tile: 12, swap_dir: victim}\n"
                                 "covariance: {file: a.h5, dataset: /c}\n"
                                 "cross_covariance: {file: a.h5, dataset: /d}\n"
                                 "pipelines: [{name: reference, arithmetic: dp}]\n"};
    check_ok(bb_experiment_load_text(&bb_experiments, &file, NULL, 0, &problems, &config));
    const bb_reconstructor_study *study = bb_config_study(config);
    assert_null(study->solver.common.swap_dir);
}

TEST(other_files_are_refused)
{
    autoptr(bb_results) results = fixture_results();
    check_ok(bb_provenance_end(results));
    write_results(results, "bare.h5");
    CALL_EXPECT(3, "cannot rerun 'bare.h5': it is not a file of 'bitbudget run'", "rerun",
                "bare.h5");
    CALL_EXPECT(3, "cannot rerun 'none.h5': No such file", "rerun", "none.h5");
    CALL_EXPECT(3, "not an HDF5 file", "rerun", study_file);
    CALL_EXPECT(2, "nonsense", "rerun", "study.h5", "nonsense=1");
}

TEST_GROUP(.begin = begin, .has_folder = true);

// SPDX-License-Identifier: Apache-2.0
//
// tune --for a study: the formats found need fewer bytes than single precision, are confirmed and
// written to a valid study; refused options.
#include "sim/input/hdf5_library.h"
#include "sim/output/reader.h"
#include "tests/sim/command_line.h"
#include "tests/sim/driver.h"

#include <sys/stat.h>

static const char study_text[] =
    "experiment: fringe\n"
    "device: cpu\n"
    "size: {columns: 64, rows: 64}\n"
    "surface: {zernike: [{j: 4, rms_nm: 300.0}], tilt_fringes: {x: 6, y: -3}, noise_rad: 0.2}\n"
    "pupil: {kind: disc, diameter: 0.95}\n"
    "camera: {bits: 12, noise: 0.002}\n"
    "unwrap: {reweight: 0}\n"
    "zernike_terms: 0\n"
    "pipelines: [{name: truth, arithmetic: fp64}, {name: fp32}]\n";

static int begin(void)
{
    command_line_experiments = &bb_experiments;
    check_ok(bb_hdf5_library_start());
    return setenv("XDG_CONFIG_HOME", "/nowhere", 1);
}

static double number_of(const bb_results *results, const char *path, bb_index pipeline)
{
    const bb_dataset *found = dataset_at(results, path);
    assert_true(!found->is_text && pipeline < found->count);
    return found->numbers[pipeline];
}

// The result is the wrapped phase plus whole cycles: the smoother tolerates low precision, the
// phase does not.
TEST_FULL(a_study_is_found_that_runs)
{
    write_text("study.yaml", study_text);
    expect("bitbudget tune --for study.yaml --budget 2 --wisdom found.yaml -q", 0,
           "wrong cycles 0, and rms within 0.6328 nm of the reference, in 3 draws:\n");
    assert_non_null(strstr(printed, "all          DP                      0 "));
    assert_non_null(strstr(printed, "gradient     e4m3 ")); // largest saving first
    assert_non_null(strstr(printed, "accepted\n"));
    assert_non_null(strstr(printed, "  -\n"));
    assert_non_null(strstr(printed, "\nrecords: found.yaml\n"));
    assert_null(strstr(printed, "kernels: 0 of "));
    assert_non_null(strstr(printed, "confirmed by 3 whole runs, seeds 2 to 4: wrong cycles 0, "));
    assert_non_null(strstr(printed, "run it: bitbudget run study-tuned.yaml\n"));
    expect("bitbudget run study-tuned.yaml seed=9 -o found.h5", 0, " in a measured variant");
    autoptr(bb_results) results = read_all_results("found.h5", NULL);
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    assert_int_equal(names->count, 2);
    assert_string_equal(names->texts[0], "truth");
    assert_string_equal(names->texts[1], "tuned");
    assert_true(number_of(results, "results/wrong_cycles_reference", 1) == 0.0);
    assert_true(number_of(results, "results/wavefront_error_reference_nm", 1) <= 0.6328);
    assert_true(number_of(results, "results/compression_ratio", 1) > 1.5); // relative to fp32
}

// For a study with fringes too dense for its pixels, steps are reverted: the report matches the
// written study.
TEST_FULL(what_is_taken_back_counts_no_more)
{
    char search[64];
    expect("bitbudget tune --for " BB_SOURCE_DIR "/configs/fringe/quick.yaml size.columns=48 "
           "size.rows=40 --budget 1 --wisdom back.yaml -o back-tuned.yaml -q",
           0, "of the reference, in 3 draws:\n");
    assert_int_equal(rename("printed", "back.txt"), 0);
    expect("bitbudget run back-tuned.yaml -o back.h5 -q", 0, "");
    autoptr(bb_results) results = read_all_results("back.h5", NULL);
    (void)snprintf(search, sizeof search, "grep -q '^found: .*; %.4g MB$' back.txt",
                   1e-6 * number_of(results, "results/operator_bytes", 1));
    assert_int_equal(system(search), 0);
}

// A measured phase has a single draw; the written study has an absolute path to its file.
TEST_FULL(a_measured_phase_is_one_draw)
{
    write_text("seen.yaml", study_text);
    expect("bitbudget run seen.yaml --dump phase -o seen.h5 -q", 0, "");
    write_text("measured.yaml", "experiment: fringe\n"
                                "input: {file: seen.h5, dataset: /operators/phase_wrapped}\n"
                                "pipelines: [{name: reference, arithmetic: fp64}]\n");
    assert_int_equal(mkdir("below", 0700), 0);
    expect("bitbudget tune --for measured.yaml --budget 1 --wisdom found.yaml -o "
           "below/measured-tuned.yaml -q",
           0, "of the reference, in 1 draw:\n");
    assert_non_null(strstr(printed, "confirmed by a whole run; measured frames have no other"));
    expect("bitbudget run below/measured-tuned.yaml -o measured.h5 -q", 0, "");
}

TEST(what_cannot_be_is_refused)
{
    write_text("study.yaml", study_text);
    write_text("study-tuned.yaml", study_text);
    expect("bitbudget tune --for study.yaml", 3, "'study-tuned.yaml' exists");
    expect("bitbudget tune --for study.yaml -o o.yaml camera.bits=2 --max-loss 0.001", 2,
           "target missed even with DP in every slot");
    expect("bitbudget tune --for study.yaml -o o.yaml --max-loss -1", 2, "--max-loss -1: use");
    expect("bitbudget tune --for study.yaml --set small", 2, "the run determines kernels");
    expect("bitbudget tune --for study.yaml --reorder", 2, "needs --wisdom FILE");
    expect("bitbudget tune --for study.yaml camera.bitz=2", 2, "camera.bitz");
    expect("bitbudget tune --for none.yaml", 3, "none.yaml");
    expect("bitbudget tune add --max-loss 3", 2, "need --for STUDY");
    expect("bitbudget tune --for " CONFIG_WAFER_SMALL " -o o.yaml", 2,
           "pipelines of experiment wafer have no number formats to choose");
    assert_int_not_equal(access("o.yaml", F_OK), 0);
}

TEST_GROUP(.begin = begin, .has_folder = true);

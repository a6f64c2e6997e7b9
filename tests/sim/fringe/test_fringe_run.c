// SPDX-License-Identifier: Apache-2.0
//
// Fringe driver end to end: losses of pipelines, draws, parts, dumps, and refused input.
#include "sim/fringe/fringe_experiment.h"
#include "tests/sim/dumped.h"

#define CONFIG CONFIG_FRINGE_SMALL

TEST(pipelines_lose_what_their_numbers_do)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG, {NULL}));
    assert_true(driver_number(results, "wrong_cycles", "reference") == 0.0);
    assert_true(driver_number(results, "wrong_cycles_reference", "reference") == 0.0);
    assert_true(driver_number(results, "wavefront_error_reference_nm", "reference") == 0.0);
    assert_true(driver_number(results, "wrong_cycles", "fp32") == 0.0);
    // Ten bits and noise of 0.005: sqrt(2 / 4) 0.005 / 0.45 rad, 50.4 nm a radian.
    check_relative(driver_number(results, "wavefront_error_nm", "reference"), 0.396, 0.1);
    const double fine = driver_number(results, "wavefront_error_reference_nm", "fp32");
    const double coarse = driver_number(results, "wavefront_error_reference_nm", "camera-2");
    assert_true(fine > 0.0 && fine < 0.1 && coarse > 20.0 * fine);
    assert_true(isnan(driver_number(results, "bits", "reference")));
    assert_true(driver_number(results, "bits", "fp32") == 10.0);
    assert_true(driver_number(results, "bits", "camera-2") == 2.0);
    assert_true(driver_number(results, "compression_ratio", "reference") == 0.5);
    assert_true(driver_number(results, "compression_ratio", "fp16-u") > 1.0);
    // Only the cycle depends on the solution, so its format has no effect.
    assert_true(driver_number(results, "wavefront_error_reference_nm", "fp16-u") == fine);
    assert_true(driver_dataset(results, "parts")->numbers[0] == 2.0);
    const double scale = driver_number(results, "scale_rad", "reference");
    assert_true(scale > 0.3 && scale < 0.55); // sqrt(2) times the noise of 0.3 rad, and curvature
}

TEST(draws_are_other_noise)
{
    const driver_case study = {CONFIG, {"surface.noise_rad=0.75", "pipelines.1.draws=6"}};
    autoptr(bb_results) results = driver_results(&study);
    assert_true(driver_number(results, "draws", "fp32") == 6.0);
    assert_true(driver_number(results, "draws_failed", "fp32") == 0.0);
    assert_true(driver_number(results, "loss_mean", "fp32") >= 0.0);
}

TEST(plans_leave_out_conjugate_gradients)
{
    CALL_EXPECT(0, "conjugate gradients", "check", CONFIG);
    assert_non_null(strstr(run.printed, "not included in the time: up to 2000 steps"
                                        " per least-squares solve"));
}

// Two V-cycles are enough here, though their last correction exceeds half a cycle; one is not.
TEST(phases_are_verified)
{
    static const char *const statuses[] = {"not_converged", "ok"};
    static const char *const cycles[] = {"unwrap={cycles: 1, reweight: 0}",
                                         "unwrap={cycles: 2, reweight: 0}"};
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_results) results = driver_results(CASE(CONFIG, {cycles[i]}));
        assert_string_equal(driver_text(results, "status", "fp16-u"), statuses[i]);
        assert_true((driver_number(results, "wrong_cycles", "fp16-u") == 0.0) == (i == 1));
    }
}

TEST(fitted_polynomials_are_those_of_the_surface)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG, {"surface.noise_rad=0", "camera.noise=0", "surface.tilt_fringes={x: 0, y: 0}",
                      "pupil={kind: disc, diameter: 0.97}"}));
    const double *fit = driver_dataset(results, "zernike_nm")->numbers;
    check_close(fit[3], 300.0, 1e-6, 300.0);
    check_close(fit[6], -90.0, 1e-6, 300.0);
    check_close(fit[7], 0.0, 1e-6, 300.0);
}

TEST(results_do_not_depend_on_threads)
{
    driver_check_threads(CASE(CONFIG, {"surface.noise_rad=0.7"}));
}

TEST(phases_are_dumped)
{
    CALL_EXPECT(0, "results: ", "run", CONFIG, "-o", "small.h5", "--dump", "phase");
    autoclose(bb_matrix_file) phase = NULL;
    const bb_matrix_place place = {"small.h5", "/operators/phase_fp16_u"};
    const bb_matrix_place quality = {"small.h5", "/operators/quality"};
    check_ok(bb_matrix_file_open_header(&place, "phase", &phase));
    assert_int_equal(bb_matrix_file_source(phase)->columns, 96);
    assert_int_equal(bb_matrix_file_source(phase)->rows, 72);
    assert_string_equal(bb_matrix_file_source(phase)->unit, "rad");
    bb_matrix_file_close(&phase);
    assert_int_equal(bb_matrix_file_open_header(&quality, "quality", &phase), BB_IO);
}

// 150 x 72 points are thinned by two, and equal the dump at those points.
TEST(maps_are_the_whole_ones_thinned)
{
    static const char *const dumped[] = {"operators/phase_truth",   "operators/phase_wrapped",
                                         "operators/quality",       "operators/parts",
                                         "operators/interferogram", "operators/phase_fp16_u"};
    static const char *const thinned[] = {"maps/truth", "maps/wrapped",       "maps/quality",
                                          "maps/parts", "maps/interferogram", "maps/unwrapped"};
    CALL_EXPECT(0, "results: ", "run", CONFIG, "--force", "size={columns: 150, rows: 73}", "-o",
                "small.h5", "--dump", "phase,maps");
    autoptr(bb_results) results = read_all_results("small.h5", "");
    assert_true(numbers_at(results, "maps/stride")[0] == 2.0);
    assert_true(numbers_at(results, "maps/column")[74] == 148.0);
    assert_true(numbers_at(results, "maps/row")[36] == 72.0);
    for (int i = 0; i < 6; ++i) {
        const double *values = numbers_at(results, dumped[i]);
        const bb_dataset *map = dataset_at(results, thinned[i]);
        const double *kept = map->numbers + map->count - 37 * 75; // of the last pipeline
        bb_index points = 0;
        assert_int_equal(dataset_at(results, dumped[i])->shape[1], 150);
        for (bb_index p = 0; p < 37 * 75; ++p) {
            const double value = values[p / 75 * 2 * 150 + p % 75 * 2];
            assert_true(kept[p] == value || (isnan(kept[p]) && isnan(value)));
            points += isfinite(value);
        }
        assert_true(points > 500);
    }
}

// The difference of camera-2 is its error only, without piston and whole cycles.
TEST(errors_are_without_pistons)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG, {"surface.noise_rad=0.1"}));
    const bb_dataset *error = dataset_at(results, "maps/error");
    const bb_dataset *parts = dataset_at(results, "maps/parts");
    const bb_dataset *sizes = dataset_at(results, "parts/points");
    const bb_index points = 96 * 72;
    assert_int_equal(error->count, 4 * points);
    double sums[2] = {0.0, 0.0}, largest = 0.0, counts[2] = {0.0, 0.0};
    for (bb_index p = 0; p < points; ++p) {
        const double value = error->numbers[2 * points + p];
        assert_true(isnan(value) == isnan(parts->numbers[p]));
        if (!isnan(value)) {
            sums[(int)parts->numbers[p]] += value;
            counts[(int)parts->numbers[p]] += 1.0;
            largest = fmax(largest, fabs(value));
        }
    }
    check_close(sums[0], 0.0, 1e-9, 1.0);
    check_close(sums[1], 0.0, 1e-9, 1.0);
    assert_true(largest > 0.1 && largest < 1.0);
    assert_true(counts[0] == sizes->numbers[0] || counts[1] == sizes->numbers[0]);
    assert_true(counts[0] + counts[1] == sizes->numbers[0] + sizes->numbers[1]);
    assert_true(sizes->numbers[0] >= sizes->numbers[1] && sizes->count == 2);
}

// Runs a ramp of this many fringes along x over 96 columns, and returns its warnings.
static const char *warned_of(const char *tilt, const char *noise)
{
    CALL_EXPECT(0, "results: ", "run", CONFIG, "--force", "-o", "small.h5", "surface.zernike=[]",
                tilt, noise, "pipelines=[{name: reference, arithmetic: fp64}]", "zernike_terms=0");
    return strstr(run.printed, "warning");
}

TEST(what_nothing_decides_is_warned_of)
{
    static const char noisy[] = "surface.noise_rad=0.3", quiet[] = "surface.noise_rad=0";
    assert_null(warned_of("surface.tilt_fringes={x: 15.3, y: 0}", noisy));       // 1 rad per column
    const char *text = warned_of("surface.tilt_fringes={x: 44.3, y: 0}", quiet); // 2.9
    assert_non_null(text);
    assert_non_null(strstr(text, "% of the neighbour differences are beyond 0.8 pi"));
    assert_null(strstr(text, "rejected"));
    autoptr(bb_results) results =
        driver_results(CASE(CONFIG, {"pupil={kind: rectangle}", "surface.zernike=[]",
                                     "surface.tilt_fringes={x: 0, y: 0}", "surface.noise_rad=0.1",
                                     "surface.steps=[{kind: edge, height_nm: 145, x: 0.75}]"}));
    check_close(driver_dataset(results, "hanging_share")->numbers[0], 0.25, 1e-3, 1.0);
    assert_true(driver_dataset(results, "steep_share")->numbers[0] < 1e-3);
}

TEST(no_frames_have_no_interferogram)
{
    const driver_case study = {
        CONFIG, {"detection={algorithm: none}", "pipelines=[{name: reference, arithmetic: fp64}]"}};
    autoptr(bb_results) results = driver_results(&study);
    assert_null(bb_results_find(results, "maps/interferogram"));
    (void)dataset_at(results, "maps/wrapped");
}

// An empty mask is an error with a message; a single row gives a result.
TEST(edges_of_the_possible)
{
    const driver_case nothing = {CONFIG, {"pupil={kind: rectangle, dead_share: 0.9999999999}"}};
    autoptr(bb_results) results =
        driver_results(CASE(CONFIG, {"size={columns: 40, rows: 1}", "pupil={kind: rectangle}",
                                     "surface={tilt_fringes: {x: 5, y: 0}}", "zernike_terms=0"}));
    assert_true(driver_number(results, "wrong_cycles", "fp32") == 0.0);
    bb_results_destroy(&results);
    check_fails(driver_run(&nothing, 2, &results), BB_INVALID, "without a point");
    // The plan fails with the same message.
    autorelease(bb_plan) plan = {0};
    check_fails(driver_plan(&nothing, 1, &plan), BB_INVALID,
                "without a point: there is no phase to unwrap");
}

// A camera of one bit gives frames of one value: this pipeline fails, and the others have results,
// with draws and dumps.
TEST(constant_frames_are_one_pipelines_outcome)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG, {"size={columns: 32, rows: 32}", "surface={zernike: [{j: 4, rms_nm: 100}]}",
                 "camera={bits: 12, contrast: 0.2, mean: 0.2}", "pupil={kind: rectangle}",
                 "pipelines=[{name: reference, arithmetic: fp64}, {name: dark, bits: 1, draws: 2}, "
                 "{name: fp32, arithmetic: fp32}]"}));
    const bb_index dark = driver_pipeline(results, "dark");
    assert_string_equal(driver_dataset(results, "status")->texts[dark], "underdetermined");
    assert_non_null(strstr(driver_dataset(results, "status_detail")->texts[dark],
                           "no point has a phase; constant or saturated frames"));
    assert_true(driver_number(results, "draws_failed", "dark") == 2.0);
    assert_true(driver_number(results, "bits", "dark") == 1.0);
    assert_true(isnan(driver_number(results, "wrong_cycles", "dark")));
    assert_true(driver_number(results, "wrong_cycles", "fp32") == 0.0);
    bb_results_destroy(&results);
    // For the reference it is an error: the others have no score without it.
    const driver_case blind = {
        CONFIG,
        {"surface={zernike: [{j: 4, rms_nm: 100}]}", "camera={bits: 12, contrast: 0.2, mean: 0.2}",
         "detection.least_modulation=0.99", "pipelines=[{name: reference, arithmetic: fp64}]"}};
    check_fails(driver_run(&blind, 2, &results), BB_INVALID,
                "pipeline reference: no point has a phase");
}

TEST(what_cannot_be_is_refused)
{
    static const driver_case cases[] = {
        {CONFIG, {"pipelines.0.bits=8"}},
        {CONFIG, {"pipelines.0.smoother={storage: fp32}"}},
        {CONFIG, {"unwrap={reject: soft}"}},
        {CONFIG, {"detection={algorithm: none}"}}, // camera-2 has bits
        {CONFIG, {"pupil.obstruction=0.3"}},       // of a disc
        {CONFIG, {"pipelines.1.arithmetic=fp16"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        bb_config *config = NULL;
        assert_int_equal(driver_load(&cases[i], &config), BB_INVALID);
    }
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);

// SPDX-License-Identifier: Apache-2.0
//
// The fringe driver end to end: what pipelines lose, draws, parts, dumps, and what is refused.
#include "tests/sim/dumped.h"

#define CONFIG BB_SOURCE_DIR "/tests/configs/small/fringe.yaml"

static void pipelines_lose_what_their_numbers_do(void **state)
{
    (void)state;
    const driver_case study = {CONFIG, {NULL}};
    bb_results *results = driver_results(&study);
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
    // Only the cycle depends on the solution: its format does not show.
    assert_true(driver_number(results, "wavefront_error_reference_nm", "fp16-u") == fine);
    assert_true(driver_dataset(results, "parts")->numbers[0] == 2.0);
    const double scale = driver_number(results, "scale_rad", "reference");
    assert_true(scale > 0.3 && scale < 0.55); // sqrt(2) times the noise of 0.3 rad, and curvature
    bb_results_destroy(&results);
}

static void draws_are_other_noise(void **state)
{
    (void)state;
    const driver_case study = {CONFIG, {"surface.noise_rad=0.75", "pipelines.1.draws=6"}};
    bb_results *results = driver_results(&study);
    assert_true(driver_number(results, "draws", "fp32") == 6.0);
    assert_true(driver_number(results, "draws_failed", "fp32") == 0.0);
    assert_true(driver_number(results, "price_mean", "fp32") >= 0.0);
    bb_results_destroy(&results);
}

static void fitted_polynomials_are_those_of_the_surface(void **state)
{
    (void)state;
    const driver_case study = {CONFIG,
                               {"surface.noise_rad=0", "camera.noise=0",
                                "surface.tilt_fringes={x: 0, y: 0}",
                                "pupil={kind: disc, diameter: 0.97}"}};
    bb_results *results = driver_results(&study);
    const double *fit = driver_dataset(results, "zernike_nm")->numbers;
    check_close(fit[3], 300.0, 1e-6, 300.0);
    check_close(fit[6], -90.0, 1e-6, 300.0);
    check_close(fit[7], 0.0, 1e-6, 300.0);
    bb_results_destroy(&results);
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    const driver_case study = {CONFIG, {"surface.noise_rad=0.7"}};
    driver_check_threads(&study);
}

static void phases_are_dumped(void **state)
{
    (void)state;
    static const char *const arguments[PROGRAM_ARGUMENTS] = {"run",      CONFIG,   "-o",
                                                             "small.h5", "--dump", "phase"};
    program_call(arguments, &run);
    program_expect(&run, 0, "results: ");
    bb_matrix_file *phase = NULL;
    const bb_matrix_place place = {"small.h5", "/operators/phase_fp16_u"};
    check_ok(bb_matrix_file_open_header(&place, "phase", &phase));
    assert_int_equal(bb_matrix_file_source(phase)->columns, 96);
    assert_int_equal(bb_matrix_file_source(phase)->rows, 72);
    assert_string_equal(bb_matrix_file_source(phase)->unit, "rad");
    bb_matrix_file_close(&phase);
}

// A mask without a point is an error with a sentence, a single row has an answer.
static void edges_of_the_possible(void **state)
{
    (void)state;
    const driver_case row = {CONFIG,
                             {"size={columns: 40, rows: 1}", "pupil={kind: rectangle}",
                              "surface={tilt_fringes: {x: 5, y: 0}}", "zernike_terms=0"}};
    const driver_case nothing = {CONFIG, {"pupil={kind: rectangle, dead_share: 0.9999999999}"}};
    bb_results *results = driver_results(&row);
    assert_true(driver_number(results, "wrong_cycles", "fp32") == 0.0);
    bb_results_destroy(&results);
    assert_int_equal(driver_run(&nothing, 2, &results), BB_INVALID);
    assert_non_null(strstr(bb_status_message(), "without a point"));
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_lose_what_their_numbers_do),
        cmocka_unit_test(draws_are_other_noise),
        cmocka_unit_test(fitted_polynomials_are_those_of_the_surface),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(phases_are_dumped),
        cmocka_unit_test(edges_of_the_possible),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

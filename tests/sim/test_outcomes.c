// SPDX-License-Identifier: Apache-2.0
//
// Faulty matrices: infinite or NaN entries, or a diagonal that is not positive. Every pipeline,
// including the reference, has an outcome, and the run ends normally.
#include "tests/sim/dumped.h"

#define DIM      "sensors.lgs.flux_ph_per_m2_s=1e-300" // makes the noise infinite
#define SPECTRUM "solver.spectrum={matrix: true, tiles: [{row: 0, column: 0}]}"
#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp}, {name: sp, arithmetic: sp, draws: 3, "          \
    "escalate: "                                                                                   \
    "true}, {name: rule, arithmetic: hp1, policy: {kind: tile_norm, inside: sp}}, {name: cg, "     \
    "arithmetic: hp1, refine: {method: cg}}, {name: searched, arithmetic: hp1, "                   \
    "max_loss: 0.01}]"

// Checks that every pipeline has the status and that all its numbers are NaN.
static void expect_throughout(const bb_results *results, const char *status, const char *detail)
{
    static const char *const numbers[] = {"qoi_relative_error", "operator_bytes", "solve_time_s",
                                          "flops"};
    const bb_dataset *names = driver_dataset(results, "pipeline");
    for (bb_index p = 0; p < names->count; ++p) {
        assert_string_equal(driver_text(results, "status", names->texts[p]), status);
        assert_non_null(strstr(driver_text(results, "status_detail", names->texts[p]), detail));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
            assert_true(isnan(driver_number(results, numbers[i], names->texts[p])));
        }
    }
}

static void expect_unset(const bb_results *results, const char *path)
{
    const bb_dataset *dataset = dataset_at(results, path);
    check_all_nan(dataset->numbers, dataset->count);
}

TEST(an_infinite_covariance_is_the_outcome_of_all)
{
    static const char *const tilts[] = {"solver.lgs_tilt=update", "solver.lgs_tilt=constant_block",
                                        "solver.lgs_tilt=unknown"};
    for (size_t i = 0; i < sizeof tilts / sizeof *tilts; ++i) {
        const driver_case study = {CONFIG_AO_SMALL, {DIM, SPECTRUM, PIPELINES, tilts[i]}};
        autoptr(bb_results) results = driver_results(&study);
        expect_throughout(results, "non_finite", "diagonal 0: inf, expected a finite value");
        assert_true(driver_number(results, "draws_failed", "sp") == 1.0); // only the first is run
        expect_unset(results, "results/strehl");
        expect_unset(results, "results/strehl_by");
        expect_unset(results, "spectrum/eigenvalue");
        expect_unset(results, "spectrum/tile_singular_value");
    }
}

// Without scaling to a unit diagonal, the factorization and the spectrum detect the infinite entry.
TEST(an_unscaled_one_fails_in_the_factor)
{
    const driver_case study = {CONFIG_AO_SMALL, {DIM, SPECTRUM, "solver.scale=none"}};
    autoptr(bb_results) results = driver_results(&study);
    assert_string_equal(driver_text(results, "status", "reference"), "non_finite");
    assert_string_equal(driver_text(results, "status", "hp2"), "non_finite");
    expect_unset(results, "results/strehl");
    expect_unset(results, "spectrum/eigenvalue");
}

// Slopes are NaN in frames without a measurable signal.
TEST(nothing_is_learned_from_what_is_not_finite)
{
    const driver_case study = {CONFIG_AO_SMALL, {DIM, "learn.source=frames", "learn.frames=32"}};
    autoptr(bb_results) results = driver_results(&study);
    expect_throughout(results, "non_finite",
                      "the covariance of slopes to learn from is not finite");
}

// Guide star 1 mm above the pupil. Its spots are so elongated that rounding hides the sign of the
// smallest noise eigenvalue, on which a policy without a tolerance is based.
TEST(a_rule_without_a_floor_of_noise_is_underdetermined)
{
    const driver_case study = {CONFIG_AO_SMALL, {"guide_stars.0.altitude_km=1e-6", PIPELINES}};
    autoptr(bb_results) results = driver_results(&study);
    assert_string_equal(driver_text(results, "status", "rule"), "underdetermined");
    assert_non_null(strstr(driver_text(results, "status_detail", "rule"),
                           "policy tile_norm without a tolerance: noise gives "));
}

// The dump of an infinite covariance is written for diagnosis.
TEST(an_infinite_covariance_is_dumped)
{
    CALL_EXPECT(0, "non_finite, Cmm without tilts, diagonal 0: inf", "run", CONFIG_AO_SMALL, DIM,
                "--dump", "Cmm,R", "-q", "-o", "infinite.h5");
    assert_int_equal(
        system("/usr/bin/python3 -c \"import h5py, numpy; "
               "numpy.testing.assert_(numpy.isinf(h5py.File('infinite.h5')['operators/Cmm'][0, "
               "0]))\""),
        0);
}

enum { N = 16, M = 3 };

// Writes mine.h5, a user's diagonal covariance whose entry 5 is given, and its study.
static void write_covariance(double entry)
{
    char text[640];
    (void)snprintf(text, sizeof text,
                   "import h5py, numpy\n"
                   "c = numpy.eye(%d)\n"
                   "c[5, 5] = %g\n"
                   "with h5py.File('mine.h5', 'w') as file:\n"
                   "    file['Cmm'] = c\n"
                   "    file['Ctm'] = numpy.ones((%d, %d))\n"
                   "    file['Ctt'] = 40.0 * numpy.eye(%d)\n",
                   N, entry, M, N, M);
    run_python(text);
    write_text("mine.yaml", "experiment: reconstructor\ndevice: cpu\n"
                            "covariance: {file: mine.h5, dataset: Cmm}\n"
                            "cross_covariance: {file: mine.h5, dataset: Ctm}\n"
                            "truth_covariance: {file: mine.h5, dataset: Ctt}\n"
                            "solver: {tile: 8}\npipelines:\n"
                            "  - {name: reference, arithmetic: dp}\n"
                            "  - {name: sp, arithmetic: sp, draws: 3, escalate: true}\n");
}

TEST(a_diagonal_that_is_not_positive_is_the_outcome_of_all)
{
    static const double entries[] = {0.0, -1.0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
        char detail[64];
        write_covariance(entries[i]);
        (void)snprintf(detail, sizeof detail, "Cmm, diagonal 5: %g, expected a positive value",
                       entries[i]);
        autoptr(bb_results) results = driver_results(CASE("mine.yaml", {SPECTRUM}));
        expect_throughout(results, "not_spd", detail);
        expect_unset(results, "results/variance_loss");
        expect_unset(results, "spectrum/eigenvalue");
        assert_true(driver_number(results, "draws_failed", "sp") == 3.0);
        bb_results_destroy(&results);
        results = driver_results(CASE("mine.yaml", {SPECTRUM, "solver.scale=none"}));
        assert_string_equal(driver_text(results, "status", "reference"), "not_spd");
        const bb_dataset *values = bb_results_find(results, "spectrum/eigenvalue");
        assert_true(values->numbers[0] == 1.0 && values->numbers[N - 1] == entries[i]);
    }
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);

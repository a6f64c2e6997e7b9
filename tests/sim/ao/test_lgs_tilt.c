// SPDX-License-Identifier: Apache-2.0
//
// Tilts of laser stars of infinite strength, end to end: the reconstructor of nx456 (three laser
// stars first, 76 subapertures each) annihilates them.
#include "tests/sim/driver.h"

enum { LASERS = 3, SUBAPERTURES = 76, ROWS = 152, COLUMNS = 912 };

static const char few[] = "pipelines=[{name: reference, arithmetic: dp}]";

// Runs with R kept, and copies R [ROWS][COLUMNS] of the first pipeline and target to `r`.
static bb_results *reconstructor(const driver_case *study, double *r)
{
    const bb_run_options options = {.threads = 2, .dump = "R"};
    bool found = false;
    autoptr(bb_config) config = driver_config(study);
    bb_results *results = empty_results();
    check_ok(
        bb_experiment_find(&bb_experiments, "ao")->run(bb_config_study(config), &options, results));
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        const bb_operator *of_run = bb_results_operator_at(results, i);
        if (strcmp(of_run->name, "R_0_0") == 0) {
            assert_int_equal(of_run->source->rows, ROWS);
            assert_int_equal(of_run->source->columns, COLUMNS);
            check_ok(bb_matrix_source_load(of_run->source, r));
            found = true;
        }
    }
    assert_true(found);
    return results;
}

static double norm(const double *values)
{
    double sum = 0.0;
    for (bb_index k = 0; k < (bb_index)ROWS * COLUMNS; ++k) {
        sum += values[k] * values[k];
    }
    return sqrt(sum);
}

// Frobenius norm of R V: sums over the slopes of a laser star along an axis.
static double of_tilts(const double *r)
{
    double sum = 0.0;
    for (bb_index i = 0; i < ROWS; ++i) {
        for (bb_index k = 0; k < 2 * (bb_index)LASERS; ++k) {
            double along = 0.0;
            for (bb_index j = 0; j < SUBAPERTURES; ++j) {
                along += r[i * COLUMNS + k * SUBAPERTURES + j];
            }
            sum += along * along;
        }
    }
    return sqrt(sum);
}

TEST(unknown_tilts_are_annihilated_and_the_limit_of_known_ones)
{
    static const char *const variances[] = {"sensors.lgs.tilt_variance_arcsec2=1e2",
                                            "sensors.lgs.tilt_variance_arcsec2=1e4",
                                            "sensors.lgs.tilt_variance_arcsec2=1e6"};
    static double limit[ROWS * COLUMNS], r[ROWS * COLUMNS];
    const driver_case unknown = {CONFIG_NX456, {"device=cpu", few, "solver.lgs_tilt=unknown"}};
    bb_results *results = reconstructor(&unknown, limit);
    const double strehl = driver_number(results, "strehl", "reference");
    print_message("R V over R: %.2g\n", of_tilts(limit) / norm(limit));
    assert_true(of_tilts(limit) < 1e-9 * norm(limit));
    bb_results_destroy(&results);
    double before = INFINITY;
    for (int k = 0; k < 3; ++k) {
        results = reconstructor(CASE(CONFIG_NX456, {"device=cpu", few, variances[k]}), r);
        const double off = fabs(driver_number(results, "strehl", "reference") - strehl);
        for (bb_index i = 0; i < (bb_index)ROWS * COLUMNS; ++i) {
            r[i] -= limit[i];
        }
        const double apart = norm(r) / norm(limit);
        print_message("%s: R %.2g, Strehl %.2g from the limit\n", variances[k], apart, off);
        // Proportional to one over the variance.
        assert_true(apart < 0.02 * before);
        assert_true(off < 1e-4);
        before = apart;
        bb_results_destroy(&results);
    }
    assert_true(before < 1e-12);
}

// A star with tilt variance 0 has a known tilt with an update, but not with lgs_tilt unknown.
TEST(unknown_does_not_depend_on_the_variance)
{
    static double first[ROWS * COLUMNS], second[ROWS * COLUMNS];
    const driver_case unknown = {CONFIG_NX456, {"device=cpu", few, "solver.lgs_tilt=unknown"}};
    const driver_case other = {
        CONFIG_NX456,
        {"device=cpu", few, "solver.lgs_tilt=unknown", "sensors.lgs.tilt_variance_arcsec2=0.0"}};
    autoptr(bb_results) a = reconstructor(&unknown, first);
    autoptr(bb_results) b = reconstructor(&other, second);
    assert_memory_equal(first, second, sizeof first);
    assert_true(driver_number(a, "strehl", "reference") == driver_number(b, "strehl", "reference"));
}

// A constant block covers a sensor's slopes of one direction: a diagonal tile of 196, which stays
// in fp32, but also tiles of 98 next to the diagonal, for which fp16 is too coarse (docs, 3.6).
TEST_FULL(constant_blocks_need_whole_tiles)
{
    static const struct {
        const char *tile, *tilt, *status, *detail;
    } cases[] = {
        {"solver.tile=98", "solver.lgs_tilt=update", "ok", ""},
        {"solver.tile=98", "solver.lgs_tilt=constant_block", "not_spd", "tile (7, 7)"},
        {"solver.tile=196", "solver.lgs_tilt=constant_block", "ok", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        autoptr(bb_results) results = driver_results(
            CASE(BB_SOURCE_DIR "/configs/ao/vlt-3136.yaml",
                 {"device=cpu", cases[i].tile, cases[i].tilt,
                  "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"}));
        assert_string_equal(driver_text(results, "status", "hp2"), cases[i].status);
        assert_non_null(strstr(driver_text(results, "status_detail", "hp2"), cases[i].detail));
    }
}

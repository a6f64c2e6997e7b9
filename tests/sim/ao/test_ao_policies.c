// SPDX-License-Identifier: Apache-2.0
//
// Options of the solver on a real covariance: the noise floor against the eigenvalues, the results
// of rules, escalation and refinement.
#include "precision/format.h"
#include "precision/variant.h"
#include "tests/sim/driver.h"

#define CONFIG_POLICIES BB_SOURCE_DIR "/configs/ao/policies.yaml"

static bb_results *results;

static int setup(void)
{
    results = driver_results(CASE(CONFIG_POLICIES, {NULL}));
    return 0;
}

static void teardown(void)
{
    bb_results_destroy(&results);
}

// The trace is n (unit diagonal), and the eigenvalues give ||A||_F, hence the noise floor behind
// the tolerance: a lower bound on the smallest eigenvalue, which is not sharp because it is that of
// the least noisy sensor.
TEST(noise_floors_are_below_the_least_eigenvalue)
{
    const bb_dataset *values = dataset_at(results, "spectrum/eigenvalue");
    const bb_dataset *lines = dataset_at(results, "spectrum/roundoff_line");
    double trace = 0.0;
    double squares = 0.0;
    for (bb_index i = 0; i < values->count; ++i) {
        trace += values->numbers[i];
        squares += values->numbers[i] * values->numbers[i];
    }
    check_relative(trace, (double)values->count, 1e-12);
    double minimum = values->numbers[values->count - 1];
    double tolerance = driver_number(results, "policy_tolerance", "noise-floor");
    double floor = tolerance * sqrt(squares) / 0.5;
    print_message("noise floor %.3e, least eigenvalue %.3e\n", floor, minimum);
    assert_true(floor <= minimum);
    assert_true(floor > 0.05 * minimum);
    check_relative(lines->numbers[BB_FORMAT_FP16], values->numbers[0] * 0x1p-11, 1e-15);
}

// Tile (0, 0) is on the diagonal: its singular values are eigenvalues, with its trace.
TEST(tiles_have_their_singular_values)
{
    const bb_dataset *values = dataset_at(results, "spectrum/tile_singular_value");
    const bb_dataset *row = dataset_at(results, "spectrum/tile_row");
    assert_int_equal(row->count, 3);
    assert_true(row->numbers[2] == 11.0);
    double trace = 0.0;
    for (bb_index i = 0; i < values->shape[1]; ++i) {
        trace += values->numbers[i];
    }
    check_relative(trace, (double)values->shape[1], 1e-12);
}

// Twelve rows of tiles: 12 + 11 are sp, 10 + 9 + 8 hp1, the other 28 hp2. This is cheaper than its
// near zone throughout, and as good as hp1 within a thousandth of the Strehl ratio.
TEST(three_zones_have_their_tiles)
{
    const double *tiles = driver_row(results, "tile_share", "three-zones");
    check_close(tiles[BB_VARIANT_SP], 23.0 / 78.0, 1e-12, 1.0);
    check_close(tiles[BB_VARIANT_HP1], 27.0 / 78.0, 1e-12, 1.0);
    check_close(tiles[BB_VARIANT_HP2], 28.0 / 78.0, 1e-12, 1.0);
    assert_string_equal(driver_text(results, "status", "three-zones"), "ok");
    assert_true(driver_number(results, "relative_cost", "three-zones") < 1.0);
    check_close(driver_number(results, "strehl_loss", "three-zones"), 0.0, 1e-3, 1.0);
}

TEST(shares_add_up_to_one)
{
    const bb_dataset *names = driver_dataset(results, "pipeline");
    for (bb_index p = 0; p < names->count; ++p) {
        const double *tiles = driver_row(results, "tile_share", names->texts[p]);
        const double *products = driver_row(results, "product_share", names->texts[p]);
        double tile_sum = 0.0;
        double product_sum = 0.0;
        for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
            tile_sum += tiles[v];
            product_sum += products[v];
        }
        check_relative(tile_sum, 1.0, 1e-12);
        check_relative(product_sum, 1.0, 1e-12);
    }
    assert_true(driver_row(results, "product_share", "reference")[BB_VARIANT_DP] == 1.0);
    double mixed = driver_row(results, "product_share", "product")[BB_VARIANT_HP1];
    assert_true(mixed > 0.3 && mixed < 1.0);
    assert_true(driver_number(results, "certificate", "product") < 1e-2);
    assert_true(driver_number(results, "strehl_loss", "product") <
                0.1 * driver_number(results, "strehl_loss", "hp1"));
}

// One tile is factored without a product: its shares and cost are unset rather than 0 / 0.
TEST(one_tile_has_no_products)
{
    autoptr(bb_results) single = driver_results(CASE(CONFIG_AO_SMALL, {"solver.tile=4096"}));
    const bb_dataset *shares = driver_dataset(single, "product_share");
    for (bb_index i = 0; i < shares->count; ++i) {
        assert_true(isnan(shares->numbers[i]) && !signbit(shares->numbers[i]));
    }
    assert_true(isnan(driver_number(single, "relative_cost", "sp")));
    assert_false(signbit(driver_number(single, "relative_cost", "sp")));
}

TEST(failures_and_refinements_are_told)
{
    assert_string_equal(driver_text(results, "status", "fp8-escalated"), "ok");
    assert_non_null(strstr(driver_text(results, "status_detail", "fp8-escalated"), "then x3"));
    assert_true(driver_number(results, "escalations", "fp8-escalated") == 1.0);
    assert_true(driver_number(results, "escalations", "hp1") == 0.0);
    assert_true(isnan(driver_number(results, "iterations_most", "hp1")));
    double maximum = driver_number(results, "iterations_most", "hp1-refined");
    assert_true(maximum >= 1.0 && maximum < 20.0);
    // 912 measurements, 152 truth slopes and 6 columns of tilts.
    check_relative(driver_number(results, "iterations_break_even", "hp1-refined"),
                   912.0 / 12.0 / 158.0, 1e-12);
    check_close(driver_number(results, "strehl_loss", "hp1-refined"), 0.0, 1e-10, 1.0);
}

TEST_FULL(bits_do_not_depend_on_threads)
{
    driver_check_threads(CASE(CONFIG_POLICIES, {NULL}));
}

TEST_GROUP(.begin = setup, .end = teardown);

// SPDX-License-Identifier: Apache-2.0
//
// The ao driver from configuration to results: the 39 m check case against independent values, and
// a small case for exact results.
#include "tests/sim/driver.h"

static const driver_case small = {CONFIG_AO_SMALL, {NULL}};
static const char once[] =
    "pipelines=[{name: reference, arithmetic: dp}, {name: sp, arithmetic: sp}, {name: tf32, "
    "arithmetic: tf32}, {name: hp1, arithmetic: hp1, policy: {kind: band, width: 1, inside: sp}}, "
    "{name: hp2, arithmetic: hp2}, {name: hp3, arithmetic: hp3}]"; // of nx456, without draws

TEST(threads_do_not_change_a_bit)
{
    driver_check_threads(&small);
    driver_check_threads(CASE(CONFIG_NX456, {"device=cpu", "solver.tile=50", once}));
}

// Targets are solved in turn with one factor: a study of one of them must give the same.
TEST(targets_share_one_factor)
{
    static const char *const single[] = {"targets=[{x_arcsec: 0.0, y_arcsec: 0.0}]",
                                         "targets=[{x_arcsec: 7.0, y_arcsec: -4.0}]"};
    autoptr(bb_results) both = driver_results(&small);
    const bb_dataset *dataset = driver_dataset(both, "strehl_by");
    const bb_dataset *rms = driver_dataset(both, "residual_rms_by_nm");
    assert_int_equal(dataset->rank, 3);
    assert_int_equal(dataset->shape[1], 2);
    for (bb_index t = 0; t < 2; ++t) {
        autoptr(bb_results) one = driver_results(CASE(CONFIG_AO_SMALL, {single[t]}));
        const bb_dataset *alone_by = driver_dataset(one, "strehl_by");
        const bb_dataset *alone_rms = driver_dataset(one, "residual_rms_by_nm");
        assert_int_equal(alone_by->shape[1], 1);
        for (bb_index p = 0; p < dataset->shape[0]; ++p) {
            const double *expected = alone_by->numbers + p * dataset->shape[2];
            const double *got = dataset->numbers + (p * 2 + t) * dataset->shape[2];
            assert_memory_equal(got, expected, (size_t)dataset->shape[2] * sizeof *got);
            assert_true(rms->numbers[p * 2 + t] == alone_rms->numbers[p]);
            assert_true(got[0] > 0.0 && got[0] < 1.0);
        }
    }
    // Off the axis of the stars the results differ.
    assert_true(dataset->numbers[0] != dataset->numbers[dataset->shape[2]]);
}

TEST(scalars_are_of_the_first_target_and_wavelength)
{
    autoptr(bb_results) results = driver_results(&small);
    const bb_dataset *names = driver_dataset(results, "pipeline");
    double reference = driver_number(results, "strehl", "reference");
    for (bb_index p = 0; p < names->count; ++p) {
        const char *name = names->texts[p];
        double strehl = driver_number(results, "strehl", name);
        assert_true(strehl == driver_row(results, "strehl_by", name)[0]);
        assert_true(driver_number(results, "residual_rms_nm", name) ==
                    driver_row(results, "residual_rms_by_nm", name)[0]);
        double loss = driver_number(results, "strehl_loss", name);
        assert_true(loss == reference - strehl);
        assert_true(driver_number(results, "qoi_relative_error", name) == fabs(loss) / reference);
        assert_string_equal(driver_text(results, "status", name), "ok");
        assert_string_equal(driver_text(results, "status_detail", name), "");
        assert_string_equal(driver_text(results, "device", name), "cpu");
        assert_true(isnan(driver_number(results, "energy_j", name)));
    }
}

// The long-exposure image is 1 at the peak of the diffraction-limited one: its central pixel is the
// Strehl ratio, of the first target and wavelength.
TEST(the_peak_of_the_image_is_the_strehl_ratio)
{
    autoptr(bb_results) results = driver_results(&small);
    const bb_dataset *psf = driver_dataset(results, "psf");
    assert_int_equal(psf->rank, 3);
    bb_index edge = psf->shape[2];
    const double *image = driver_row(results, "psf", "reference");
    check_relative(image[edge / 2 * edge + edge / 2], driver_number(results, "strehl", "reference"),
                   1e-12);
    const bb_dataset *offset = driver_dataset(results, "psf_x");
    assert_true(offset->numbers[edge / 2] == 0.0);
}

TEST(the_output_is_planned)
{
    autoptr(bb_results) results = driver_results(&small);
    driver_check_output_plan(&small, results);
}

TEST(a_second_dp_loses_nothing)
{
    autoptr(bb_results) results = driver_results(&small);
    assert_true(driver_number(results, "strehl_loss", "dp again") == 0.0);
    assert_true(driver_number(results, "qoi_relative_error", "dp again") == 0.0);
    assert_true(driver_number(results, "strehl", "dp again") ==
                driver_number(results, "strehl", "reference"));
}

// Bytes of a tile matrix: whole lower tiles, with half the bytes for tiles in fp16.
TEST(bytes_and_operations_are_those_of_the_tiles)
{
    autoptr(bb_results) results = driver_results(&small);
    double dp = driver_number(results, "operator_bytes", "reference");
    double sp = driver_number(results, "operator_bytes", "sp");
    double hp2 = driver_number(results, "operator_bytes", "hp2");
    assert_true(dp == 2.0 * sp);
    assert_true(hp2 < sp && hp2 > 0.5 * sp);
    assert_true(driver_number(results, "compression_ratio", "sp") == 1.0);
    assert_true(driver_number(results, "compression_ratio", "reference") == 0.5);
    double flops = driver_number(results, "flops", "sp");
    assert_true(flops > 0.0 && flops == driver_number(results, "flops", "hp2"));
    check_relative(driver_number(results, "flops_dense_equivalent", "sp"), flops, 1e-12);
}

// Values from an independent numpy computation of the case (tests/physics/ao/test_nx456.c).
TEST(nx456_matches_the_reference)
{
    autoptr(bb_results) results = driver_results(CASE(CONFIG_NX456, {"device=cpu", once}));
    const double *values = driver_row(results, "strehl_by", "reference");
    double residual = driver_number(results, "residual_rms_nm", "reference");
    print_message("nx456: Strehl %.6f at 1.65 um, %.6f at 2.2 um, residual %.3f nm\n", values[0],
                  values[1], residual);
    check_close(values[0], 0.81350, 1e-4, 1.0);
    check_close(values[1], 0.89025, 1e-4, 1.0);
    check_close(residual, 121.0, 0.05, 1.0);
    double sp = driver_number(results, "strehl_loss", "sp");
    double hp1 = driver_number(results, "strehl_loss", "hp1");
    double hp2 = driver_number(results, "strehl_loss", "hp2");
    print_message("losses: sp %.3g, hp1 %.3g, hp2 %.3g\n", sp, hp1, hp2);
    check_close(sp, 0.0, 1e-4, 1.0);
    assert_true(hp1 > sp && hp1 < 2e-3);
    assert_true(hp2 > hp1 && hp2 < 1e-2);
}

// The exact low-rank update and the constant blocks are the same matrix in exact arithmetic.
TEST(both_forms_of_the_unknown_tilt_agree)
{
    const char *few = "pipelines=[{name: reference, arithmetic: dp}, {name: sp, arithmetic: sp}]";
    const driver_case update = {CONFIG_NX456, {"device=cpu", few}};
    const driver_case blocks = {CONFIG_NX456,
                                {"device=cpu", few, "solver.lgs_tilt=constant_block"}};
    autoptr(bb_results) a = driver_results(&update);
    autoptr(bb_results) b = driver_results(&blocks);
    double dp[2] = {driver_number(a, "strehl", "reference"),
                    driver_number(b, "strehl", "reference")};
    double sp[2] = {driver_number(a, "strehl", "sp"), driver_number(b, "strehl", "sp")};
    print_message("update against blocks: dp %.3g, sp %.3g\n", dp[0] - dp[1], sp[0] - sp[1]);
    check_close(dp[0], dp[1], 1e-7, 1.0);
    check_close(sp[0], dp[0], 1e-4, 1.0);
    check_close(sp[1], dp[1], 1e-4, 1.0);
}

static void check_failed(const bb_results *results, const char *name)
{
    static const char *const numbers[] = {"strehl",  "strehl_loss",        "strehl_by",
                                          "flops",   "qoi_relative_error", "residual_rms_nm",
                                          "psf",     "solve_time_s",       "residual_rms_by_nm",
                                          "energy_j"};
    assert_string_equal(driver_text(results, "status", name), "not_spd");
    const char *detail = driver_text(results, "status_detail", name);
    if (strstr(detail, "tile (") == NULL) {
        print_error("%s: '%s' names no tile\n", name, detail);
        fail();
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        const bb_dataset *dataset = driver_dataset(results, numbers[i]);
        const double *row = driver_row(results, numbers[i], name);
        check_all_nan(row, dataset->count / dataset->shape[0]);
    }
    // Results computed before the failure are available.
    assert_true(driver_number(results, "operator_bytes", name) > 0.0);
    assert_true(driver_number(results, "encode_time_s", name) > 0.0);
}

TEST(a_lost_definiteness_is_a_result)
{
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_NX456, {"device=cpu", "solver.scale=none", "solver.lgs_tilt=constant_block", once}));
    check_failed(results, "hp2");
    check_failed(results, "hp3");
    static const char *const finish[] = {"reference", "sp", "tf32", "hp1"};
    for (size_t i = 0; i < sizeof finish / sizeof *finish; ++i) {
        assert_string_equal(driver_text(results, "status", finish[i]), "ok");
        double strehl = driver_number(results, "strehl", finish[i]);
        assert_true(strehl > 0.8 && strehl < 0.82);
        const double counted = driver_number(results, "encode_time_s", finish[i]) +
                               driver_number(results, "solve_time_s", finish[i]);
        assert_true(counted > 0.0 && driver_number(results, "wall_s", finish[i]) >= counted);
    }
    print_message("hp2: %s; hp3: %s\n", driver_text(results, "status_detail", "hp2"),
                  driver_text(results, "status_detail", "hp3"));
}

// The reference is found by its name, at any position in the list.
TEST(the_reference_goes_by_its_name)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_AO_SMALL,
             {"pipelines=[{name: sp, arithmetic: sp}, {name: reference, arithmetic: dp}]"}));
    autoptr(bb_results) usual = driver_results(&small);
    assert_true(driver_number(results, "strehl_loss", "reference") == 0.0);
    assert_true(driver_number(results, "strehl_loss", "sp") ==
                driver_number(usual, "strehl_loss", "sp"));
}

TEST_GROUP(.is_quiet = true);

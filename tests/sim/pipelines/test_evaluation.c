// SPDX-License-Identifier: Apache-2.0
//
// Values of an evaluation before any computation are NaN, never 0, up to the results.
#include "sim/ao/ao_evaluation.h"
#include "sim/pipelines/evaluation.h"
#include "tests/sim/driver.h"

TEST(starts_with_nothing_known)
{
    const bb_evaluation evaluation = bb_evaluation_start("a");
    assert_string_equal(evaluation.pipeline, "a");
    assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_OK);
    assert_string_equal(evaluation.outcome.detail, "");
    assert_int_equal(evaluation.device, BB_DEVICE_CPU);
    const double numbers[] = {evaluation.qoi_relative_error, evaluation.operator_bytes,
                              evaluation.fp32_bytes,         evaluation.flops,
                              evaluation.flops_dense,        evaluation.encode_seconds,
                              evaluation.solve_seconds,      evaluation.energy_joules};
    check_all_nan(numbers, sizeof numbers / sizeof *numbers);
}

TEST(unset_is_nan)
{
    double *values = NULL;
    check_ok(bb_evaluation_unset(5, &values));
    check_all_nan(values, 5);
    BB_RELEASE(&values);
    check_ok(bb_evaluation_unset(0, &values));
    assert_null(values);
}

TEST(ao_starts_with_nothing_known)
{
    bb_ao_evaluation evaluation;
    check_ok(bb_ao_evaluation_create("a", 2, 3, 0, 1, &evaluation));
    check_all_nan(evaluation.strehl, 6);
    for (int t = 0; t < 2; ++t) {
        assert_null(evaluation.r[t]);
        assert_true(isnan(evaluation.residual_m[t]));
    }
    check_all_nan(evaluation.psf, BB_AO_PSF_PIXELS * BB_AO_PSF_PIXELS);
    bb_ao_evaluation_release(&evaluation, 2);
    bb_ao_evaluation_release(&evaluation, 2); // once is enough, twice is fine
}

TEST(publishes_in_the_order_of_the_study)
{
    bb_evaluation rows[] = {bb_evaluation_start("bad"), bb_evaluation_start("good")};
    const bb_evaluations evaluations = {rows, sizeof *rows, 2, NULL};
    bb_evaluation good = rows[1];
    good.qoi_relative_error = 0.25;
    good.operator_bytes = 100.0;
    good.fp32_bytes = 300.0;
    good.flops = 7.0;
    good.flops_dense = 9.0;
    good.encode_seconds = 0.5;
    good.solve_seconds = 2.0;
    good.wall_seconds = 4.0;
    rows[1] = good;
    bb_outcome_set(&rows[0].outcome, BB_OUTCOME_NOT_SPD, "tile (%d, %d)", 3, 3);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_evaluations_publish(&evaluations, "1", results));
    assert_string_equal(driver_dataset(results, "pipeline")->texts[0], "bad");
    assert_string_equal(driver_text(results, "status", "bad"), "not_spd");
    assert_string_equal(driver_text(results, "status", "good"), "ok");
    assert_string_equal(driver_text(results, "status_detail", "bad"), "tile (3, 3)");
    assert_string_equal(driver_text(results, "device", "bad"), "cpu");
    static const struct {
        const char *name, *unit;
        double value;
        bool measured;
    } columns[] = {
        {"qoi_relative_error", "1", 0.25, false},
        {"operator_bytes", "byte", 100, false},
        {"compression_ratio", "1", 3.0, false},
        {"flops", "1", 7.0, false},
        {"flops_dense_equivalent", "1", 9.0, false},
        {"encode_time_s", "s", 0.5, true},
        {"solve_time_s", "s", 2.0, true},
        {"wall_s", "s", 4.0, true},
        {"energy_j", "J", NAN, true},
        {"cost_usd", "USD", NAN, true},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        const bb_dataset *dataset = driver_dataset(results, columns[i].name);
        assert_string_equal(dataset->unit, columns[i].unit);
        assert_true(strlen(dataset->long_name) > 0);
        assert_int_equal(dataset->measured, columns[i].measured);
        assert_true(isnan(dataset->numbers[0]));
        if (isnan(columns[i].value)) {
            assert_true(isnan(dataset->numbers[1]));
        } else {
            assert_true(dataset->numbers[1] == columns[i].value);
        }
    }
}

// 2 s of 30,000 dollars that last five years, and 7.2 kJ at 25 cents a kWh.
TEST(a_result_costs_its_share_of_the_machine)
{
    const bb_machine_price plain = {30000.0, 5.0, NAN};
    const bb_machine_price metered = {30000.0, 5.0, 0.25};
    const bb_machine_price none = {NAN, 5.0, 0.25};
    const double share = 30000.0 * 2.0 / (5.0 * 365.25 * 86400.0);
    check_close(bb_evaluation_cost(&plain, 2.0, NAN), share, 1e-15, share);
    check_close(bb_evaluation_cost(&plain, 2.0, 7200.0), share, 1e-15, share);
    check_close(bb_evaluation_cost(&metered, 2.0, 7200.0), share + 5e-4, 1e-15, share);
    assert_true(isnan(bb_evaluation_cost(&metered, 2.0, NAN)));
    assert_true(isnan(bb_evaluation_cost(&plain, NAN, 7200.0)));
    assert_true(isnan(bb_evaluation_cost(&none, 2.0, 7200.0)));
    static const struct {
        bb_machine_price price;
        const char *note;
    } notes[] = {
        {{30000.0, 5.0, NAN}, "30000 USD over 5 years, without electricity"},
        {{30000.0, 5.0, 0.25},
         "30000 USD over 5 years, and 0.25 USD per kWh: NaN where energy_j is NaN"},
        {{NAN, 5.0, 0.25}, "NaN: machine.price_usd is not given"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        bb_evaluation evaluation = bb_evaluation_start("a");
        const bb_evaluations all_evaluations = {&evaluation, sizeof evaluation, 1, &notes[i].price};
        evaluation.solve_seconds = 2.0;
        evaluation.energy_joules = 7200.0;
        autoptr(bb_results) results = empty_results();
        check_ok(bb_evaluations_publish(&all_evaluations, "1", results));
        const double expected = bb_evaluation_cost(&notes[i].price, 2.0, 7200.0);
        const double cost = driver_number(results, "cost_usd", "a");
        assert_true(isnan(expected) ? isnan(cost) : cost == expected);
        assert_true(driver_dataset(results, "cost_usd")->measured);
        assert_string_equal(bb_results_note_text(results, "provenance", "cost_usd"), notes[i].note);
    }
}

// The keys reach the results; the lifetime is five years by default.
TEST(studies_price_their_machine)
{
    static const char *const times[] = {"solve_time_s", "wall_s"};
    const driver_case studies[] = {
        {CONFIG_WAFER_SMALL, {"machine.price_usd=1e9"}},
        {CONFIG_AO_SMALL, {"machine.price_usd=2e9", "machine.lifetime_years=10.0"}}};
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_results) results = driver_results(&studies[i]);
        const double seconds = driver_number(results, times[i], "reference");
        const double cost = driver_number(results, "cost_usd", "reference");
        assert_true(seconds > 0.0);
        check_close(cost, seconds * 1e9 / (5.0 * 365.25 * 86400.0), 1e-12, cost);
    }
}

// Times differ from run to run; they must not reach the reproducible digest.
TEST(times_stay_out_of_the_reproducible_digest)
{
    char digest[2][BB_DIGEST_BYTES];
    char all_values[2][BB_DIGEST_BYTES];
    for (int i = 0; i < 2; ++i) {
        bb_evaluation evaluation = bb_evaluation_start("a");
        const bb_evaluations evaluations = {&evaluation, sizeof evaluation, 1, NULL};
        evaluation.qoi_relative_error = 0.5;
        evaluation.solve_seconds = evaluation.encode_seconds = evaluation.energy_joules = 1.0 + i;
        autoptr(bb_results) results = empty_results();
        check_ok(bb_evaluations_publish(&evaluations, "1", results));
        check_ok(bb_results_digest(results, true, digest[i]));
        check_ok(bb_results_digest(results, false, all_values[i]));
    }
    assert_string_equal(digest[0], digest[1]);
    assert_string_not_equal(all_values[0], all_values[1]);
}

// A lossless copy has no error, and a matrix of zeros stores nothing; neither may turn a division
// by zero into a plausible number.
TEST(nothing_lost_and_nothing_stored_are_told_apart)
{
#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: tiles, storage: {codec: low_rank, tolerance: 1e-13}, multiply: fp32, "                 \
    "accumulate: fp64}]"
    autoptr(bb_results) results = driver_results(CASE(CONFIG_WAFER_SMALL, {PIPELINES}));
    assert_true(isinf(driver_number(results, "psnr_db", "reference")));
    assert_true(isinf(driver_number(results, "psnr_zfp_db", "reference")));
    assert_true(isfinite(driver_number(results, "psnr_db", "tiles")));
    assert_true(isfinite(driver_number(results, "compression_ratio", "tiles")));
    bb_results_destroy(&results);
    results = driver_results(CASE(CONFIG_WAFER_SMALL, {PIPELINES, "wafer.expansion_per_k=0.0"}));
    assert_string_equal(driver_text(results, "status", "tiles"), "ok");
    assert_true(driver_number(results, "operator_bytes", "tiles") == 0.0);
    assert_true(driver_number(results, "bits_per_value", "tiles") == 0.0);
    assert_true(isnan(driver_number(results, "compression_ratio", "tiles")));
    assert_true(isnan(driver_number(results, "compression_ratio_live", "tiles")));
    assert_true(driver_number(results, "compression_ratio", "reference") == 0.5);
    assert_true(isnan(driver_number(results, "psnr_db", "reference")));
    assert_true(isnan(driver_number(results, "psnr_db", "tiles")));
#undef PIPELINES
}

// SPDX-License-Identifier: Apache-2.0
//
// Searches of fringe: the result is within max_loss in every draw and bit-identical to a study with
// those slots. Also unsatisfiable limits, lists, plans and refused keys.
#include "sim/fringe/fringe_work.h"
#include "tests/sim/driver.h"

#define CONFIG    CONFIG_FRINGE_SMALL
#define REFERENCE "{name: reference, arithmetic: fp64}, "

static const bb_dataset *trials_of(const bb_results *results, const char *name)
{
    return dataset_in(results, "search", name);
}

static const char *detail_of(const bb_results *results, const char *pipeline)
{
    return driver_text(results, "status_detail", pipeline);
}

// The cheapest accepted trial is the pipeline's row.
TEST(the_result_is_within_max_loss)
{
    autoptr(bb_results) results =
        driver_results(CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, max_loss: 1.0}]"}));
    const bb_dataset *accepted = trials_of(results, "accepted");
    const bb_dataset *bytes = trials_of(results, "operator_bytes");
    const bb_dataset *loss = trials_of(results, "wavefront_error_reference_nm");
    const bb_dataset *wrong = trials_of(results, "wrong_cycles_reference");
    bb_index best = -1;
    for (bb_index t = 0; t < accepted->count; ++t) {
        const bool fits = loss->numbers[t] <= 1.0 && wrong->numbers[t] == 0.0;
        assert_true(fits == (accepted->numbers[t] == 1.0));
        if (fits && (best < 0 || bytes->numbers[t] < bytes->numbers[best])) {
            best = t;
        }
    }
    assert_string_equal(trials_of(results, "slots")->texts[0],
                        "gradient DP, smoother DP, residual DP, transfer DP, congruence DP");
    assert_string_equal(trials_of(results, "pipeline")->texts[0], "asks");
    assert_true(best > 0 && accepted->count > 5 && accepted->count <= 31);
    assert_true(driver_number(results, "operator_bytes", "asks") == bytes->numbers[best]);
    assert_true(driver_number(results, "wavefront_error_reference_nm", "asks") ==
                loss->numbers[best]);
    assert_true(driver_number(results, "wrong_cycles_reference", "asks") == 0.0);
    assert_true(driver_number(results, "compression_ratio", "asks") > 1.5);
    assert_non_null(strstr(detail_of(results, "asks"), trials_of(results, "slots")->texts[best]));
    assert_non_null(strstr(detail_of(results, "asks"), "max_loss 1 nm: met by gradient fp16, "));
}

// Configuration by a user who copies the slots from the detail.
TEST(what_is_found_is_computed_as_any_pipeline)
{
    static const char *const same[] = {"wrong_cycles",   "wavefront_error_nm",
                                       "operator_bytes", "wavefront_error_reference_nm",
                                       "bits",           "draws",
                                       "loss_mean",      "failure_bound",
                                       "scale_rad"};
    autoptr(bb_results) found = driver_results(
        CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, bits: 8, draws: 3, max_loss: 1.0}]"}));
    autoptr(bb_results) fixed = driver_results(
        CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, arithmetic: fp64, bits: 8, draws: 3, "
                      "gradient: {arithmetic: fp32, storage: fp16}, smoother: "
                      "{arithmetic: fp32, storage: e4m3}, "
                      "residual: {arithmetic: fp32, storage: fp16}, transfer: "
                      "{arithmetic: fp32, storage: e4m3}, "
                      "congruence: {arithmetic: fp32, storage: fp16}}]"}));
    assert_non_null(strstr(detail_of(found, "asks"),
                           "gradient fp16, smoother e4m3, residual fp16, transfer e4m3, "
                           "congruence fp16, loss "));
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        check_close(driver_number(found, same[i], "asks"), driver_number(fixed, same[i], "asks"),
                    0.0, 1.0);
    }
    assert_true(driver_number(found, "draws", "asks") == 3.0);
    const bb_dataset *map = dataset_at(fixed, "maps/unwrapped");
    assert_memory_equal(numbers_at(found, "maps/unwrapped"), map->numbers,
                        (size_t)map->count * sizeof(double));
}

// A camera of two bits costs 20 nm: no formats lose less.
TEST(what_nothing_meets_has_no_numbers)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, bits: 2, draws: 2, max_loss: 0.01}, "
                      "{name: fp32}]"}));
    assert_string_equal(driver_text(results, "status", "asks"), "not_converged");
    assert_non_null(strstr(detail_of(results, "asks"),
                           "max_loss 0.01 nm: not met in 1 trial; nearest is gradient DP"));
    assert_true(isnan(driver_number(results, "wavefront_error_reference_nm", "asks")));
    assert_true(driver_number(results, "draws_failed", "asks") == 1.0); // no later trial
    assert_int_equal(trials_of(results, "accepted")->count, 1);
    assert_true(trials_of(results, "accepted")->numbers[0] == 0.0);
    assert_true(driver_number(results, "wrong_cycles", "fp32") == 0.0);
}

// A weak camera of two bits gives no phase in half of the pupil: missing points count as wrong.
TEST(a_lost_point_is_beyond_wrong_cycles)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG, {"camera.contrast=0.26", "camera.mean=0.4",
                      "pipelines=[" REFERENCE "{name: asks, bits: 2, max_loss: 40.0}, "
                      "{name: two-bits, bits: 2}]"}));
    const double missing = driver_number(results, "missing", "two-bits");
    assert_true(missing > 0.0);
    assert_true(driver_number(results, "missing", "reference") == 0.0);
    assert_true(driver_number(results, "wrong_cycles", "two-bits") >= missing);
    assert_true(driver_number(results, "wrong_cycles_reference", "two-bits") >= missing);
    assert_string_equal(driver_text(results, "status", "asks"), "not_converged");
}

// Noise affects one draw and not another: a max_loss that every phase satisfies is not enough.
TEST(no_loss_makes_up_for_a_cycle)
{
    static const char noisy[] = "surface.noise_rad=0.9";
    const driver_case strict = {
        CONFIG, {noisy, "pipelines=[" REFERENCE "{name: asks, bits: 3, max_loss: 1.0e6}]"}};
    autoptr(bb_results) results = driver_results(&strict);
    assert_string_equal(driver_text(results, "status", "asks"), "not_converged");
    assert_true(trials_of(results, "wrong_cycles_reference")->numbers[0] > 0.0);
    autoptr(bb_results) loose =
        driver_results(CASE(CONFIG, {noisy, "pipelines=[" REFERENCE "{name: asks, bits: 3, "
                                            "max_loss: 1.0e6, search: {wrong_cycles: 1000000}}]"}));
    assert_string_equal(driver_text(loose, "status", "asks"), "ok");
    assert_true(driver_number(loose, "wrong_cycles_reference", "asks") > 0.0);
    // One byte everywhere is not found: gradients or residuals of a byte do not converge, at any
    // max_loss.
    assert_true(driver_number(loose, "compression_ratio", "asks") > 2.0);
}

// Formats within max_loss in draw 0 and above it in another draw are not accepted.
TEST(every_draw_counts)
{
    autoptr(bb_results) first =
        driver_results(CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, max_loss: 1.0}]"}));
    autoptr(bb_results) worst = driver_results(
        CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, draws: 5, max_loss: 1.0}]"}));
    assert_true(driver_number(worst, "operator_bytes", "asks") >
                driver_number(first, "operator_bytes", "asks"));
    assert_true(driver_number(worst, "draws", "asks") == 5.0);
    assert_true(driver_number(worst, "loss_worst", "asks") == 0.0);    // wrong cycles
    assert_true(driver_number(worst, "failure_bound", "asks") < 0.46); // 1 - 0.05^(1/5) = 0.451
}

TEST(results_do_not_depend_on_threads)
{
    driver_check_threads(
        CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, draws: 2, max_loss: 0.5}]"}));
}

TEST(plans_say_what_is_searched)
{
    autorelease(bb_plan) plan = {0};
    autorelease(bb_plan) plain = {0};
    const driver_case study = {CONFIG,
                               {"pipelines=[" REFERENCE "{name: asks, draws: 4, max_loss: 0.5}]"}};
    check_ok(driver_plan(&study, 1, &plan));
    check_ok(
        driver_plan(CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, draws: 4}]"}), 1, &plain));
    assert_non_null(strstr(bb_text_string(&plan.lines),
                           "max_loss 0.5 nm and 0 wrong cycles in 4 draws, up to 31 "
                           "trials, slots at most "));
    // Three cached phases of the reference besides the current one, and fields of fp64 in both.
    check_close(plan.host_bytes - plain.host_bytes, 3.0 * 8.0 * 96 * 72, 1e-9, 1.0);
    assert_true(plan.estimated_seconds > 1.5 * plain.estimated_seconds);
}

// A stream cannot wait for a search.
TEST(a_stream_takes_none)
{
    const bb_live_options options = {.frames = 1, .rate_hz = NAN, .patience_s = NAN};
    bb_text table = {0};
    autoptr(bb_config) config =
        driver_config(CASE(CONFIG, {"pipelines=[" REFERENCE "{name: asks, max_loss: 0.5}]"}));
    check_fails(driver_experiment(config)->live(bb_config_study(config), &options, NULL, &table),
                BB_INVALID, "pipelines.1.max_loss: the number formats of asks are");
}

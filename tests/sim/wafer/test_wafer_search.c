// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of a wafer study with max_loss: the result satisfies it and is bit-identical to a study
// with that storage, and no smaller trial was accepted.
#include "sim/wafer/realtime/wafer_loop.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"

#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "
#define FP16      "{name: fp16, storage: fp16, scale: row, multiply: fp32, accumulate: fp64}, "
#define SUMS      ", multiply: fp32, accumulate: fp64}"

#define QUICK "response.generator=kernel", "response.axes=[x, y]"

static const driver_case usual = {
    CONFIG_WAFER_SMALL, {"pipelines=[" REFERENCE FP16 "{name: found, max_loss: 0.03" SUMS "]"}};

static bb_results *searched; // default case

static int begin(void)
{
    return driver_run(&usual, 2, &searched) == BB_OK ? 0 : -1;
}

static void leave(void)
{
    bb_results_destroy(&searched);
}

// The trial that must be the pipeline's result: accepted, with the fewest bytes.
static bb_index find_trial(const bb_results *results, const char *pipeline)
{
    const bb_dataset *asked = bb_results_find(results, "search/pipeline");
    const double *accepted = bb_results_find(results, "search/accepted")->numbers;
    const double *bytes = bb_results_find(results, "search/operator_bytes")->numbers;
    bb_index best = -1;
    for (bb_index i = 0; i < asked->count; ++i) {
        const bool fits = strcmp(asked->texts[i], pipeline) == 0 && accepted[i] == 1.0;
        best = fits && (best < 0 || bytes[i] < bytes[best]) ? i : best;
    }
    return best;
}

static double trial_number(const bb_results *results, const char *path, bb_index trial)
{
    return bb_results_find(results, path)->numbers[trial];
}

TEST(the_fewest_bytes_within_max_loss_are_found)
{
    const bb_results *results = searched;
    const bb_index best = find_trial(results, "found");
    print_message("%s\n", driver_text(results, "status_detail", "found"));
    assert_true(best >= 0);
    assert_string_equal(driver_text(results, "status", "found"), "ok");
    assert_string_equal(driver_text(results, "codec", "found"),
                        bb_results_find(results, "search/storage")->texts[best]);
    assert_non_null(strstr(driver_text(results, "status_detail", "found"), "0.03 nm: met by "));
    const double bytes = driver_number(results, "operator_bytes", "found");
    const double loss = driver_number(results, "loss_worst", "found");
    assert_true(bytes == trial_number(results, "search/operator_bytes", best));
    assert_true(loss == trial_number(results, "search/overlay_error_nm", best));
    assert_true(loss <= 0.03 &&
                loss == fmax(driver_number(results, "overlay_error_x_nm", "found"),
                             driver_number(results, "overlay_error_y_nm", "found")));
    assert_true(bytes < 0.183e6); // zfp at a hundredth of the range, by hand
    // Eight ladders: six trials for each tolerance, four or five for bits.
    assert_in_range(bb_results_find(results, "search/trial")->count, 5 * 5 + 2 * 3 + 2 * 4, 42);
}

// All results of a study with a search, compared with a study with explicit storage.
TEST(what_is_found_is_what_it_says_to_the_bit)
{
    char pipelines[320];
    char codec[24];
    const bb_index best = find_trial(searched, "found");
    assert_int_equal(
        sscanf(bb_results_find(searched, "search/storage")->texts[best], "%23s", codec), 1);
    (void)snprintf(pipelines, sizeof pipelines,
                   "pipelines=[" REFERENCE FP16
                   "{name: found, storage: {codec: %s, tolerance_of_range: %g}" SUMS "]",
                   codec, trial_number(searched, "search/tolerance", best));
    autoptr(bb_results) plain = driver_results(CASE(CONFIG_WAFER_SMALL, {pipelines}));
    bb_index compared = 0;
    for (bb_index i = 0; i < bb_results_count(plain); ++i) {
        const bb_dataset *expected = bb_results_dataset(plain, i);
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", expected->group, expected->name);
        const bb_dataset *got = bb_results_find(searched, path);
        if (expected->is_text || expected->measured || strcmp(expected->group, "results") != 0) {
            continue;
        }
        assert_non_null(got);
        assert_int_equal(got->count, expected->count);
        if (memcmp(got->numbers, expected->numbers, (size_t)got->count * sizeof(double)) != 0) {
            fail_msg("%s differs", path);
        }
        ++compared;
    }
    assert_true(compared > 50);
}

// Next to a satisfied limit: the study continues, and the pipeline has no results.
TEST(what_nothing_meets_is_recorded)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL,
             {QUICK, "pipelines=[" REFERENCE "{name: never, draws: 2, max_loss: 1e-30, search: "
                     "{codecs: [bfp, {codec: zfp, mode: rate}]}" SUMS
                     ", {name: loose, max_loss: 1.0, search: {codecs: [bfp]}" SUMS "]"}));
    assert_string_equal(driver_text(results, "status", "never"), "not_converged");
    assert_non_null(strstr(driver_text(results, "status_detail", "never"),
                           "max_loss 1e-30 nm: not met in 9 trials; nearest is "));
    assert_string_equal(driver_text(results, "codec", "never"), "");
    static const char *const unset[] = {"overlay_error_x_nm", "operator_bytes",  "loss_worst",
                                        "qoi_relative_error", "displacement_nm", "flops"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; ++i) {
        assert_true(isnan(driver_number(results, unset[i], "never")));
    }
    assert_true(find_trial(results, "never") < 0);
    assert_string_equal(driver_text(results, "codec", "loose"), "bfp 4");
}

// A storage just within max_loss in draw 0 exceeds it in another draw: more bits are found.
TEST(max_loss_is_met_in_every_draw)
{
    static const char *const format =
        "pipelines=[" REFERENCE "{name: plain, storage: {codec: bfp, bits: 7}, draws: 6" SUMS
        ", {name: one, max_loss: %.17g, search: {codecs: [bfp]}" SUMS
        ", {name: many, draws: 6, max_loss: %.17g, search: {codecs: [bfp]}" SUMS "]";
    char pipelines[600];
    (void)snprintf(pipelines, sizeof pipelines, format, 1.0, 1.0);
    const driver_case study = {CONFIG_WAFER_SMALL, {QUICK, pipelines}};
    autoptr(bb_results) results = driver_results(&study);
    const double loss = fmax(driver_number(results, "overlay_error_x_nm", "plain"),
                             driver_number(results, "overlay_error_y_nm", "plain"));
    const double worst = driver_number(results, "loss_worst", "plain");
    bb_results_destroy(&results);
    print_message("bfp 7: %g nm as it is, %g nm the worst of 6 draws\n", loss, worst);
    assert_true(worst > loss);
    (void)snprintf(pipelines, sizeof pipelines, format, loss, loss);
    results = driver_results(&study);
    assert_true(driver_number(results, "operator_bytes", "one") <=
                driver_number(results, "operator_bytes", "plain"));
    assert_true(driver_number(results, "operator_bytes", "many") >
                driver_number(results, "operator_bytes", "plain"));
    assert_true(driver_number(results, "draws", "many") == 6.0);
    assert_true(driver_number(results, "loss_worst", "many") <= loss);
    const bb_index best = find_trial(results, "many");
    assert_true(trial_number(results, "search/overlay_error_nm", best) ==
                driver_number(results, "loss_worst", "many"));
}

// The loss is loss_worst: with late corrections the residual, for a lot the rest after its mean.
TEST(losses_are_those_of_the_results)
{
#define LOOSE                                                                                      \
    "pipelines=[" REFERENCE "{name: told, storage: {codec: bfp, bits: 4}" SUMS                     \
    ", {name: found, max_loss: 1e3, search: {codecs: [bfp]}"
    const driver_case lot = {
        CONFIG_WAFER_SMALL,
        {QUICK, LOOSE SUMS "]", "scan.order=given", "scan.sequence=[50, 49]", "scan.fields=[0]",
         "wafers={count: 3, exchange_s: 0.3, arrival_rise_k: 0.1, scored: all}",
         "metrology.lot_mean=true"}};
    const driver_case *const cases[] = {
        CASE(CONFIG_WAFER_SMALL, {QUICK, LOOSE ", delivery: {late_steps: 1}" SUMS "]"}), &lot};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        autoptr(bb_results) results = driver_results(cases[i]);
        const bb_index best = find_trial(results, "found");
        const double loss = trial_number(results, "search/overlay_error_nm", best);
        const double error = fmax(driver_number(results, "overlay_error_x_nm", "found"),
                                  driver_number(results, "overlay_error_y_nm", "found"));
        print_message("%s, %g nm of storage\n", driver_text(results, "status_detail", "found"),
                      error);
        assert_string_equal(driver_text(results, "codec", "found"), "bfp 4");
        assert_true(error == fmax(driver_number(results, "overlay_error_x_nm", "told"),
                                  driver_number(results, "overlay_error_y_nm", "told")));
        assert_true(loss == driver_number(results, "loss_worst", "found"));
        assert_true(i == 0 ? loss > 2.0 * error : loss == error);
    }
}

// A single point has no sigma, so no storage has a loss and nothing is searched.
TEST(a_loss_needs_two_points)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL, {QUICK, "scan.fields=[40]", "metrology={columns: 1, rows: 1}",
                                  "pipelines=[" REFERENCE "{name: found, max_loss: 1" SUMS "]"}));
    assert_string_equal(driver_text(results, "status", "found"), "underdetermined");
    assert_string_equal(driver_text(results, "status_detail", "found"),
                        "max_loss: sigma is undefined for 1 scored point");
    assert_string_equal(driver_text(results, "status", "reference"), "ok");
    assert_null(bb_results_find(results, "search/trial"));
}

TEST_FULL(threads_do_not_change_a_bit)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {"scan.fields=[0]",
                                "pipelines=[" REFERENCE
                                "{name: found, draws: 2, max_loss: 0.01, search: {codecs: [bfp, "
                                "{codec: zfp, mode: accuracy}, transform]}" SUMS "]"}};
    autoptr(bb_results) one = NULL;
    autoptr(bb_results) three = NULL;
    check_ok(driver_run(&study, 1, &one));
    check_ok(driver_run(&study, 3, &three));
    assert_true(find_trial(one, "found") >= 0);
    check_same_digest(one, three);
}

// The plan lists trials, passes and memory; the loop on a GPU needs an explicit storage.
TEST(plans_say_what_is_searched)
{
    const driver_case told = {CONFIG_WAFER_SMALL,
                              {"pipelines=[" REFERENCE
                               "{name: found, storage: {codec: transform, tolerance_of_range: "
                               "1e-7}" SUMS "]"}};
    const bb_run_options options = {.threads = 1};
    const bb_experiment *experiment = bb_experiment_find(&bb_experiments, "wafer");
    const driver_case *const cases[] = {&told, &usual};
    bb_plan plans[2];
    memset(plans, 0, sizeof plans);
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_config) config = driver_config(cases[i]);
        const bb_wafer_study *study = bb_config_study(config);
        check_ok(experiment->plan(study, &options, &plans[i]));
        if (i == 1) {
            const bb_product_pipeline *pipelines = study->pipelines.items;
            check_fails(bb_wafer_loop_check(study, &pipelines[2]), BB_UNSUPPORTED,
                        "pipeline found, max_loss: ");
        }
    }
    assert_non_null(strstr(plans[1].lines.data,
                           "max_loss 0.03 nm, up to 42 trials along 8 ladders in 6 passes, "
                           "operator at most "));
    assert_true(plans[1].estimated_seconds > 3.0 * (plans[0].estimated_seconds - 0.5));
    assert_true(plans[1].host_bytes > plans[0].host_bytes &&
                plans[1].host_bytes < 1.2 * plans[0].host_bytes);
    bb_plan_release(&plans[0]);
    bb_plan_release(&plans[1]);
}

// A search of two ladders and one without a result, with allocations failing in turn.
TEST_FULL(allocations_may_fail_anywhere)
{
    autoptr(bb_config) config = driver_config(
        CASE(CONFIG_WAFER_SMALL,
             {QUICK, "scan.fields=[0]", "mesh.spacing_mm=10.0", "clamp.spacing_mm=10.0",
              "scan.light_steps=3", "scan.dark_steps=3", "response.axes=[x, y]",
              "response.grid={columns: 12, rows: 11}",
              "pipelines=[" REFERENCE "{name: found, draws: 2, max_loss: 1.0, search: {codecs: "
              "[{codec: float, exponent: 8}, bfp]}" SUMS
              ", {name: never, max_loss: 1e-30, search: {codecs: [e5m2]}" SUMS "]"}));
    bb_log_set_level(BB_LOG_QUIET);
    bb_threads_stop(); // from earlier tests
    allocation_walk("search", driver_run_alone, config, 307, 20);
}

TEST_GROUP(.begin = begin, .end = leave, .is_quiet = true);

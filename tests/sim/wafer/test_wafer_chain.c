// SPDX-License-Identifier: Apache-2.0
//
// Narrow heat, interpolation and rows of a wafer study: explicit fp64 keys change nothing; losses
// of each stage alone and together; and stages found by max_loss.
#include "sim/wafer/heat/wafer_heating.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"
#include "tests/sim/wafer/heat/heated.h"

#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}"
#define SUMS      "multiply: fp32, accumulate: fp64"
#define SMALL     "response.generator=kernel", "response.axes=[x, y]"

static bb_product_pipeline with_stages(int heat, int interpolation)
{
    bb_product_pipeline out = {.stages = {{heat, -1}, {interpolation, -1}, {BB_FORMAT_FP64, -1}}};
    return out;
}

// Relative error ||a - b|| / ||b|| over all inputs.
static double difference(const heated *scene, const bb_product_pipeline *pipeline)
{
    const bb_wafer_heating *heating = &scene->heating;
    double error = 0.0;
    double norm = 0.0;
    for (bb_index f = 0; f < heating->scored_count; ++f) {
        for (bb_index step = 0; step < heating->light_steps; ++step) {
            const double *got = bb_wafer_heating_input_of(heating, pipeline, 0, f, step);
            const double *expected = bb_wafer_heating_input(heating, f, step);
            for (bb_index j = 0; j < heating->cell_count; ++j) {
                error += pow(got[j] - expected[j], 2.0);
                norm += pow(expected[j], 2.0);
            }
        }
    }
    return sqrt(error / norm);
}

// Steps of a scene's heat with a moving source, in fp64 (`formats` NULL) or narrow.
static void run_steps(const heated *scene, const bb_csr *matrix, const bb_narrow_formats *formats,
                      double *out)
{
    const bb_thermal *thermal = scene->problem->thermal;
    bb_stepper *stepper = NULL;
    if (formats == NULL) {
        check_ok(bb_stepper_create(matrix, thermal->per_joule, &stepper));
    } else {
        check_ok(bb_stepper_create_narrow(matrix, thermal->per_joule, formats, &stepper));
    }
    for (int step = 0; step < 600; ++step) {
        const int32_t where[1] = {(int32_t)((7 * step) % thermal->node_count)};
        const double u[1] = {1e-3};
        check_ok(bb_stepper_step(stepper, step % 2, where, u));
    }
    memcpy(out, bb_stepper_state(stepper), (size_t)thermal->size * sizeof *out);
    bb_stepper_destroy(&stepper);
}

// Narrow state only, with coefficients of its format: fp32 stays at about 1e-7, bf16 fails.
TEST(a_state_in_fp32_keeps_eight_digits)
{
    autocall(drop) heated scene;
    heat(CASE(CONFIG_WAFER_SMALL, {"mesh.step_ms=1.0", "scan.fields=[0]"}), &scene);
    const bb_thermal *thermal = scene.problem->thermal;
    bb_csr exact = thermal->step_matrix;
    const bb_index entries = bb_csr_nonzeros(&exact);
    autofree double *value = new_array(double, entries);
    autofree double *truth = new_array(double, thermal->size);
    autofree double *got = new_array(double, thermal->size);
    static const bb_format formats[2] = {BB_FORMAT_FP32, BB_FORMAT_BF16};
    double errors[2];
    for (int f = 0; f < 2; ++f) {
        for (bb_index i = 0; i < entries; ++i) {
            value[i] = bb_format_round(formats[f], exact.value[i]);
        }
        bb_csr rounded = exact;
        rounded.value = value;
        run_steps(&scene, &rounded, NULL, truth);
        run_steps(&scene, &rounded, &(bb_narrow_formats){formats[f], BB_FORMAT_FP64, 1.0}, got);
        double error = 0.0;
        double norm = 0.0;
        for (bb_index i = 0; i < thermal->size; ++i) {
            error += pow(got[i] - truth[i], 2.0);
            norm += pow(truth[i], 2.0);
        }
        errors[f] = sqrt(error / norm);
    }
    print_message("state in fp32: %.1e, in bf16: %.1e\n", errors[0], errors[1]);
    assert_true(errors[0] > 1e-9 && errors[0] < 3e-7);
    assert_true(errors[1] > 1e-3);
}

// Coefficients are the same at all inner nodes, and so are their errors: row sums, which conserve
// heat, are biased, and the state drifts with them step by step.
TEST(heat_needs_more_than_bf16)
{
    autocall(drop) heated scene;
    heat(CASE(CONFIG_WAFER_SMALL, {"mesh.step_ms=1.0", "scan.light_steps=34", "scan.dark_steps=36",
                                   "scan.fields=[0, 8]"}),
         &scene);
    bb_wafer_heating_subtract_reference(scene.problem, &scene.heating);
    const bb_product_pipeline exact = with_stages(BB_FORMAT_FP64, BB_FORMAT_FP64);
    const bb_product_pipeline single = with_stages(BB_FORMAT_FP32, BB_FORMAT_FP64);
    const bb_product_pipeline half = with_stages(BB_FORMAT_FP16, BB_FORMAT_FP64);
    const bb_product_pipeline brain = with_stages(BB_FORMAT_BF16, BB_FORMAT_FP64);
    const bb_product_pipeline cells = with_stages(BB_FORMAT_FP64, BB_FORMAT_FP16);
    bb_product_pipeline stored = brain; // in bf16, computed in fp32
    stored.stages[BB_CHAIN_HEAT].arithmetic = BB_FORMAT_FP32;
    const bb_product_pipeline *list[] = {&exact, &single, &half, &brain, &cells, &stored, &single};
    check_ok(bb_wafer_heating_narrow(scene.problem, list, 7, &scene.heating));
    assert_int_equal(scene.heating.narrow_count, 5); // equal formats share a set
    assert_true(difference(&scene, &stored) > 0.1);
    print_message("fp32 %.1e, fp16 %.1e, bf16 %.1e, cells in fp16 %.1e\n",
                  difference(&scene, &single), difference(&scene, &half),
                  difference(&scene, &brain), difference(&scene, &cells));
    assert_true(difference(&scene, &exact) == 0.0);
    assert_true(difference(&scene, &single) > 1e-8 &&
                difference(&scene, &single) < 630.0 * 0x1p-24);
    assert_true(difference(&scene, &half) > 1e-3);
    assert_true(difference(&scene, &brain) > 0.1);
    assert_true(difference(&scene, &cells) > 5e-5 && difference(&scene, &cells) < 0x1p-11);
    // A set that no pipeline uses any more is freed; the other stays in place.
    const double *kept = bb_wafer_heating_input_of(&scene.heating, &half, 0, 0, 0);
    check_ok(bb_wafer_heating_narrow(scene.problem, &list[2], 1, &scene.heating));
    assert_int_equal(scene.heating.narrow_count, 1);
    assert_true(bb_wafer_heating_input_of(&scene.heating, &half, 0, 0, 0) == kept);
    assert_true(bb_wafer_heating_input_of(&scene.heating, &single, 0, 0, 0) ==
                scene.heating.inputs);
}

// Results of two runs with different options.
static void check_equal(const bb_results *results, const bb_results *expected)
{
    bb_index compared = 0;
    for (bb_index i = 0; i < bb_results_count(expected); ++i) {
        const bb_dataset *wanted = bb_results_dataset(expected, i);
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", wanted->group, wanted->name);
        const bb_dataset *got = bb_results_find(results, path);
        if (wanted->is_text || wanted->measured || strcmp(wanted->group, "results") != 0) {
            continue;
        }
        assert_non_null(got);
        assert_int_equal(got->count, wanted->count);
        assert_memory_equal(got->numbers, wanted->numbers, (size_t)got->count * sizeof(double));
        ++compared;
    }
    assert_true(compared > 50);
}

TEST(stages_in_fp64_change_nothing)
{
    autoptr(bb_results) plain = driver_results(CASE(
        CONFIG_WAFER_SMALL, {"pipelines=[" REFERENCE ", {name: fp32, storage: fp32, " SUMS "}]"}));
    autoptr(bb_results) keyed = driver_results(
        CASE(CONFIG_WAFER_SMALL,
             {"pipelines=[" REFERENCE ", {name: fp32, storage: fp32, heat: fp64, "
              "interpolation: {storage: fp64, arithmetic: fp64}, rows: {arithmetic: fp64}, " SUMS
              "}]"}));
    check_equal(keyed, plain);
    assert_null(bb_results_find(keyed, "results/heat_error_nm"));
}

// One pipeline with all stages narrow, and three with one narrow stage and the reference's product.
TEST(errors_of_stages_alone_are_those_of_studies_of_one_stage)
{
    static const char *const stages[] = {"heat", "interpolation", "rows"};
    static const char *const alone[] = {"heat_error_nm", "interpolation_error_nm", "rows_error_nm"};
    autoptr(bb_results) results = driver_results(CASE(
        CONFIG_WAFER_SMALL,
        {"response.generator=fem", "response.axes=[x, y]",
         "pipelines=[" REFERENCE
         ", {name: all, storage: bf16, scale: row, heat: {storage: fp32, arithmetic: fp16}, "
         "interpolation: bf16, rows: fp16, " SUMS "}"
         ", {name: heat, storage: fp64, multiply: fp64, accumulate: fp64, heat: {storage: fp32, "
         "arithmetic: fp16}}"
         ", {name: interpolation, storage: fp64, multiply: fp64, accumulate: fp64, interpolation: "
         "bf16}"
         ", {name: rows, storage: fp64, multiply: fp64, accumulate: fp64, rows: fp16}"
         ", {name: product, storage: bf16, scale: row, " SUMS "}]"}));
    double sum = driver_number(results, "product_error_nm", "all");
    double largest = sum;
    for (int s = 0; s < 3; ++s) {
        const double error = driver_number(results, alone[s], "all");
        const double whole = fmax(driver_number(results, "overlay_error_x_nm", stages[s]),
                                  driver_number(results, "overlay_error_y_nm", stages[s]));
        print_message("%s: %.3g nm\n", stages[s], error);
        assert_true(error > 0.0 && error == whole);
        assert_true(driver_number(results, alone[s], "product") == 0.0);
        sum += error;
        largest = fmax(largest, error);
    }
    const double product = driver_number(results, "product_error_nm", "all");
    assert_true(product == driver_number(results, "product_error_nm", "product"));
    assert_true(product == driver_number(results, "loss_worst", "product"));
    assert_true(driver_number(results, "product_error_nm", "heat") == 0.0);
    // |mean| + 3 sigma is a norm: the total is at most the sum, to second order.
    const double whole = driver_number(results, "loss_worst", "all");
    assert_true(whole > 0.5 * largest && whole < 1.05 * sum);
    assert_string_equal(driver_text(results, "heat_formats", "all"), "fp32 in fp16");
    assert_string_equal(driver_text(results, "rows_formats", "all"), "fp16 in fp32");
    // Bounds are those of the product, which narrow rows and inputs do not change.
    assert_true(driver_number(results, "certified_bound_nm", "all") ==
                driver_number(results, "certified_bound_nm", "product"));
    assert_true(driver_number(results, "certificate_violations", "all") == 0.0);
}

// Rows in fp32, encoded in fp32, lose nothing more.
TEST(a_codec_of_the_same_format_adds_nothing_to_rows)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL,
             {SMALL, "pipelines=[" REFERENCE ", {name: both, storage: fp32, rows: {storage: fp32, "
                     "arithmetic: fp64}, " SUMS "}, {name: codec, storage: fp32, " SUMS "}]"}));
    assert_true(driver_number(results, "loss_worst", "both") ==
                driver_number(results, "loss_worst", "codec"));
    assert_true(driver_number(results, "max_error", "both") == 0.0); // of the encoded rows
    assert_true(driver_number(results, "max_error", "codec") > 0.0);
}

TEST(the_chain_of_the_paper_is_far_below_a_picometre)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL,
             {"response.axes=[x, y, z]", "response.generator=plate",
              "mesh.through_thickness=two_mode", "hood.exchange_w_per_m2_k=200.0",
              "pipelines=[" REFERENCE ", {name: single, storage: fp32, heat: fp32, "
              "interpolation: fp32, rows: fp32, multiply: fp32, accumulate: fp32}]"}));
    static const char *const errors[] = {"heat_error_nm", "interpolation_error_nm", "rows_error_nm",
                                         "product_error_nm"};
    for (int s = 0; s < 4; ++s) {
        const double error = driver_number(results, errors[s], "single");
        print_message("%s %.2e\n", errors[s], error);
        assert_true(error > 1e-9 && error < 1e-3);
    }
}

static bb_index trials_of(const bb_results *results, const char *stage)
{
    const bb_dataset *trials = bb_results_find(results, "search/storage");
    bb_index count = 0;
    for (bb_index i = 0; i < trials->count; ++i) {
        count += strncmp(trials->texts[i], stage, strlen(stage)) == 0;
    }
    return count;
}

#define SEARCH "search: {codecs: [bfp], stages: [heat, interpolation, rows]}"

TEST(max_loss_finds_stages_and_storage)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL,
             {SMALL, "pipelines=[" REFERENCE ", {name: found, max_loss: 0.3, " SEARCH ", " SUMS
                     "}, {name: plain, max_loss: 0.3, search: {codecs: [bfp]}, " SUMS "}]"}));
    print_message("%s\n", driver_text(results, "status_detail", "found"));
    assert_string_equal(driver_text(results, "status", "found"), "ok");
    assert_true(driver_number(results, "loss_worst", "found") <= 0.3);
    assert_in_range(trials_of(results, "heat "), 2, 3);
    assert_in_range(trials_of(results, "interpolation "), 2, 3);
    assert_in_range(trials_of(results, "rows "), 2, 3);
    static const char *const alone[] = {"heat_error_nm", "interpolation_error_nm", "rows_error_nm"};
    for (int s = 0; s < 3; ++s) {
        assert_true(driver_number(results, alone[s], "found") <= 0.03);
        assert_true(driver_number(results, alone[s], "plain") == 0.0);
    }
    assert_true(strcmp(driver_text(results, "interpolation_formats", "found"), "fp64") != 0);
    assert_true(driver_number(results, "product_error_nm", "found") > 0.0);
    // A study with the stages found has the same results.
    char pipelines[400];
    (void)snprintf(pipelines, sizeof pipelines,
                   "pipelines=[" REFERENCE ", {name: found, storage: {codec: bfp, bits: %s}, heat: "
                   "%s, interpolation: %s, rows: %.4s, " SUMS "}]",
                   strchr(driver_text(results, "codec", "found"), ' ') + 1,
                   driver_text(results, "heat_formats", "found"),
                   driver_text(results, "interpolation_formats", "found"),
                   driver_text(results, "rows_formats", "found"));
    autoptr(bb_results) told = driver_results(CASE(CONFIG_WAFER_SMALL, {SMALL, pipelines}));
    static const char *const same[] = {"loss_worst",       "operator_bytes",
                                       "heat_error_nm",    "rows_error_nm",
                                       "product_error_nm", "interpolation_error_nm"};
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        assert_true(driver_number(results, same[i], "found") ==
                    driver_number(told, same[i], "found"));
    }
}

TEST(a_chain_that_nothing_meets_has_no_numbers)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_WAFER_SMALL, {SMALL, "pipelines=[" REFERENCE
                                         ", {name: never, max_loss: 1e-30, " SEARCH ", " SUMS "}, "
                                         "{name: given, max_loss: 1e-30, heat: fp32, search: "
                                         "{codecs: [bfp]}, " SUMS "}]"}));
    assert_string_equal(driver_text(results, "status", "never"), "not_converged");
    assert_string_equal(driver_text(results, "heat_formats", "never"), "");
    assert_true(isnan(driver_number(results, "heat_error_nm", "never")));
    assert_true(isnan(driver_number(results, "product_error_nm", "never")));
    assert_string_equal(driver_text(results, "status", "given"), "not_converged");
    assert_true(isnan(driver_number(results, "product_error_nm", "given")));
}

// A plan includes memory for a set of inputs of each pair of formats and of each stage alone.
TEST(a_plan_counts_sets_of_inputs)
{
    static const char *const format =
        "pipelines=[" REFERENCE ", {name: a, storage: fp32, heat: %s, interpolation: %s, " SUMS
        "}, {name: b, storage: fp16, heat: %s, interpolation: %s, " SUMS "}]";
    static const struct {
        const char *formats[4];
        double sets;
    } cases[] = {{{"fp64", "fp64", "fp64", "fp64"}, 0.0},
                 {{"fp32", "fp64", "fp32", "fp64"}, 1.0},
                 {{"fp32", "fp32", "fp32", "fp32"}, 3.0},
                 {{"fp32", "fp32", "fp64", "fp32"}, 3.0},
                 {{"fp32", "fp16", "bf16", "fp32"}, 6.0}};
    double bytes[5];
    for (int i = 0; i < 5; ++i) {
        char pipelines[400];
        bb_plan plan;
        (void)snprintf(pipelines, sizeof pipelines, format, cases[i].formats[0],
                       cases[i].formats[1], cases[i].formats[2], cases[i].formats[3]);
        check_ok(
            driver_plan(CASE(CONFIG_WAFER_SMALL, {SMALL, "scan.fields=all", pipelines}), 1, &plan));
        bytes[i] = plan.host_bytes;
        bb_plan_release(&plan);
    }
    const double set = 8.0 * 40.0 * 37.0 * 96.0 * 17.0;
    for (int i = 1; i < 5; ++i) {
        print_message("%.0f sets: %.4g B more\n", cases[i].sets, bytes[i] - bytes[0]);
        assert_true(bytes[i] - bytes[0] >= cases[i].sets * set);
        assert_true(bytes[i] - bytes[0] < cases[i].sets * set + 4e6);
    }
}

// A narrow chain and a searched one, with allocations failing in turn.
TEST_FULL(allocations_may_fail_anywhere)
{
    autoptr(bb_config) config = driver_config(
        CASE(CONFIG_WAFER_SMALL,
             {"response.generator=fem", "response.axes=[x, y]", "scan.fields=[0]",
              "mesh.spacing_mm=10.0", "clamp.spacing_mm=10.0", "scan.light_steps=3",
              "scan.dark_steps=3", "response.grid={columns: 12, rows: 11}",
              "pipelines=[" REFERENCE ", {name: narrow, storage: fp32, heat: fp32, interpolation: "
              "bf16, rows: {storage: bf16, arithmetic: bf16}, " SUMS
              "}, {name: found, max_loss: 1.0, " SEARCH ", " SUMS "}]"}));
    bb_log_set_level(BB_LOG_QUIET);
    bb_threads_stop(); // from earlier tests
    allocation_walk("chain", driver_run_alone, config, 53, 40);
}

TEST_GROUP(.is_quiet = true);

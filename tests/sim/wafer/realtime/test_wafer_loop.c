// SPDX-License-Identifier: Apache-2.0
//
// Wafer loop without a GPU: its periods on an emulation compared with the offline path; refused
// studies and their messages; the measurement on the emulation, and the report of made-up
// measurements.
#include "core/interrupt.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/wafer/realtime/realtime_measurement.h"
#include "sim/wafer/realtime/wafer_loop.h"
#include "tests/first_device.h"
#include "tests/sim/wafer/realtime/emulated_loop.h"
#include "tests/sim/wafer/realtime/loop_parity.h"

#include <sys/wait.h>
#include <unistd.h>

static void refuse(const char *override, const char *pipeline, const char *sentence)
{
    const driver_case test_case = {CONFIG_WAFER_SMALL, {override, "response.axes=[x, y]"}};
    autoptr(bb_config) config = driver_config(&test_case);
    const bb_wafer_study *study = bb_config_study(config);
    const bb_product_pipeline *pipelines = study->pipelines.items;
    bb_index which = 0;
    while (strcmp(pipelines[which].name, pipeline) != 0) {
        ++which;
    }
    if (sentence == NULL) {
        check_ok(bb_wafer_loop_check(study, &pipelines[which]));
    } else {
        check_fails(bb_wafer_loop_check(study, &pipelines[which]), BB_UNSUPPORTED, sentence);
    }
}

TEST(what_the_loop_cannot_do_is_said)
{
    refuse("title=x", "e4m3", NULL);
    refuse("mesh.substeps=2", "e4m3",
           "mesh.substeps = 2, expected 1: the loop on a GPU has no substeps");
    refuse("mesh.stepping=crank-nicolson", "e4m3", "mesh.stepping: the loop on a GPU steps expl");
    refuse("mesh.through_thickness=two_mode", "e4m3", "the loop on a GPU has only the mean");
    refuse("hood={exchange_w_per_m2_k: 50.0}", "e4m3", "the loop on a GPU has no hood");
    refuse("ring={width_mm: 10.0}", "e4m3", "ring.width_mm = 10: the loop on a GPU has no ring");
    refuse("title=x", "reference", "pipeline reference, multiply: the loop on a GPU multiplies in");
    refuse("pipelines.2.storage={codec: zfp, mode: precision, bits: 12}", "fp32-acc64", NULL);
}

TEST(the_pipeline_is_chosen_by_name)
{
    const driver_case wrong = {CONFIG_WAFER_SMALL, {"realtime.pipeline=bf61"}};
    bb_config *config = driver_config(CASE(CONFIG_WAFER_SMALL, {NULL}));
    assert_int_equal(bb_wafer_study_realtime(bb_config_study(config)), 1);
    bb_config_destroy(&config);
    check_ok(driver_load(CASE(CONFIG_WAFER_SMALL, {"realtime.pipeline=bf16"}), &config));
    assert_int_equal(bb_wafer_study_realtime(bb_config_study(config)), 5);
    bb_config_destroy(&config);
    check_fails(driver_load(&wrong, &config), BB_INVALID, "1 problem");
}

// An interrupt waits for the queued steps.
TEST(a_queue_of_seconds_is_refused)
{
    const driver_case study = {CONFIG_WAFER_SMALL, {"realtime.ahead=200", "realtime.period_ms=5"}};
    const driver_case more = {CONFIG_WAFER_SMALL, {"realtime.ahead=200", "realtime.period_ms=5.1"}};
    const driver_case many = {CONFIG_WAFER_SMALL, {"realtime.ahead=201"}};
    bb_config *config = driver_config(&study);
    bb_config_destroy(&config);
    check_ok(driver_load(CASE(CONFIG_WAFER_SMALL, {"realtime.release=back_to_back",
                                                   "realtime.ahead=200", "realtime.period_ms=10"}),
                         &config)); // has no period
    bb_config_destroy(&config);
    check_fails(driver_load(&more, &config), BB_INVALID, "1 problem");
    check_fails(driver_load(&many, &config), BB_INVALID, "1 problem");
}

TEST(a_study_on_the_cpu_is_refused)
{
    const driver_case study = {CONFIG_WAFER_SMALL, {"device=cpu", "realtime.pipeline=e4m3"}};
    bb_text table = {0};
    autoptr(bb_config) config = driver_config(&study);
    check_fails(bb_wafer_experiment_realtime(bb_config_study(config), NULL, &table), BB_UNSUPPORTED,
                "device: the loop runs on a cuda device");
}

// Two fields of 35 steps of 100 us, except one step of 1.5 ms; no step with heat only.
static void invent(bb_wafer_measurement *out, bb_index count)
{
    *out = (bb_wafer_measurement){
        .steps = {.shares = 1, .steps = count, .count = count, .interrupted = true},
        .field = {.each = 5e-3, .queued = 4e-3}};
    check_ok(BB_ALLOCATE(count, &out->steps.records));
    for (bb_index k = 0; k < count; ++k) {
        bool light = k % 35 < 17;
        out->steps.records[k] = (bb_step_record){
            .release = 1e-3 * (double)k,
            .latency = k == 40 ? 1.5e-3 : 1e-4,
            .stage = {1e-5, light ? 2e-6 : NAN, light ? 3e-5 : NAN, light ? 3e-6 : NAN, NAN, 4e-5},
            .exposure = (int32_t)(k / 35),
            .step = (int32_t)(k % 35),
            .kind = light ? BB_STEP_LIGHT : BB_STEP_DARK};
    }
}

static double number(const bb_results *results, const char *path, bb_index index)
{
    return numbers_at(results, path)[index];
}

static void check_numbers(const bb_results *results)
{
    assert_true(number(results, "results/steps", 0) == 70.0);
    assert_true(number(results, "results/steps", 1) == 34.0);
    assert_true(number(results, "results/steps", 2) == 0.0);
    assert_true(number(results, "results/misses", 0) == 1.0);
    check_relative(number(results, "results/latency_p50_us", 0), 100.0, 1e-12);
    check_relative(number(results, "results/latency_max_us", 1), 1500.0, 1e-12);
    check_relative(number(results, "results/latency_max_us", 3), 100.0, 1e-12);
    check_relative(number(results, "results/stage_p50_us", BB_STEP_STAGES + BB_STEP_PRODUCTS), 30.0,
                   1e-12);
    assert_true(number(results, "worst/exposure", 0) == 1.0);
    assert_true(number(results, "worst/step", 0) == 5.0);
    check_relative(number(results, "worst/release_s", 0), 0.04, 1e-12);
    assert_true(number(results, "latency/count", 100) + number(results, "latency/count", 99) ==
                69.0);
    assert_true(number(results, "latency/count", 1500) + number(results, "latency/count", 1499) ==
                1.0);
    assert_string_equal(bb_results_note_text(results, "results", "ended"), "by an interrupt");
    assert_non_null(bb_results_note_text(results, "host", "processor"));
}

static void report_of(const char *release, double period_us)
{
    const driver_case test_case = {CONFIG_WAFER_SMALL, {"realtime.pipeline=e4m3", release}};
    autorelease(bb_text) table = {0};
    autorelease(bb_wafer_measurement) measured;
    autoptr(bb_config) config = driver_config(&test_case);
    const bb_wafer_study *study = bb_config_study(config);
    const bb_wafer_problem problem = {.scored_count = 2};
    const bb_wafer_loop loop = {.study = study,
                                .problem = &problem,
                                .pipeline = (bb_product_pipeline *)study->pipelines.items + 6,
                                .steps = 35,
                                .axes = 2,
                                .gpus = 1};
    invent(&measured, 70);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_wafer_measurement_report(&loop, &measured, results, &table));
    print_message("%s", bb_text_string(&table));
    assert_non_null(strstr(bb_text_string(&table), "pipeline e4m3, 2 axes, 2 fields"));
    assert_non_null(strstr(bb_text_string(&table), "ended by an interrupt"));
    assert_non_null(
        strstr(bb_text_string(&table), "35 steps back to back, median of 32: 5.000 ms"));
    assert_non_null(strstr(bb_text_string(&table),
                           "steps      count     mean      p50      p99    p99.9   p99.99      "
                           "max  max/p50  misses\n"
                           "all           70   120.00   100.00  1500.00  1500.00  1500.00  "
                           "1500.00    15.00       1\nlight "));
    assert_non_null(strstr(
        bb_text_string(&table),
        "worst  at [s]      exposure      step  kind   latency [us]  stages [us], as above\n"
        "    1  0.040000           1         5  light       1500.00  10.00 2.00 30.00 3.00 - "
        "40.00\n"));
    check_numbers(results);
    const double period = number(results, "results/period_us", 0);
    assert_true(isnan(period_us) ? isnan(period) : period == period_us);
    unsigned char *image = NULL;
    bb_index bytes = 0;
    check_ok(bb_image_build(results, &image, &bytes));
    assert_true(bytes > 0);
    BB_RELEASE(&image);
}

// Back-to-back release has no period.
TEST(a_report_says_what_was_measured)
{
    check_ok(bb_hdf5_library_start());
    report_of("realtime.release=fixed", 1000.0);
    report_of("realtime.release=back_to_back", NAN);
}

TEST_FULL(periods_give_what_the_offline_path_does)
{
    check_parity(BB_DEVICE_CPU, &loop_small);
}

enum { STEPS = 35 }; // of a field

#define READINGS 2e-6 // resolution of a step's clock, s

// Releases are not early, latencies cover the steps, and kinds follow the fields: of exposures 0 to
// 2 the second is not scored.
static void check_records(const bb_wafer_measurement *measured, bool fixed)
{
    for (bb_index k = 0; k < measured->steps.count; ++k) {
        const bb_step_record *record = &measured->steps.records[k];
        const bb_index index = (k + 12) % (3 * STEPS);
        assert_int_equal(record->exposure, index / STEPS);
        assert_int_equal(record->step, index % STEPS);
        const bool light = record->step < 17;
        assert_int_equal(record->kind, !light                  ? BB_STEP_DARK
                                       : record->exposure == 1 ? BB_STEP_HEAT
                                                               : BB_STEP_LIGHT);
        check_close(record->latency, 1e-9 * EMULATED_STEP_NS, READINGS, 1.0);
        assert_int_equal(isnan(record->stage[BB_STEP_PRODUCTS]), record->kind != BB_STEP_LIGHT);
        if (fixed) {
            check_close(record->release, 1e-3 * (double)k, 1e-9, 1.0);
        }
    }
    check_relative(measured->steps.records[0].stage[BB_STEP_STATE], 2e-6, 1e-12);
    check_relative(measured->steps.records[0].stage[BB_STEP_OUTPUTS], 5e-6, 1e-12);
}

// Measurement of pipeline e4m3 on the emulation.
static void run(const driver_case *test_case, bb_wafer_measurement *measured)
{
    autoptr(bb_config) config = driver_config(test_case);
    const bb_wafer_study *study = bb_config_study(config);
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    autoclose(bb_device) cpu = open_device(BB_DEVICE_CPU);
    autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &physics);
    const bb_product_pipeline *pipelines = study->pipelines.items;
    autoptr(bb_wafer_loop) loop = new_object(bb_wafer_loop, study, problem, &pipelines[6], &cpu, 0);
    assert_int_equal(loop->steps, STEPS);
    check_ok(bb_wafer_measurement_run(loop, measured));
    // A refused study leaves the thread unchanged.
    const bb_realtime_thread *thread = &measured->steps.host.thread;
    print_message("%s; memory %s; %s\n", thread->core, thread->memory, thread->policy);
    assert_true(thread->core[0] != '\0' && thread->memory[0] != '\0' && thread->policy[0] != '\0');
    assert_false(thread->pinned || thread->locked || thread->raised);
}

// Runs the measurement and checks its records.
static void measure(const driver_case *study, bb_index count, bool fixed, bool interrupted)
{
    autorelease(bb_wafer_measurement) measured;
    run(study, &measured);
    assert_int_equal(measured.steps.count, count);
    assert_int_equal(measured.steps.interrupted, interrupted);
    check_records(&measured, fixed);
    const double wall = 1e-9 * EMULATED_STEP_NS +
                        (double)(count - 1) * (fixed ? 1e-3 : 1e-9 * EMULATED_STEP_NS + READINGS);
    check_close(measured.steps.wall_seconds, wall, fixed ? READINGS : (double)count * READINGS,
                1.0);
    // An interrupt does not wait for whole fields.
    assert_true(interrupted ? isnan(measured.field.each) && isnan(measured.field.queued)
                            : measured.field.each > 0.0 && measured.field.queued > 0.0);
    assert_true(isnan(measured.field.transfer) && isnan(measured.field.measured.period));
}

#define MEASURED "realtime.pipeline=e4m3", "realtime.steps=150", "realtime.warm_up_steps=12"

TEST_FULL(the_harness_takes_every_step_in_turn)
{
    measure(CASE(CONFIG_WAFER_SMALL, {MEASURED}), 150, true, false);
    measure(CASE(CONFIG_WAFER_SMALL, {MEASURED, "realtime.release=back_to_back"}), 150, false,
            false);
}

// Steps of 15 us on an emulated clock: latencies are exact. A step that takes 2.5 ms longer delays
// only the steps released during it. A stalled host finds a shorter queue.
TEST_FULL(the_device_keeps_the_times)
{
    static const char *const ahead[] = {"realtime.ahead=1", "realtime.ahead=9",
                                        "realtime.ahead=200"};
    static const bb_index queued[] = {1, 9, 200};
    static const bb_index minimum[] = {0, 2, -1};
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; ++i) {
        autorelease(bb_wafer_measurement) measured;
        emulated_slow_in = 12 + 41;
        emulated_stall_in = 60;
        emulated_ahead = queued[i];
        run(CASE(CONFIG_WAFER_SMALL, {MEASURED, ahead[i]}), &measured);
        assert_int_equal(measured.steps.count, 150);
        assert_int_equal(measured.least_queued, minimum[i]);
        check_close(measured.steps.wall_seconds, 0.149 + 15e-6, 1e-12, 1.0);
        for (bb_index k = 0; k < 150; ++k) {
            const bb_step_record *record = &measured.steps.records[k];
            const double late = k >= 40 && k < 43 ? 2.5e-3 - 0.985e-3 * (double)(k - 40) : 0.0;
            check_close(record->latency, 15e-6 + late, 1e-12, 1.0);
            check_close(record->release, 1e-3 * (double)k, 1e-12, 1.0);
            check_close(record->stage[BB_STEP_HOST], 1e-6 + late, 1e-12, 1.0);
            assert_int_equal(record->step, (k + 12) % STEPS);
        }
    }
}

// Back to back, a step is released at the end of the previous one.
TEST_FULL(the_device_keeps_steps_back_to_back)
{
    autorelease(bb_wafer_measurement) measured;
    emulated_slow_in = 12 + 41;
    run(CASE(CONFIG_WAFER_SMALL, {MEASURED, "realtime.release=back_to_back", "realtime.ahead=64"}),
        &measured);
    assert_int_equal(measured.steps.count, 150);
    check_close(measured.steps.wall_seconds, 150 * 15e-6 + 2.5e-3, 1e-12, 1.0);
    for (bb_index k = 0; k < 150; ++k) {
        const bb_step_record *record = &measured.steps.records[k];
        check_close(record->latency, k == 40 ? 2.515e-3 : 15e-6, 1e-12, 1.0);
        check_close(record->release, 15e-6 * (double)k + (k > 40 ? 2.5e-3 : 0.0), 1e-12, 1.0);
    }
}

// Steps queued before the interrupt are still measured: of 40 steps those after the warm-up.
TEST(an_interrupt_leaves_the_queue_to_be_seen)
{
    autorelease(bb_wafer_measurement) measured;
    check_ok(bb_interrupt_install());
    emulated_signal_in = 40;
    run(CASE(CONFIG_WAFER_SMALL, {MEASURED, "realtime.ahead=20"}), &measured);
    assert_true(measured.steps.interrupted);
    assert_int_equal(measured.steps.count, 28);
}

// The step in progress is still measured: 12 before it, and 28 requested ones.
TEST(an_interrupt_ends_it_early)
{
    check_ok(bb_interrupt_install());
    emulated_signal_in = 40;
    measure(CASE(CONFIG_WAFER_SMALL, {MEASURED}), 28, true, true);
    assert_false(bb_interrupt_noted());
}

// Before the first measured step there is nothing to report: the program ends as usual.
TEST(an_interrupt_of_the_warm_up_ends_the_program)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; ++i) {
        bb_threads_stop();
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            check_ok(bb_interrupt_install());
            emulated_signal = numbers[i];
            emulated_signal_in = 5;
            measure(CASE(CONFIG_WAFER_SMALL, {MEASURED}), 0, true, true);
            _exit(0);
        }
        int how = 0;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 128 + numbers[i]);
    }
}

static int begin(void)
{
    manual_clock_start();
    return 0;
}

TEST_GROUP(.begin = begin);

// SPDX-License-Identifier: Apache-2.0
//
// Streamed matrices and axes on several devices, without a GPU: on an emulation of loop and stream
// the outputs are bit-identical to those of resident matrices on one device, whichever slot a field
// uses; and the measurement shows matrices that arrive too late.
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/wafer/realtime/realtime_measurement.h"
#include "sim/wafer/realtime/wafer_loop.h"
#include "sim/wafer/wafer_experiment.h"
#include "tests/sim/wafer/realtime/emulated_loop.h"
#include "tests/sim/wafer/realtime/loop_parity.h"

enum { E4M3 = 2 };

#define READINGS 5e-6 // resolution of clock readings, s

// An unscored field between two scored ones, an odd number of fields, and a single field.
static const driver_case layouts[] = {
    {CONFIG_WAFER_SMALL, {SMALLEST}},
    {CONFIG_WAFER_SMALL, {SMALLEST, "scan.fields=[0, 1, 2]"}},
    {CONFIG_WAFER_SMALL, {SMALLEST, "scan.fields=[1]"}},
};

TEST_FULL(outputs_do_not_depend_on_mode_or_devices)
{
    for (size_t layout = 0; layout < sizeof layouts / sizeof *layouts; ++layout) {
        autocall(close_truth) truth reference;
        open_truth(BB_DEVICE_CPU, &layouts[layout], &reference);
        const bb_product_pipeline *pipelines = reference.study->pipelines.items;
        emulated_know(reference.study, reference.problem, &pipelines[E4M3], reference.cpu);
        const loop_way plain = {BB_LOOP_RESIDENT, 1, reference.devices};
        loop_answer expected = answer_of(&reference, E4M3, &plain);
        for (int way = 1; way < 6; way += layout == 0 ? 1 : 4) {
            const loop_way other = {way % 2 == 0 ? BB_LOOP_RESIDENT : BB_LOOP_STREAMED, 1 + way / 2,
                                    reference.devices};
            autocall(release_answer) loop_answer got = answer_of(&reference, E4M3, &other);
            check_same(&got, &expected);
        }
        release_answer(&expected);
        emulated_forget();
    }
}

// Common state of the tests below: a streamed loop of pipeline e4m3 on `gpus` devices.
typedef struct rig {
    truth own;
    bb_wafer_study study;
    bb_wafer_loop *loop;
} rig;

static void open_rig(const driver_case *what, bb_index gpus, rig *out)
{
    open_truth(BB_DEVICE_CPU, what, &out->own);
    const bb_product_pipeline *pipelines = out->own.study->pipelines.items;
    out->study = *out->own.study;
    out->study.realtime.matrices = BB_LOOP_STREAMED;
    out->study.realtime.gpus = gpus;
    emulated_know(&out->study, out->own.problem, &pipelines[E4M3], out->own.cpu);
    check_ok(bb_wafer_loop_create(&out->study, out->own.problem, &pipelines[E4M3], out->own.devices,
                                  0, &out->loop));
}

static void close_rig(rig *own)
{
    bb_wafer_loop_destroy(&own->loop);
    emulated_forget();
    close_truth(&own->own);
}

static void run_period(bb_wafer_loop *loop, bb_index period, double *z)
{
    check_ok(bb_wafer_loop_reset(loop));
    check_ok(bb_wafer_loop_begin(loop, period));
    for (bb_index step = 0; step < loop->steps; ++step) {
        check_ok(bb_wafer_loop_step(loop));
    }
    check_ok(bb_wafer_loop_wait(loop));
    check_ok(bb_wafer_loop_outputs(loop, z));
}

// In order each field is sent once; out of order it is sent when it starts.
TEST(fields_out_of_turn_are_sent_for)
{
    static const bb_index order[] = {0, 1, 2, 0, 1, 1, 0, 2, 2, 0};
    autocall(close_rig) rig own;
    double *z[3] = {NULL, NULL, NULL};
    open_rig(&layouts[1], 2, &own);
    const bb_index count = LOOP_AXES * own.loop->points;
    autofree double *again = new_array(double, count);
    emulated_copies = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
        const bb_index field = order[i];
        if (z[field] == NULL) {
            check_ok(BB_ALLOCATE(count, &z[field]));
            run_period(own.loop, field, z[field]);
        } else {
            run_period(own.loop, field, again);
            assert_memory_equal(z[field], again, (size_t)count * sizeof *again);
        }
        if (i == 4) {
            assert_int_equal(emulated_copies, 2 * 5);
        }
    }
    assert_true(emulated_copies > 2 * 10);
    assert_memory_not_equal(z[0], z[1], (size_t)count * sizeof *again);
    for (int field = 0; field < 3; ++field) {
        BB_RELEASE(&z[field]);
    }
}

// Fields of 8 steps of a millisecond each.
static const driver_case short_fields = {CONFIG_WAFER_SMALL,
                                         {SMALLEST, "scan.fields=[0, 1, 2]", "scan.light_steps=5",
                                          "scan.dark_steps=3", "realtime.pipeline=e4m3",
                                          "realtime.steps=160", "realtime.warm_up_steps=16"}};

// Releases keep their times; the first step of a field has the waiting stage, and waits appear as
// lateness.
static bb_index check_waits(const bb_wafer_measurement *measured, int gpus)
{
    bb_index late = 0;
    for (bb_index k = 0; k < measured->steps.count; ++k) {
        for (int g = 0; g < gpus; ++g) {
            const bb_step_record *record =
                &measured->steps.records[(bb_index)g * measured->steps.steps + k];
            const double waited = record->stage[BB_STEP_MATRICES];
            assert_int_equal(isnan(waited), record->step != 0);
            check_close(record->release, 1e-3 * (double)k, 1e-9, 1.0);
            assert_true(isnan(waited) || record->latency >= waited);
            assert_true(record->latency == measured->steps.records[k].latency);
            late += g == 0 && waited > 0.0;
        }
    }
    return late;
}

static void check_report(const rig *own, const bb_wafer_measurement *measured, bool late)
{
    autorelease(bb_text) table = {0};
    autoptr(bb_results) results = empty_results();
    check_ok(bb_wafer_measurement_report(own->loop, measured, results, &table));
    print_message("%s", bb_text_string(&table));
    driver_check_declared(&bb_wafer_experiment, results);
    const double *period = bb_results_find(results, "stream/period_s")->numbers;
    const double *latency = bb_results_find(results, "stream/latency_s")->numbers;
    const double *transfer = bb_results_find(results, "stream/transfer_s")->numbers;
    const double *compute = bb_results_find(results, "stream/compute_s")->numbers;
    // By hand: maximum of the two, and their sum.
    check_relative(period[1], fmax(transfer[1], compute[1]), 1e-12);
    check_relative(latency[1], transfer[1] + compute[1], 1e-12);
    check_relative(transfer[0], transfer[1] * measured->field.ratio, 1e-12);
    // Apart from clock readings: consecutive copies; for a single field, its steps after its copy.
    const double steps = 1e-9 * (double)(own->loop->steps * EMULATED_STEP_NS);
    check_close(compute[2], steps, READINGS, 1.0);
    check_close(transfer[2], emulated_copy_s, READINGS, 1.0);
    check_close(latency[2], emulated_copy_s + steps, READINGS, 1.0);
    check_close(period[2], fmax(emulated_copy_s, steps), READINGS, 1.0);
    assert_true(bb_results_find(results, "stream/fields")->numbers[0] == 20.0);
    const double waited = bb_results_find(results, "stream/fields_waited")->numbers[0];
    assert_true(waited == (late ? 20.0 : 0.0));
    assert_int_equal(bb_results_find(results, "results/stage_p50_us")->count,
                     4 * own->loop->gpus * BB_STEP_STAGES);
    assert_int_equal(bb_results_find(results, "worst/stage_us")->count,
                     10 * own->loop->gpus * BB_STEP_STAGES);
    assert_string_equal(bb_results_note_text(results, "results", "matrices"), "streamed");
    char shown[128];
    (void)snprintf(shown, sizeof shown, "\n%-22s%10.3f%12.3f%10.3f%10.3f\n", "predicted for fp32",
                   1e3 * transfer[0], 1e3 * compute[0], 1e3 * period[0], 1e3 * latency[0]);
    assert_non_null(strstr(bb_text_string(&table), shown));
    assert_non_null(strstr(bb_text_string(&table),
                           "per field [ms]          transfer computation    period   latency\n"));
    unsigned char *image = NULL;
    bb_index bytes = 0;
    check_ok(bb_image_build(results, &image, &bytes));
    assert_true(bytes > 0);
    BB_RELEASE(&image);
}

// Copies of 1 ms are in time; copies longer than a field's steps are late, with releases and back
// to back.
TEST_FULL(matrices_that_come_late_show)
{
    double steps = 0.0;
    check_ok(bb_hdf5_library_start());
    for (int gpus = 1; gpus <= 3; gpus += 2) {
        for (int late = 0; late < 2; ++late) {
            autocall(close_rig) rig own;
            autorelease(bb_wafer_measurement) measured;
            emulated_copy_s = late == 1 ? 12e-3 + 1.5 * steps : 1e-3;
            open_rig(&short_fields, gpus, &own);
            check_ok(bb_wafer_measurement_run(own.loop, &measured));
            assert_int_equal(measured.steps.count, 160);
            steps = measured.field.each;
            const bb_index waits = check_waits(&measured, gpus);
            assert_int_equal(waits, late == 1 ? 20 : 0);
            check_report(&own, &measured, late == 1);
        }
    }
    emulated_copy_s = 0.0;
}

TEST(what_cannot_be_shared_or_streamed_is_said)
{
    const driver_case streamed = {CONFIG_WAFER_SMALL, {PIPELINES, "realtime.matrices=streamed"}};
    const driver_case shared = {CONFIG_WAFER_SMALL, {"response.axes=[x, y]", "realtime.gpus=3"}};
    const driver_case four = {CONFIG_WAFER_SMALL, {"realtime.gpus=4"}};
    bb_config *config = driver_config(&streamed);
    const bb_wafer_study *study = bb_config_study(config);
    const bb_product_pipeline *pipelines = study->pipelines.items;
    check_ok(bb_wafer_loop_check(study, &pipelines[E4M3]));
    check_fails(bb_wafer_loop_check(study, &pipelines[E4M3 + 1]), BB_UNSUPPORTED,
                "pipeline low-rank, storage: realtime.matrices streamed needs rows of equal size");
    bb_config_destroy(&config);
    check_fails(driver_load(&shared, &config), BB_INVALID, "1 problem");
    check_fails(driver_load(&four, &config), BB_INVALID, "1 problem");
}

static int begin(void)
{
    manual_clock_start();
    return 0;
}

TEST_GROUP(.begin = begin);

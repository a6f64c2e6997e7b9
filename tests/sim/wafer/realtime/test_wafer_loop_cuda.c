// SPDX-License-Identifier: Apache-2.0
//
// Wafer loop on a GPU compared with the offline path on the cpu, and its measurement. Argument
// "few": smaller matrices and no measurement, whose thousands of launches without a call would
// trigger the timeout of slow tools.
#include "tests/first_device.h"
#include "tests/sim/wafer/realtime/loop_parity.h"

static const driver_case *layout = &loop_small;

TEST(the_loop_agrees_with_the_offline_path)
{
    check_parity(BB_DEVICE_CUDA, layout);
}

// Streamed matrices give the bits of resident ones. Axes in several parts on one device agree with
// the offline path within rounding, since their launches have other sizes.
TEST(modes_and_parts_agree)
{
    autocall(close_truth) truth reference;
    open_truth(BB_DEVICE_CUDA, layout, &reference);
    for (bb_index pipeline = 1; pipeline < reference.study->pipelines.count; ++pipeline) {
        const bb_product_pipeline *pipelines = reference.study->pipelines.items;
        const bool streams = !isnan(bb_codec_bits_per_value(&pipelines[pipeline].storage));
        bb_device *here[BB_LOOP_GPUS] = {reference.devices[0], reference.devices[0],
                                         reference.devices[0]};
        for (int gpus = 1; gpus <= LOOP_AXES; ++gpus) {
            const loop_way resident = {BB_LOOP_RESIDENT, gpus, here};
            const loop_way streamed = {BB_LOOP_STREAMED, gpus, here};
            autocall(release_answer) loop_answer stays = answer_of(&reference, pipeline, &resident);
            if (streams) {
                autocall(release_answer) loop_answer crosses =
                    answer_of(&reference, pipeline, &streamed);
                check_same(&crosses, &stays);
            }
        }
    }
}

static void check_table_1(const bb_results *results)
{
    const double *period = bb_results_find(results, "stream/period_s")->numbers;
    const double *latency = bb_results_find(results, "stream/latency_s")->numbers;
    const double *transfer = bb_results_find(results, "stream/transfer_s")->numbers;
    const double *compute = bb_results_find(results, "stream/compute_s")->numbers;
    check_relative(period[1], fmax(transfer[1], compute[1]), 1e-12);
    check_relative(latency[1], transfer[1] + compute[1], 1e-12);
    assert_true(period[2] > 0.0 && latency[2] > 0.0 && transfer[2] > 0.0);
}

TEST(the_harness_measures_every_step)
{
    static const char *const releases[] = {
        "realtime={release: fixed, steps: 300}",
        "realtime={release: back_to_back, steps: 300}",
        "realtime={release: fixed, steps: 300, ahead: 16}",
        "realtime={release: back_to_back, steps: 300, ahead: 64}",
        "realtime={release: fixed, steps: 300, matrices: streamed}",
        "realtime={release: back_to_back, steps: 300, matrices: streamed, ahead: 16}"};
    for (int i = 0; i < 6; ++i) {
        const driver_case study = {CONFIG_WAFER_SMALL,
                                   {"device=cuda", PIPELINES, releases[i],
                                    "realtime.warm_up_steps=20", "realtime.pipeline=e4m3"}};
        autoptr(bb_config) config = NULL;
        autoptr(bb_results) results = run_harness(&study, &config);
        const double *steps = driver_dataset(results, "steps")->numbers;
        assert_true(steps[0] == 300.0 && steps[1] + steps[2] + steps[3] == 300.0);
        assert_true(steps[1] > 0.0 && steps[2] > 0.0 && steps[3] > 0.0);
        assert_true(driver_dataset(results, "latency_p50_us")->numbers[0] > 0.0);
        const bool ahead = i == 2 || i == 3 || i == 5;
        assert_int_equal(!isnan(driver_dataset(results, "least_queued")->numbers[0]), ahead);
        if (i >= 4) {
            check_table_1(results);
        }
    }
}

static int begin(void)
{
    if (test_is_few()) {
        layout = &loop_smallest;
        cmocka_set_skip_filter("the_harness_measures_every_step");
    }
    return needs_cuda();
}

TEST_GROUP(.begin = begin);

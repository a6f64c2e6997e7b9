// SPDX-License-Identifier: Apache-2.0
//
// Realtime loop of an ao study on a GPU: frames against those of the CPU with fp64 products, in
// every storage supported by a GPU, for solved and random matrices, without a rate and posted ahead
// with the GPU clock.
#include "tests/first_device.h"
#include "tests/sim/ao/realtime/frame_rig.h"

#define ONE_OF                                                                                     \
    "pipelines=[{name: reference, arithmetic: dp}, {name: p, arithmetic: dp, storage: %s, "        \
    "filter: "                                                                                     \
    "means, slopes: {bits: 14}}]"

TEST(frames_are_those_of_the_cpu)
{
    static const char *const storages[] = {"fp32",
                                           "{codec: fp16, rounding: sweep}",
                                           "{codec: bfp, bits: 8}",
                                           "{codec: bfp, bits: 4}",
                                           "{codec: integer, bits: 8, rounding: sweep}",
                                           "{codec: integer, bits: 5}",
                                           "{codec: quantiser, tolerance: 1.0e-3}",
                                           "e5m2"};
    static const char *const sizes[] = {"title=x", "realtime.size={commands: 60, slopes: 401}"};
    for (size_t k = 0; k < 2 * sizeof storages / sizeof *storages; ++k) {
        char pipelines[256];
        (void)snprintf(pipelines, sizeof pipelines, ONE_OF, storages[k / 2]);
        const driver_case study = {CONFIG_AO_SMALL,
                                   {"device=cuda", "solver.tile=128", pipelines, sizes[k % 2],
                                    "realtime.frames=300", "realtime.rate_hz=0",
                                    "realtime.delay_frames=1", "realtime.controller=integrator"}};
        autorelease(bb_text) table = {0};
        check_ok(bb_threads_set(2));
        autoptr(bb_config) config = driver_config(&study);
        autoptr(bb_results) results = empty_results();
        check_ok(bb_ao_realtime_run(bb_config_study(config), results, &table));
        const double distance = bb_results_find(results, "results/commands_distance")->numbers[0];
        print_message("%s, %s: %.2g\n", storages[k / 2], sizes[k % 2], distance);
        assert_true(distance < 2e-6);
        assert_true(bb_results_find(results, "results/held_frames")->numbers[0] == 0.0);
        assert_true(bb_results_find(results, "results/steps")->numbers[0] == 300.0);
    }
}

// With `auto`, a GPU gets large matrices of a supported storage, and matrices shared by several
// GPUs.
TEST(auto_takes_a_gpu_by_size)
{
    static const struct {
        const char *storage, *gpus;
        double values;
        bb_device_kind kind;
    } cases[] = {
        {"fp16", "realtime.gpus=1", 0.9e6, BB_DEVICE_CPU},
        {"fp16", "realtime.gpus=1", 1.1e6, BB_DEVICE_CUDA},
        {"fp16", "realtime.gpus=2", 0.9e6, BB_DEVICE_CUDA},
        {"{codec: float, exponent: 4, mantissa: 3}", "realtime.gpus=1", 1.1e6, BB_DEVICE_CPU}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char pipelines[256];
        (void)snprintf(pipelines, sizeof pipelines, ONE_OF, cases[k].storage);
        autoptr(bb_config) config =
            driver_config(CASE(CONFIG_AO_SMALL, {"device=auto", pipelines, cases[k].gpus}));
        const bb_ao_study *ao = bb_config_study(config);
        const bb_factor_pipeline *pipeline = (bb_factor_pipeline *)ao->pipelines.items + 1;
        assert_int_equal(bb_ao_realtime_device(ao, pipeline, cases[k].values), cases[k].kind);
    }
}

// With the GPU clock every frame is measured, in order, and none before its release.
TEST(frames_by_the_clock_of_the_gpu_are_all_measured)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {"device=cuda", "solver.tile=128",
                                "pipelines=[{name: reference, arithmetic: dp}, {name: p, "
                                "arithmetic: dp, storage: fp16}]",
                                "realtime.size={commands: 60, slopes: 401}", "realtime.frames=300",
                                "realtime.rate_hz=2000", "realtime.clock=device"}};
    autorelease(bb_realtime_measurement) measured;
    check_ok(bb_threads_set(2));
    autoptr(bb_config) config = driver_config(&study);
    const bb_ao_study *ao = bb_config_study(config);
    const bb_factor_pipeline *pipelines = ao->pipelines.items;
    autoclose(bb_device) gpu = open_device(BB_DEVICE_CUDA);
    autoptr(bb_frame_loop) loop = NULL;
    check_ok(make_loop(ao, &pipelines[1], 1, &gpu, &loop));
    check_ok(bb_frame_loop_measure(loop, &measured));
    assert_int_equal(measured.count, 300);
    assert_int_equal(measured.held, 0);
    for (bb_index k = 0; k < 300; ++k) {
        const bb_step_record *record = &measured.records[k];
        assert_int_equal(record->step, k);
        check_close(record->release, 5e-4 * (double)k, 1e-12, 1.0);
        assert_true(record->latency > 0.0 && record->stage[BB_FRAME_HOST] > -1e-6);
        assert_true(k == 0 ||
                    record->release + record->latency >
                        measured.records[k - 1].release + measured.records[k - 1].latency);
    }
}

// Rows shared by two devices, both of one GPU if there is no other; with the GPUs' clocks too.
TEST(shared_rows_give_the_products)
{
    for (int c = 0; c < 2; ++c) {
        const driver_case study = {
            CONFIG_AO_SMALL,
            {"device=cuda", "solver.tile=128",
             "pipelines=[{name: reference, arithmetic: dp}, {name: p, arithmetic: dp, storage: "
             "{codec: quantiser, tolerance_of_range: 1e-3}, filter: means}]",
             "realtime.size={commands: 307, slopes: 4011}", "realtime.targets=3",
             "realtime.frames=300", "realtime.rate_hz=2000",
             c == 0 ? "realtime.clock=host" : "realtime.clock=device"}};
        bb_device *gpus[2] = {NULL, NULL};
        bb_realtime_measurement measured;
        check_ok(bb_threads_set(2));
        autoptr(bb_config) config = driver_config(&study);
        const bb_ao_study *ao = bb_config_study(config);
        const bb_factor_pipeline *pipelines = ao->pipelines.items;
        const bb_index other = bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 1 ? 1 : 0;
        check_ok(bb_device_open(BB_DEVICE_CUDA, 0, &gpus[0]));
        check_ok(bb_device_open(BB_DEVICE_CUDA, other, &gpus[1]));
        bb_frame_loop *loop = NULL;
        check_ok(make_loop(ao, &pipelines[1], 2, gpus, &loop));
        check_ok(bb_frame_loop_measure(loop, &measured));
        print_message("distance %.1e on GPUs 0 and %td\n", loop->distance, other);
        // Sums of quotients are exact: 0 where all commands round to the same fp32.
        assert_true(loop->distance >= 0.0 && loop->distance < 2e-6);
        assert_int_equal(measured.count, 300);
        assert_int_equal(measured.held, 0);
        for (bb_index k = 0; k < 300; ++k) {
            assert_true(measured.records[k].latency > 0.0);
        }
        bb_realtime_measurement_release(&measured);
        bb_frame_loop_destroy(&loop);
        bb_device_close(&gpus[0]);
        bb_device_close(&gpus[1]);
    }
}

TEST_GROUP(.begin = needs_cuda);

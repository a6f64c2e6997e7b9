// SPDX-License-Identifier: Apache-2.0
//
// Axes on two and three GPUs: bit-identical to the same parts on one GPU, whose launches have the
// same axes. One part on one GPU agrees within rounding, and bit for bit with low-rank tiles.
// Argument "few": as in test_wafer_loop_cuda.c.
#include "tests/sim/wafer/realtime/loop_parity.h"

static bb_index there; // GPUs
static const driver_case *layout = &loop_small;

// Largest difference over the largest value.
static void check_near(const loop_answer *a, const loop_answer *b)
{
    const double away = distance(a->count, a->z, b->z);
    print_message("outputs %.2g of the largest\n", away);
    assert_memory_equal(a->state, b->state, (size_t)a->size * sizeof *a->state);
    assert_true(away <= output_bound);
}

static void compare(const truth *reference, bb_index pipeline, int matrices)
{
    const bb_product_pipeline *pipelines = reference->study->pipelines.items;
    const bool tiles = pipelines[pipeline].storage.codec == bb_codec_find("low_rank");
    bb_device *here[BB_LOOP_GPUS] = {reference->devices[0], reference->devices[0],
                                     reference->devices[0]};
    const loop_way one = {matrices, 1, here};
    autocall(release_answer) loop_answer answer = answer_of(reference, pipeline, &one);
    for (bb_index gpus = 2; gpus <= LOOP_AXES && gpus <= there; ++gpus) {
        const loop_way apart = {matrices, gpus, reference->devices};
        const loop_way together = {matrices, gpus, here};
        autocall(release_answer) loop_answer shared = answer_of(reference, pipeline, &apart);
        autocall(release_answer) loop_answer same = answer_of(reference, pipeline, &together);
        check_same(&shared, &same);
        if (tiles) {
            check_same(&shared, &answer);
        } else {
            check_near(&shared, &answer);
        }
    }
}

TEST(gpus_agree)
{
    autocall(close_truth) truth reference;
    open_truth(BB_DEVICE_CUDA, layout, &reference);
    for (bb_index pipeline = 1; pipeline < reference.study->pipelines.count; ++pipeline) {
        const bb_product_pipeline *pipelines = reference.study->pipelines.items;
        compare(&reference, pipeline, BB_LOOP_RESIDENT);
        if (!isnan(bb_codec_bits_per_value(&pipelines[pipeline].storage))) {
            compare(&reference, pipeline, BB_LOOP_STREAMED);
        }
    }
}

TEST(the_harness_measures_every_gpu)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {"device=cuda", "response.axes=[x, y, z]", PIPELINES,
                                "realtime.steps=300", "realtime.warm_up_steps=20",
                                "realtime.pipeline=e4m3", "realtime.matrices=streamed",
                                "realtime.gpus=2"}};
    autoptr(bb_config) config = NULL;
    autoptr(bb_results) results = run_harness(&study, &config);
    const double *stages = driver_dataset(results, "stage_p50_us")->numbers;
    for (int gpu = 0; gpu < 2; ++gpu) { // of light steps
        assert_true(stages[(2 + gpu) * BB_STEP_STAGES + BB_STEP_PRODUCTS] > 0.0);
    }
}

static int begin(void)
{
    char reason[256] = "";
    there = bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason);
    if (there < 2) {
        print_message("skipped: %d GPUs, expected 2 at least %s\n", (int)there, reason);
        return TEST_SKIPPED;
    }
    if (test_is_few()) {
        layout = &loop_smallest;
        cmocka_set_skip_filter("the_harness_measures_every_gpu");
    }
    return 0;
}

TEST_GROUP(.begin = begin);

// SPDX-License-Identifier: Apache-2.0
#include "core/thread.h"
#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/unwrap/unwrap.h"
#include "tests/check.h"
#include "tests/solvers/unwrap/phase_maps.h"
#include "tests/solvers/unwrap/unwrap_context.h"

static bb_status queue(void *unwrapper)
{
    return bb_unwrap_queue(unwrapper);
}

// The wrapped phase as a kernel of the user's would leave it on the device.
static void put(bb_unwrap *unwrapper, const phase_map *map)
{
    const bb_unwrap_field *field = bb_unwrap_wrapped(unwrapper);
    const bb_index points = map->columns * map->rows;
    double *words = calloc((size_t)points, sizeof *words);
    float *floats = (float *)words;
    assert_int_equal(field->columns, map->columns);
    assert_int_equal(field->rows, map->rows);
    for (bb_index p = 0; p < points; ++p) {
        const double value = map->mask[p] != 0 ? map->wrapped[p] : 0.0;
        if (field->format == BB_FORMAT_FP64) {
            words[p] = value;
        } else {
            floats[p] = (float)value;
        }
    }
    check_ok(bb_device_upload(device, field->block, words, field->bytes));
    free(words);
}

// Two maps in turn through one graph, each as bb_unwrap_run has it.
static void check_queued(bb_format arithmetic, bb_format storage, bb_index cycles,
                         bb_index reweight)
{
    bb_unwrap_config config = bb_unwrap_config_plain(arithmetic);
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        config.slots[slot].storage = storage;
    }
    config.method.cycles = cycles;
    config.method.reweight = reweight;
    config.method.reweight_cycles = 2;
    const phase_function functions[] = {phase_of_zernikes, phase_of_freeform};
    phase_map map = phase_map_create(97, 120);
    double *queued = calloc(97 * 120, sizeof *queued);
    bb_unwrap *unwrapper = NULL;
    bb_device_graph *graph = NULL;
    for (int i = 0; i < 2; ++i) {
        bb_unwrap_report run, read;
        phase_map_fill(&map, functions[i]);
        phase_map_add_noise(&map, 0.7, 5); // edges are rejected
        phase_map_wrap(&map);
        if (unwrapper == NULL) {
            check_ok(bb_unwrap_create(context, &config, map.mask, 97, 120, &unwrapper));
            check_ok(bb_device_graph_create(device, queue, unwrapper, &graph));
        }
        put(unwrapper, &map);
        check_ok(bb_device_graph_replay(graph));
        check_ok(bb_unwrap_read(unwrapper, queued, &read));
        check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &run));
        assert_int_equal(run.cycles, cycles + 2 * reweight);
        assert_int_equal(read.cycles, run.cycles);
        assert_int_equal(read.reweighted, run.reweighted);
        assert_true(run.rejected_share > 0.01);
        assert_true(read.limit_rad == run.limit_rad);
        assert_true(read.rejected_share == run.rejected_share);
        assert_memory_equal(queued, map.phase, 97 * 120 * sizeof *queued);
    }
    bb_device_graph_destroy(&graph);
    bb_unwrap_destroy(&unwrapper);
    phase_map_release(&map);
    free(queued);
}

static void a_queue_has_the_bits_of_a_run(void **state)
{
    (void)state;
    check_queued(BB_FORMAT_FP32, BB_FORMAT_FP32, 2, 0);
    check_queued(BB_FORMAT_FP32, BB_FORMAT_FP32, 2, 2);
    check_queued(BB_FORMAT_FP64, BB_FORMAT_FP64, 2, 1);
}

static void a_queue_rounds_as_a_run_does(void **state)
{
    (void)state;
    check_queued(BB_FORMAT_FP32, BB_FORMAT_FP16, 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_has_the_bits_of_a_run),
        cmocka_unit_test(a_queue_rounds_as_a_run_does),
    };
    const int failures = cmocka_run_group_tests(tests, open_context, close_context);
    bb_threads_stop();
    return failures;
}

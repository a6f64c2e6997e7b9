// SPDX-License-Identifier: Apache-2.0
//
// Queues, graphs and runs of an unwrapper, on a kind of device.
#ifndef BB_TESTS_SOLVERS_UNWRAP_QUEUE_CASES_H
#define BB_TESTS_SOLVERS_UNWRAP_QUEUE_CASES_H

#include "core/thread.h"
#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/unwrap/unwrap.h"
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
        if (i > 0) { // a read does it by itself
            check_ok(bb_unwrap_fetch(unwrapper));
        }
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

// Nobody looks at corrections between the cycles of a queue: the last one tells.
static void a_queue_tells_what_has_not_converged(void **state)
{
    (void)state;
    for (int is_crossed = 0; is_crossed < 2; ++is_crossed) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap *unwrapper = NULL;
        bb_unwrap_report read;
        phase_map map = phase_map_create(128, 128);
        config.method.reweight = 1;
        phase_map_fill(&map, phase_of_freeform);
        for (bb_index p = 0; p < 128 * 128; ++p) {
            map.truth[p] *= 4.0;
            map.mask[p] = !is_crossed || in_crossed_disc(p % 128, p / 128);
        }
        phase_map_wrap(&map);
        check_ok(bb_unwrap_create(context, &config, map.mask, 128, 128, &unwrapper));
        put(unwrapper, &map);
        check_ok(bb_unwrap_queue(unwrapper));
        check_ok(bb_unwrap_read(unwrapper, map.phase, &read));
        assert_int_equal(read.converged, !is_crossed);
        bb_unwrap_destroy(&unwrapper);
        phase_map_release(&map);
    }
}

// A residual in e4m3 is enough on a whole map, where the phase has converged, and too little on
// narrow joints.
static void narrow_slots_are_verified(void **state)
{
    (void)state;
    for (int is_crossed = 0; is_crossed < 2; ++is_crossed) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap *unwrapper = NULL;
        bb_unwrap_report report;
        phase_map map = phase_map_create(128, 128);
        config.method.reweight = 0;
        config.slots[BB_UNWRAP_RESIDUAL].storage = BB_FORMAT_E4M3;
        phase_map_fill(&map, phase_of_freeform);
        for (bb_index p = 0; p < 128 * 128; ++p) {
            map.truth[p] *= 4.0;
            map.mask[p] = !is_crossed || in_crossed_disc(p % 128, p / 128);
        }
        phase_map_wrap(&map);
        check_ok(bb_unwrap_create(context, &config, map.mask, 128, 128, &unwrapper));
        check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &report));
        check_ok(bb_unwrap_verify(unwrapper, map.phase, &report));
        assert_int_equal(report.converged, !is_crossed);
        bb_unwrap_destroy(&unwrapper);
        phase_map_release(&map);
    }
}

// Two phases of `points` are the same to the bit; else which one differs first is told.
static void check_same(const double *got, const double *expected, bb_index points, const char *what,
                       int size)
{
    for (bb_index p = 0; p < points; ++p) {
        if (memcmp(&got[p], &expected[p], sizeof *got) != 0) {
            fail_msg("size %d, %s: point %td is %.17g, expected %.17g", size, what, p, got[p],
                     expected[p]);
        }
    }
}

// A run's phase of a freeform with noise, finite everywhere, on a kernel context of any device.
static void run_freeform(bb_unwrap *unwrapper, bb_index columns, bb_index rows, double *phase)
{
    phase_map map = phase_map_create(columns, rows);
    bb_unwrap_report report;
    phase_map_fill(&map, phase_of_freeform);
    phase_map_add_noise(&map, 0.5, 5);
    phase_map_wrap(&map);
    check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &report));
    assert_true(isfinite(map.phase[0]));
    memcpy(phase, map.phase, (size_t)(columns * rows) * sizeof *phase);
    phase_map_release(&map);
}

// What the first one recorded stays as it was while the kernels are compiled anew for the second,
// and its bits are those of the cpu.
static void unwrappers_of_many_sizes_share_a_context(void **state)
{
    (void)state;
    enum { SIZES = 3 };
    static const bb_index sizes[SIZES][2] = {{96, 120}, {31, 250}, {1, 40}};
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap *unwrappers[SIZES] = {NULL};
    bb_device *cpu = NULL;
    bb_kernel_context *cpu_context = NULL;
    static double first[SIZES][96 * 120], again[96 * 120];
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &cpu));
    check_ok(bb_kernel_context_create(cpu, &cpu_context));
    for (int i = 0; i < SIZES; ++i) {
        static unsigned char mask[96 * 120];
        const bb_index points = sizes[i][0] * sizes[i][1];
        bb_unwrap *reference = NULL;
        memset(mask, 1, sizeof mask);
        check_ok(
            bb_unwrap_create(context, &config, mask, sizes[i][0], sizes[i][1], &unwrappers[i]));
        run_freeform(unwrappers[i], sizes[i][0], sizes[i][1], first[i]);
        check_ok(
            bb_unwrap_create(cpu_context, &config, mask, sizes[i][0], sizes[i][1], &reference));
        run_freeform(reference, sizes[i][0], sizes[i][1], again);
        check_same(first[i], again, points, "against the cpu", i);
        bb_unwrap_destroy(&reference);
        for (int k = 0; k < i; ++k) {
            run_freeform(unwrappers[k], sizes[k][0], sizes[k][1], again);
            check_same(again, first[k], sizes[k][0] * sizes[k][1], "again", k);
        }
    }
    for (int i = 0; i < SIZES; ++i) {
        bb_unwrap_destroy(&unwrappers[i]);
    }
    bb_kernel_context_destroy(&cpu_context);
    bb_device_close(&cpu);
}

static int queue_cases_on(bb_device_kind kind)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_has_the_bits_of_a_run),
        cmocka_unit_test(a_queue_rounds_as_a_run_does),
        cmocka_unit_test(a_queue_tells_what_has_not_converged),
        cmocka_unit_test(narrow_slots_are_verified),
        cmocka_unit_test(unwrappers_of_many_sizes_share_a_context),
    };
    char reason[200];
    device_kind = kind;
    if (bb_device_count(kind, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    const int failures = cmocka_run_group_tests(tests, open_context, close_context);
    bb_threads_stop();
    return failures;
}

#endif

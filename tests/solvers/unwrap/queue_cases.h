// SPDX-License-Identifier: Apache-2.0
//
// Queues, graphs and runs of an unwrapper: tests for the group that includes them.
#ifndef BB_TESTS_SOLVERS_UNWRAP_QUEUE_CASES_H
#define BB_TESTS_SOLVERS_UNWRAP_QUEUE_CASES_H

#include "tests/solvers/unwrap/unwrap_context.h"

static bb_status queue(void *unwrapper)
{
    return bb_unwrap_queue(unwrapper);
}

// Puts the wrapped phase on the device, in the place of a user's kernel.
static void put(bb_unwrap *unwrapper, const phase_map *map)
{
    const bb_unwrap_field *field = bb_unwrap_wrapped(unwrapper);
    const bb_index points = map->columns * map->rows;
    autofree double *words = new_zeros(double, points);
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
}

// Two maps in turn through one graph; results equal those of bb_unwrap_run.
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
    phase_map maps[] = {phase_map_of(phase_of_zernikes, 97, 120, 0.7, 5), // edges are rejected
                        phase_map_of(phase_of_freeform, 97, 120, 0.7, 5)};
    static double queued[97 * 120];
    autoptr(bb_unwrap) unwrapper = make_unwrapper(&maps[0], &config);
    autoptr(bb_device_graph) graph = new_object(bb_device_graph, device, queue, unwrapper);
    for (int i = 0; i < 2; ++i) {
        bb_unwrap_report run, read;
        autorelease(phase_map) map = maps[i];
        phase_map_wrap(&map);
        put(unwrapper, &map);
        check_ok(bb_device_graph_replay(graph));
        if (i > 0) { // bb_unwrap_read fetches by itself
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
        assert_memory_equal(queued, map.phase, sizeof queued);
    }
}

TEST(a_queue_has_the_bits_of_a_run)
{
    check_queued(BB_FORMAT_FP32, BB_FORMAT_FP32, 2, 0);
    check_queued(BB_FORMAT_FP32, BB_FORMAT_FP32, 2, 2);
    check_queued(BB_FORMAT_FP64, BB_FORMAT_FP64, 2, 1);
}

TEST(a_queue_rounds_as_a_run_does)
{
    check_queued(BB_FORMAT_FP32, BB_FORMAT_FP16, 2, 1);
}

// A queue does not check corrections between its cycles; the last cycle decides convergence.
TEST(a_queue_tells_what_has_not_converged)
{
    for (int is_crossed = 0; is_crossed < 2; ++is_crossed) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap_report read;
        autorelease(phase_map) map = phase_map_steep(is_crossed ? in_crossed_disc : in_whole_map);
        config.method.reweight = 1;
        autoptr(bb_unwrap) unwrapper = make_unwrapper(&map, &config);
        put(unwrapper, &map);
        check_ok(bb_unwrap_queue(unwrapper));
        check_ok(bb_unwrap_read(unwrapper, map.phase, &read));
        assert_int_equal(read.converged, !is_crossed);
    }
}

// A residual in e4m3 suffices on a whole map, where the phase has converged, but not on narrow
// joints.
TEST(narrow_slots_are_verified)
{
    for (int is_crossed = 0; is_crossed < 2; ++is_crossed) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap_report report;
        autorelease(phase_map) map = phase_map_steep(is_crossed ? in_crossed_disc : in_whole_map);
        config.method.reweight = 0;
        config.slots[BB_UNWRAP_RESIDUAL].storage = BB_FORMAT_E4M3;
        autoptr(bb_unwrap) unwrapper = unwrap_map(&map, &config, &report);
        check_ok(bb_unwrap_verify(unwrapper, map.phase, &report));
        assert_int_equal(report.converged, !is_crossed);
    }
}

// Two phases of `points` points have the same bits; otherwise the first difference is reported.
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

// Phase of a run on a freeform with noise, finite everywhere, in a kernel context of any device.
static void run_freeform(bb_unwrap *unwrapper, bb_index columns, bb_index rows, double *phase)
{
    autorelease(phase_map) map = phase_map_of(phase_of_freeform, columns, rows, 0.5, 5);
    bb_unwrap_report report;
    phase_map_wrap(&map);
    check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &report));
    assert_true(isfinite(map.phase[0]));
    memcpy(phase, map.phase, (size_t)(columns * rows) * sizeof *phase);
}

// The recording of the first remains valid while the kernels are recompiled for the second, and its
// bits are those of the CPU.
TEST(unwrappers_of_many_sizes_share_a_context)
{
    enum { SIZES = 3 };
    static const bb_index sizes[SIZES][2] = {{96, 120}, {31, 250}, {1, 40}};
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap *unwrappers[SIZES] = {NULL};
    static double first[SIZES][96 * 120], again[96 * 120];
    autoclose(bb_device) cpu = open_device(BB_DEVICE_CPU);
    autoptr(bb_kernel_context) cpu_context = new_object(bb_kernel_context, cpu);
    for (int i = 0; i < SIZES; ++i) {
        static unsigned char mask[96 * 120];
        const bb_index points = sizes[i][0] * sizes[i][1];
        memset(mask, 1, sizeof mask);
        unwrappers[i] = new_object(bb_unwrap, context, &config, mask, sizes[i][0], sizes[i][1]);
        run_freeform(unwrappers[i], sizes[i][0], sizes[i][1], first[i]);
        autoptr(bb_unwrap) reference =
            new_object(bb_unwrap, cpu_context, &config, mask, sizes[i][0], sizes[i][1]);
        run_freeform(reference, sizes[i][0], sizes[i][1], again);
        check_same(first[i], again, points, "against the cpu", i);
        for (int k = 0; k < i; ++k) {
            run_freeform(unwrappers[k], sizes[k][0], sizes[k][1], again);
            check_same(again, first[k], sizes[k][0] * sizes[k][1], "again", k);
        }
    }
    for (int i = 0; i < SIZES; ++i) {
        bb_unwrap_destroy(&unwrappers[i]);
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The rows run with a small size, and the peers find the same cycles as the kernels. Times are not
// checked.
#include "bench/bench.h"
#include "bench/unwrap/unwrap_peers.h"
#include "core/thread.h"
#include "tests/check.h"
#include "tests/solvers/unwrap/phase_maps.h"

static void check_row(const char *name)
{
    bb_bench_case row;
    bb_bench_outcome outcome = {.ratio = NAN};
    check_ok(bb_bench_find(name, &row));
    check_ok(bb_bench_measure_case(&row, &(bb_bench_setup){.quick = true, .threads = 2}, &outcome));
    assert_true(outcome.best_s > 0.0 && outcome.ratio > 0.0);
    assert_non_null(strstr(outcome.detail, "C loops"));
    const char *place = outcome.detail;
    for (int i = 0; i < 3; ++i) { // for kernels, DCT and loops
        place = strstr(place, "wrong");
        assert_non_null(place);
        assert_memory_equal(place - 2, "0 ", 2);
        assert_true(i == 0 || place[-3] == ' ');
        ++place;
    }
}

TEST_FULL(rows_of_the_cpu_have_no_wrong_point)
{
    check_ok(bb_threads_set(2));
    check_row("unwrap-1024-sp-cpu");
    check_row("unwrap-1024-full-sp-cpu");
}

TEST(devices_are_skipped_where_the_cpu_was_asked_for)
{
    bb_bench_case row;
    bb_bench_outcome outcome = {.ratio = NAN};
    check_ok(bb_bench_find("unwrap-1024-sp-cuda", &row));
    check_ok(
        bb_bench_measure_case(&row, &(bb_bench_setup){.quick = true, .cpu_only = true}, &outcome));
    assert_true(isnan(outcome.best_s));
    assert_string_equal(outcome.detail, "skipped by --device cpu");
}

static phase_map make_map(bb_index columns, bb_index rows, double noise)
{
    phase_map map = phase_map_create(columns, rows);
    phase_map_fill(&map, phase_of_bumps);
    phase_map_add_noise(&map, noise, 5);
    phase_map_wrap(&map);
    return map;
}

static bb_index count_wrong(const phase_map *map)
{
    autorelease(bb_unwrap_parts) parts;
    check_ok(bb_unwrap_parts_create(map->mask, map->columns, map->rows, &parts));
    const bb_index wrong = phase_map_wrong(map, &parts);
    return wrong;
}

// Columns and rows differ, and are odd.
TEST(the_transform_is_right_on_odd_sizes)
{
    autocall(phase_map_release) phase_map map = make_map(121, 75, 0.3);
    autoptr(bb_unwrap_dct) dct = new_object(bb_unwrap_dct, map.columns, map.rows);
    check_ok(bb_unwrap_dct_run(dct, map.wrapped, map.phase));
    assert_int_equal(count_wrong(&map), 0);
}

// Three cycles suffice for a smooth phase, and recomputed weights preserve the result.
TEST(the_loops_are_right_on_odd_sizes)
{
    autocall(phase_map_release) phase_map map = make_map(121, 75, 0.5);
    autoptr(bb_unwrap_loops) loops = new_object(bb_unwrap_loops, map.columns, map.rows);
    check_ok(bb_unwrap_loops_run(loops, &(bb_unwrap_counts){.cycles = 4}, map.wrapped, map.phase));
    assert_int_equal(count_wrong(&map), 0);
    check_ok(bb_unwrap_loops_run(
        loops, &(bb_unwrap_counts){.cycles = 4, .reweighted = 3, .reweight_cycles = 4}, map.wrapped,
        map.phase));
    assert_int_equal(count_wrong(&map), 0);
}

// SPDX-License-Identifier: Apache-2.0
//
// Rows of kernels in the table of benchmarks: each names a kernel with benchmark data, a type and a
// set that there is, on the device of its name; a quick run of a sparse one ends with a time.
#include "bench/bench.h"
#include "solvers/kernels/kernel_manager.h"
#include "tests/solvers/kernels/manager_program.h"

enum { GRID = 2048, LINES = 3, ROWS = GRID * LINES };

TEST(every_row_names_what_there_is)
{
    const bb_bench_case *cases = NULL;
    const bb_index count = bb_bench_cases(&cases);
    int rows = 0;
    for (bb_index i = 0; i < count; ++i) {
        char name[32] = "";
        char type[8] = "";
        char set[8] = "seed";
        int known = 0;
        if (cases[i].measure != bb_bench_kernel) {
            continue;
        }
        assert_true(sscanf(cases[i].storage, "%31s %7s %7s", name, type, set) >= 2);
        const bb_kernel_manager *manager = manager_of(name);
        assert_true(strcmp(type, "SP") == 0 || strcmp(type, "DP") == 0);
        for (int k = 0; k < BB_BENCHMARK_COUNT; ++k) {
            known += strcmp(manager->sets[k].name, set) == 0;
        }
        assert_int_equal(known, 1);
        assert_string_equal(strrchr(cases[i].name, '-') + 1, bb_device_names[cases[i].choice]);
        ++rows;
        if (strncmp(cases[i].name, "kernel-spmv5-", 13) == 0) {
            assert_string_equal(set, "odd");
            assert_int_equal(manager->sets[BB_BENCHMARK_ODD].sparsity, BB_SPARSITY_FIVE_POINT);
            assert_true((strstr(cases[i].name, "-dp-") != NULL) == (type[0] == 'D'));
        }
    }
    assert_true(rows > 60);
}

// Three lines of the grid: 5 entries a row, fewer at its edge, rising.
TEST(rows_of_the_grid_have_five_points)
{
    static int32_t row_start[ROWS + 1];
    static int32_t column[5 * ROWS];
    static float value[5 * ROWS], x[ROWS], y[ROWS];
    static const int32_t inner[] = {5, GRID + 4, GRID + 5, GRID + 6, 2 * GRID + 5};
    const bb_kernel_manager *manager = manager_of("spmv");
    const bb_benchmark_set *odd = &manager->sets[BB_BENCHMARK_ODD];
    const bb_program_data data[] = {{ROWS + 1, 1, row_start},
                                    {5 * ROWS, 1, column},
                                    {5 * ROWS, 1, value},
                                    {ROWS, 1, x},
                                    {ROWS, 1, y}};
    autocall(fixture_release) program_fixture fixture;
    make_manager(&fixture, manager, "SP");
    bb_kernel_manager_fill(&fixture.program, odd, data);
    assert_int_equal(row_start[0], 0);
    assert_int_equal(row_start[1], 3);
    assert_int_equal(row_start[ROWS], 5 * ROWS - 2 * GRID - 2 * LINES);
    assert_int_equal(row_start[GRID + 6] - row_start[GRID + 5], 5);
    assert_memory_equal(&column[row_start[GRID + 5]], inner, sizeof inner);
    // The set is as large as its data are: a square grid.
    const bb_index rows = bb_kernel_manager_object(odd, "y")->columns;
    assert_int_equal(rows, GRID * GRID);
    assert_int_equal(bb_kernel_manager_object(odd, "column")->columns, 5 * rows - 4 * GRID);
}

TEST(a_sparse_row_is_measured)
{
    const bb_bench_setup setup = {.quick = true, .threads = 2, .cpu_only = true};
    const bb_bench_case *cases = NULL;
    const bb_index count = bb_bench_cases(&cases);
    int found = 0;
    for (bb_index i = 0; i < count; ++i) {
        bb_bench_outcome outcome = {.library_s = NAN, .library_ratio = NAN};
        if (strncmp(cases[i].name, "kernel-spmv5-", 13) != 0) {
            continue;
        }
        check_ok(cases[i].measure(&cases[i], &setup, &outcome));
        ++found;
        assert_int_equal(isfinite(outcome.best_s), cases[i].choice == BB_DEVICE_CPU);
        assert_true(cases[i].choice != BB_DEVICE_CPU || outcome.ratio > 0.0);
    }
    assert_int_equal(found, 6);
}

static int begin(void)
{
    (void)unsetenv("HOME"); // nobody's measured variants
    (void)unsetenv("XDG_CONFIG_HOME");
    return 0;
}

TEST_GROUP(.begin = begin, .threads = 2);

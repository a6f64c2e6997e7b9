// SPDX-License-Identifier: Apache-2.0
//
// Rows of kernels, kernel-NAME-TYPE-DEVICE: one for each kernel with benchmark data.
#include "bench/bench.h"
#include "solvers/kernels/kernel_manager.h"
#include "tests/solvers/kernels/manager_program.h"

enum { GRID = 2048, LINES = 3, ROWS = GRID * LINES };

static bb_status measure(const char *name, const bb_bench_setup *setup, bb_bench_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_bench_case row;
    BB_TRY(bb_bench_find(name, &row));
    BB_TRY(bb_bench_measure_case(&row, setup, outcome));
done:
    return status;
}

// Also unlisted ones.
TEST(every_kernel_with_benchmark_data_has_a_row)
{
    const bb_bench_setup setup = {.quick = true, .threads = 2, .cpu_only = true};
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    char name[64];
    for (int i = 0; i < count; ++i) {
        for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
            bb_bench_outcome outcome = {.ratio = NAN};
            (void)snprintf(name, sizeof name, "kernel-%s-%s-%s", managers[i].name,
                           i % 2 == 0 ? "sp" : "dp", bb_device_names[kind]);
            check_ok(measure(name, &setup, &outcome));
            assert_int_equal(isfinite(outcome.best_s), kind == BB_DEVICE_CPU);
            if (kind == BB_DEVICE_CPU) {
                assert_true(outcome.ratio > 0.0);
                assert_string_equal(outcome.against, managers[i].is_compute_bound
                                                         ? (i % 2 == 0 ? "sgemm" : "dgemm")
                                                     : managers[i].is_read_bound ? "read"
                                                                                 : "triad");
            }
        }
    }
}

TEST(names_of_kernels_are_checked)
{
    bb_bench_setup setup = {.quick = true, .threads = 1, .cpu_only = true, .set = "vast"};
    bb_bench_outcome outcome = {.ratio = NAN};
    check_fails(measure("kernel-maxi-sp-cpu", &setup, &outcome), BB_INVALID, "did you mean max?");
    check_fails(measure("kernel-cpu", &setup, &outcome), BB_INVALID, "expected kernel-NAME-sp");
    check_fails(measure("kernel-max-cpu", &setup, &outcome), BB_INVALID, "expected kernel-NAME-sp");
    check_fails(measure("kernel-max-sp", &setup, &outcome), BB_INVALID,
                "unknown benchmark 'kernel-max");
    check_fails(measure("kernel-max-sp-cpu", &setup, &outcome), BB_INVALID, "has no set vast");
}

// Another text of a kernel with the same data, and one with other objects.
TEST(the_text_of_a_kernel_can_be_a_file)
{
    bb_bench_setup setup = {.quick = true,
                            .threads = 1,
                            .cpu_only = true,
                            .file = BB_SOURCE_DIR "/configs/kernels/laplace9.kernel"};
    bb_bench_outcome outcome = {.ratio = NAN};
    check_ok(measure("kernel-laplace5-dp-cpu", &setup, &outcome));
    assert_true(outcome.best_s > 0.0);
    check_fails(measure("kernel-gemv-dp-cpu", &setup, &outcome), BB_INVALID,
                "laplace9.kernel: the benchmark data of gemv do not contain object");
    setup.file = "none.kernel";
    check_fails(measure("kernel-gemv-dp-cpu", &setup, &outcome), BB_IO, "none.kernel");
}

// Three lines of the grid: 5 entries per row, fewer at its edge, ascending.
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
    // The set has the size of its data: a square grid.
    const bb_index rows = bb_kernel_manager_object(odd, "y")->columns;
    assert_int_equal(rows, GRID * GRID);
    assert_int_equal(bb_kernel_manager_object(odd, "column")->columns, 5 * rows - 4 * GRID);
}

TEST(a_sparse_row_is_measured)
{
    const bb_bench_setup setup = {.quick = true, .threads = 2, .cpu_only = true};
    bb_bench_outcome outcome = {.ratio = NAN};
    check_ok(measure("kernel-spmv5-dp-cpu", &setup, &outcome));
    assert_true(outcome.best_s > 0.0 && outcome.ratio > 0.0);
}

static int begin(void)
{
    (void)unsetenv("HOME"); // without measured variants of a user
    (void)unsetenv("XDG_CONFIG_HOME");
    return 0;
}

TEST_GROUP(.begin = begin, .threads = 2);

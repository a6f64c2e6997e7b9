// SPDX-License-Identifier: Apache-2.0
//
// Factorization by panels with L in host memory against one with L on the GPU, bit for bit: L and R
// in every arithmetic with fp16 planes, pivots and columns of the factor, bytes on the bus, and a
// breakdown in the second group. Runs are short, so that there are many groups.
#include "tests/solvers/factor/panels/panel_cases.h"

#include <cuda_runtime_api.h>

enum { WIDTH = 200 };

// Panels of a run, rows of A and rows of B: chunks of one and of two panels, groups that end with
// the matrix and before its end, a last panel of few rows, fewer panels than a group.
static const struct {
    bb_index panels, n, sides;
} sizes[] = {{4, 3000, 64}, {8, 4096, 0}, {4, 1153, 301}, {8, 700, 2}};

static bool in_halves(const bb_panel_plan *plan)
{
    return bb_variant_describe(plan->arithmetic)->panels == BB_VARIANT_PANELS_HALVES;
}

static int differences(const solved *one, const solved *other, bb_index n, bb_index sides)
{
    assert_int_equal(one->outcome.kind, BB_OUTCOME_OK);
    assert_int_equal(other->outcome.kind, BB_OUTCOME_OK);
    return (memcmp(one->lower, other->lower, (size_t)(n * n) * sizeof(double)) != 0) +
           (sides > 0 && memcmp(one->x, other->x, (size_t)(sides * n) * sizeof(double)) != 0);
}

static int compare(const bb_panel_plan *shape, double noise, bb_index n, bb_index sides)
{
    autocall(finish) posed p;
    autocall(release_solved) solved swapped;
    bb_panel_plan plan = *shape;
    start(&p, n, sides, noise);
    solve(&p, &plan);
    plan.swapped = true;
    run_on(&p.matrix_problem, &plan, 1, &gpu, &swapped);
    const int found = differences(&p.found, &swapped, n, sides);
    if (found > 0) {
        print_message("differ: %s, block %td, run %td, n %td, %td rows of B\n",
                      bb_variant_names[plan.arithmetic], plan.block, plan.run, n, sides);
    }
    return found;
}

TEST(a_swapped_factor_has_the_bits_of_one_on_the_gpu)
{
    int found = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        for (int c = 0; c < CASES; ++c) {
            bb_panel_plan plan = cases[c].plan;
            plan.run = sizes[s].panels * plan.block;
            if (in_halves(&plan)) {
                found += compare(&plan, cases[c].noise, sizes[s].n, sizes[s].sides);
            }
        }
    }
    // Runs so long that cuBLAS handles them, in calls with a workspace and without.
    const bb_panel_plan deep = {.arithmetic = BB_VARIANT_HP1, .block = 512, .run = 2048};
    found += compare(&deep, 0.05, 9300, 0);
    assert_int_equal(found, 0);
}

// Blocks that are rounded after every panel are not split, also if no run ends with a panel.
TEST(a_run_does_not_cut_what_is_rounded)
{
    static const bb_variant rounded[] = {BB_VARIANT_HP2, BB_VARIANT_HP3};
    for (int v = 0; v < 2; ++v) {
        autocall(finish) posed p;
        autocall(release_solved) solved other;
        bb_panel_plan plan = {.arithmetic = rounded[v], .block = 384, .diagonal_follows = true};
        start(&p, 3000, 0, 0.5);
        solve(&p, &plan);
        plan.run = 1024;
        run_on(&p.matrix_problem, &plan, 1, &gpu, &other);
        assert_int_equal(differences(&p.found, &other, 3000, 0), 0);
    }
}

// A block of one plane reuses the place of a block of two planes in the strip.
TEST(a_map_of_variants_is_swapped)
{
    enum { BLOCKS = 12 };
    static unsigned char map[BLOCKS * BLOCKS];
    for (int i = 0; i < BLOCKS; ++i) {
        for (int j = 0; j < BLOCKS; ++j) {
            map[i * BLOCKS + j] = (unsigned char)((i + j) % 3 == 0   ? BB_VARIANT_X3
                                                  : (i + j) % 3 == 1 ? BB_VARIANT_HP1
                                                                     : BB_VARIANT_HP2);
        }
    }
    const bb_panel_plan plan = {
        .arithmetic = BB_VARIANT_HP1, .block = 256, .variants = map, .run = 1024};
    assert_int_equal(compare(&plan, 0.5, 3000, 64), 0);
    assert_int_equal(compare(&plan, 0.5, 3000, 0), 0);
}

typedef struct reading {
    double *pivots, *columns; // [n], [n - first][WIDTH]
    bb_panel_traffic traffic;
    bb_outcome outcome;
} reading;

static void read_factor(const problem *task, const bb_panel_plan *shape, bb_index first,
                        reading *out)
{
    const bb_index n = task->n;
    const size_t bytes = (size_t)((n - first) * WIDTH) * sizeof(double);
    bb_view view = bb_view_matrix(task->given != NULL ? task->given : task->a, n, n);
    bb_matrix_source matrix = bb_matrix_source_dense(&view, "A", "1");
    bb_panel_times times;
    void *on_gpu = NULL;
    bb_panel_plan plan = *shape;
    *out = (reading){.pivots = dense_new(n), .columns = dense_new((n - first) * WIDTH)};
    plan.n = n;
    autoptr(bb_device_source) twin = new_object(bb_device_source, &matrix, gpu);
    const bb_panel_sources sources = {twin, 0, NULL};
    autoptr(bb_panel_cholesky) factor = new_object(bb_panel_cholesky, 1, &gpu, &plan);
    check_ok(bb_panel_cholesky_factor(factor, &sources, task->scale, &out->outcome, &times));
    out->traffic = bb_panel_cholesky_traffic(factor);
    if (out->outcome.kind == BB_OUTCOME_OK) {
        check_ok(bb_device_allocate(gpu, bytes, &on_gpu));
        check_ok(bb_panel_cholesky_pivots(factor, out->pivots));
        check_ok(bb_panel_cholesky_columns(factor, NULL, first, WIDTH, on_gpu, WIDTH));
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // not on a queue of the device
        check_ok(bb_device_download(gpu, out->columns, on_gpu, bytes));
        bb_device_release(gpu, &on_gpu);
    }
}

static void release_reading(reading *one)
{
    BB_RELEASE(&one->pivots);
    BB_RELEASE(&one->columns);
}

// Each value of L is written once. A group reads the columns of all earlier groups but the last:
// its own block rows in both planes, and all rows from its first on in one plane.
static void check_bytes(const bb_panel_traffic *traffic, bb_index n, bb_index block, bb_index run)
{
    double up = 0.0;
    for (bb_index first = 2 * run; first < n; first += run) {
        const bb_index height = first + run < n ? run : n - first;
        up += 2.0 * (double)(first - run) * (2.0 * (double)height + (double)(n - first));
    }
    check_close(traffic->host_to_device_bytes, up, 0.0, 1.0);
    check_close(traffic->device_to_host_bytes, 2.0 * (double)n * (double)(n - block), 0.0, 1.0);
    check_close(traffic->device_to_device_bytes, 0.0, 0.0, 1.0);
}

TEST(columns_and_bytes_are_read)
{
    enum { N = 3584, FIRST = 300 };
    autocall(finish) posed p;
    autocall(release_reading) reading one, swapped;
    bb_panel_plan plan = {.arithmetic = BB_VARIANT_HP1, .block = 256, .run = 1024};
    start(&p, N, 0, 0.05);
    read_factor(&p.matrix_problem, &plan, FIRST, &one);
    plan.swapped = true;
    read_factor(&p.matrix_problem, &plan, FIRST, &swapped);
    assert_memory_equal(one.pivots, swapped.pivots, N * sizeof(double));
    assert_memory_equal(one.columns, swapped.columns, (N - FIRST) * WIDTH * sizeof(double));
    check_bytes(&swapped.traffic, N, plan.block, plan.run);
    assert_true(one.traffic.host_to_device_bytes == 0.0);
}

TEST(a_breakdown_is_the_same)
{
    enum { N = 2000, ROW = 1300 };
    autocall(finish) posed p;
    autocall(release_reading) reading one, swapped;
    bb_panel_plan plan = {.arithmetic = BB_VARIANT_X3, .block = 128, .run = 512};
    start(&p, N, 0, 0.05);
    p.given[ROW * N + ROW] *= -1.0;
    read_factor(&p.matrix_problem, &plan, 0, &one);
    plan.swapped = true;
    read_factor(&p.matrix_problem, &plan, 0, &swapped);
    assert_int_equal(one.outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_int_equal(swapped.outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_string_equal(one.outcome.detail, swapped.outcome.detail);
}

// One object factors a matrix, solves, and factors it again.
TEST(a_second_factor_is_the_first)
{
    enum { N = 2600, ROWS = 40 };
    autocall(finish) posed p;
    solved found[2];
    bb_device_source *twins[2] = {NULL, NULL};
    bb_panel_times times;
    const bb_panel_plan plan = {.n = N,
                                .sides = ROWS,
                                .block = 256,
                                .arithmetic = BB_VARIANT_HP1,
                                .run = 1024,
                                .swapped = true};
    start(&p, N, ROWS, 0.05);
    bb_view views[2] = {bb_view_matrix(p.given, N, N), bb_view_matrix(p.matrix_problem.b, ROWS, N)};
    const bb_matrix_source matrix = bb_matrix_source_dense(&views[0], "A", "1");
    const bb_matrix_source side = bb_matrix_source_dense(&views[1], "B", "1");
    check_ok(bb_device_source_create(&matrix, gpu, &twins[0]));
    check_ok(bb_device_source_create(&side, gpu, &twins[1]));
    const bb_panel_sources sources = {twins[0], 1, (const bb_device_source *const *)&twins[1]};
    bb_panel_cholesky *factor = new_object(bb_panel_cholesky, 1, &gpu, &plan);
    for (int round = 0; round < 2; ++round) {
        found[round] = (solved){.lower = dense_new((bb_index)N * N)};
        check_ok(
            bb_panel_cholesky_factor(factor, &sources, p.scale, &found[round].outcome, &times));
        check_ok(bb_panel_cholesky_lower(factor, found[round].lower));
        read_result(&p.matrix_problem, factor, &found[round]);
    }
    assert_int_equal(differences(&found[0], &found[1], N, ROWS), 0);
    bb_panel_cholesky_destroy(&factor);
    bb_device_source_destroy(&twins[0]);
    bb_device_source_destroy(&twins[1]);
    release_solved(&found[0]);
    release_solved(&found[1]);
}

TEST(what_cannot_be_swapped_is_refused)
{
    bb_panel_cholesky *factor = NULL;
    bb_device *twice[] = {gpu, gpu};
    bb_panel_plan plan = {
        .n = 1000, .block = 256, .arithmetic = BB_VARIANT_HP1, .run = 1024, .swapped = true};
    assert_int_equal(bb_panel_cholesky_create(2, twice, &plan, &factor), BB_UNSUPPORTED);
    assert_non_null(strstr(bb_status_message(), "needs a single GPU"));
    assert_null(factor);
}

// GPU memory equals the plan.
TEST(memory_is_planned)
{
    const bb_panel_plan plan = {
        .n = 40000, .block = 1024, .arithmetic = BB_VARIANT_HP1, .swapped = true};
    check_panel_memory(1, &gpu, &plan);
}

TEST_GROUP(.begin = open_devices, .end = close_devices);

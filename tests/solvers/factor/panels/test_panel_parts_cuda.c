// SPDX-License-Identifier: Apache-2.0
//
// Factorization by panels in several parts against one part, bit for bit: L and R in every
// arithmetic, pivots and columns of the factor, and breakdowns in a row of each part. Parts share
// one GPU, which covers everything but the link between GPUs; with two GPUs, parts alternate
// between them.
#include "tests/solvers/factor/panels/panel_cases.h"

#include <cuda_runtime_api.h>

enum { PARTS = 5, WIDTH = 200 };

static bb_device *devices[PARTS]; // the same GPU several times

// Rows of B: more than parts, fewer than parts, and none.
static const struct {
    bb_index n, sides;
} sizes[] = {{1500, 301}, {3000, 64}, {700, 2}, {1153, 0}};

// Number of values of L and R that differ.
static int differences(const solved *one, const solved *parts, bb_index n, bb_index sides)
{
    assert_int_equal(one->outcome.kind, BB_OUTCOME_OK);
    assert_int_equal(parts->outcome.kind, BB_OUTCOME_OK);
    return (memcmp(one->lower, parts->lower, (size_t)(n * n) * sizeof(double)) != 0) +
           (sides > 0 && memcmp(one->x, parts->x, (size_t)(sides * n) * sizeof(double)) != 0);
}

// Runs all cases, so that messages name each case that differs.
static int compare_parts(bb_index count, bb_device *const *gpus, int c, bb_index n, bb_index sides)
{
    autocall(finish) posed p;
    autocall(release_solved) solved parts;
    start(&p, n, sides, cases[c].noise);
    solve(&p, &cases[c].plan);
    run_on(&p.matrix_problem, &cases[c].plan, count, gpus, &parts);
    const int found = differences(&p.found, &parts, n, sides);
    if (found > 0) {
        print_message("differ: %s, block %td, n %td, %td rows of B, %td parts\n",
                      bb_variant_names[cases[c].plan.arithmetic], cases[c].plan.block, n, sides,
                      count);
    }
    return found;
}

TEST(parts_have_the_bits_of_one)
{
    int found = 0;
    for (bb_index count = 2; count <= 3; ++count) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            for (int c = 0; c < CASES; ++c) {
                found += compare_parts(count, devices, c, sizes[s].n, sizes[s].sides);
            }
        }
    }
    found += compare_parts(PARTS, devices, 4, 2100, 40);
    // Runs so long that cuBLAS uses a workspace, against shorter runs without.
    found += compare_parts(2, devices, 3, 9300, 0);
    assert_int_equal(found, 0);
}

// Three zones of variants, whose blocks are received from several parts with their second planes.
TEST(a_map_of_variants_is_shared)
{
    enum { BLOCKS = 12 };
    static const bb_variant wide[] = {BB_VARIANT_X3, BB_VARIANT_HP1};
    static unsigned char map[BLOCKS * BLOCKS];
    for (int v = 0; v < 2; ++v) {
        for (int i = 0; i < BLOCKS; ++i) {
            for (int j = 0; j < BLOCKS; ++j) {
                map[i * BLOCKS + j] = (unsigned char)(i - j < 2   ? wide[v]
                                                      : i - j < 5 ? BB_VARIANT_HP1
                                                                  : BB_VARIANT_HP2);
            }
        }
        const bb_panel_plan plan = {.arithmetic = BB_VARIANT_HP1, .block = 256, .variants = map};
        autocall(finish) posed p;
        autocall(release_solved) solved parts;
        start(&p, 3000, v * 64, 0.5);
        solve(&p, &plan);
        run_on(&p.matrix_problem, &plan, 3, devices, &parts);
        assert_int_equal(differences(&p.found, &parts, 3000, v * 64), 0);
    }
}

// Pivots [n] and columns [first, first + WIDTH) of D^-1 L from row `first` on.
static void read_factor(const posed *p, bb_index count, const bb_panel_plan *shape, bb_index first,
                        double *pivots, double *columns)
{
    const problem *task = &p->matrix_problem;
    const bb_index n = task->n;
    const size_t bytes = (size_t)((n - first) * WIDTH) * sizeof(double);
    bb_panel_plan plan = *shape;
    bb_panel_times times;
    bb_outcome outcome = {0};
    bb_panel_sources sources[PARTS] = {{0}};
    bb_view view = bb_view_matrix(task->given, n, n);
    bb_matrix_source matrix = bb_matrix_source_dense(&view, "A", "1");
    plan.n = n;
    autoptr(bb_device_source) twin = new_object(bb_device_source, &matrix, gpu);
    for (bb_index g = 0; g < count; ++g) {
        sources[g].matrix = twin;
    }
    autoptr(bb_panel_cholesky) factor = new_object(bb_panel_cholesky, count, devices, &plan);
    check_ok(bb_panel_cholesky_factor(factor, sources, task->scale, &outcome, &times));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    check_ok(bb_panel_cholesky_pivots(factor, pivots));
    void *on_gpu = allocate_on(gpu, bytes);
    check_ok(bb_panel_cholesky_columns(factor, NULL, first, WIDTH, on_gpu, WIDTH));
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess); // not on a queue of the device
    check_ok(bb_device_download(gpu, columns, on_gpu, bytes));
    bb_device_release(gpu, &on_gpu);
}

TEST(pivots_and_columns_come_from_every_part)
{
    static const bb_panel_plan plans[] = {{.arithmetic = BB_VARIANT_X3, .block = 128},
                                          {.arithmetic = BB_VARIANT_DP, .block = 128},
                                          {.arithmetic = BB_VARIANT_BF16, .block = 128}};
    const bb_index n = 1153;
    const bb_index first = 300;
    const bb_index items = (n - first) * WIDTH;
    autofree double *pivots = dense_new(2 * n);
    autofree double *columns = dense_new(2 * items);
    for (size_t c = 0; c < sizeof plans / sizeof *plans; ++c) {
        autocall(finish) posed p;
        start(&p, n, 0, 0.5);
        solve(&p, &plans[c]);
        read_factor(&p, 1, &plans[c], first, pivots, columns);
        read_factor(&p, 3, &plans[c], first, pivots + n, columns + items);
        assert_memory_equal(pivots, pivots + n, (size_t)n * sizeof(double));
        assert_memory_equal(columns, columns + items, (size_t)items * sizeof(double));
        for (bb_index i = 0; i < n; ++i) {
            check_relative(pivots[i], p.found.lower[i * n + i] / p.scale[i], 1e-6);
        }
    }
}

// A breakdown in a row of each of three parts, then the same factorization without breakdown.
TEST(a_breakdown_in_any_part_names_its_row)
{
    static const bb_index rows[] = {0, 140, 300, 700, 1152};
    static const double pivots[] = {-1.0, NAN};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int kind = 0; kind < 2; ++kind) {
            for (int c = 0; c < CASES; ++c) {
                char place[32];
                autocall(finish) posed p;
                start(&p, 1153, 10, cases[c].noise);
                p.given[rows[i] * 1153 + rows[i]] = pivots[kind];
                run_on(&p.matrix_problem, &cases[c].plan, 3, devices, &p.found);
                snprintf(place, sizeof place, "row %td:", rows[i]);
                assert_int_equal(p.found.outcome.kind,
                                 kind == 0 ? BB_OUTCOME_NOT_SPD : BB_OUTCOME_NON_FINITE);
                assert_non_null(strstr(p.found.outcome.detail, place));
            }
        }
    }
}

// Memory of a part equals the plan.
TEST(memory_of_parts_is_planned)
{
    static const bb_variant variants[] = {BB_VARIANT_SP, BB_VARIANT_HP1, BB_VARIANT_X3};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        const bb_panel_plan plan = {
            .n = 30000, .block = 1024, .sides = 2000, .arithmetic = variants[v]};
        check_panel_memory(2, devices, &plan);
    }
}

TEST(two_gpus_have_the_bits_of_one)
{
    bb_device *two[2] = {gpu, NULL};
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) < 2) {
        print_message("skipped: one GPU\n");
        skip();
    }
    check_ok(bb_device_open(BB_DEVICE_CUDA, 1, &two[1]));
    int found = 0;
    for (int c = 0; c < CASES; ++c) {
        found += compare_parts(2, two, c, 3000, 301);
    }
    found += compare_parts(2, two, 3, 12345, 0);
    assert_int_equal(found, 0);
    bb_device_close(&two[1]);
}

static int begin(void)
{
    const int code = open_devices();
    for (int g = 0; g < PARTS; ++g) {
        devices[g] = gpu;
    }
    return code;
}

TEST_GROUP(.begin = begin, .end = close_devices);

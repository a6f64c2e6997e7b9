// SPDX-License-Identifier: Apache-2.0
//
// Factorization by panels against fp64: residuals of the factor and of R in every arithmetic, sizes
// around a block, breakdowns by position, bitwise repetition.
#include "tests/solvers/factor/panels/panel_cases.h"

enum { FEW_CASE = 6 };

static bool left_out(int c)
{
    return few && c != FEW_CASE;
}

// ||D A D - L L^T|| / ||D A D||, Frobenius.
static double factor_error(const posed *p)
{
    const bb_index n = p->matrix_problem.n;
    autofree double *rest = remainder_of(n, p->matrix_problem.a, p->found.lower);
    double error = dense_norm(n * n, rest) / dense_norm(n * n, p->matrix_problem.a);
    return error;
}

// ||B - X A|| / (||X|| ||A||) of the scaled system, Frobenius.
static double result_error(const posed *p)
{
    const bb_index n = p->matrix_problem.n;
    const bb_index items = p->matrix_problem.sides * n;
    if (items == 0) {
        return 0.0;
    }
    autofree double *rest = dense_new(items);
    memcpy(rest, p->matrix_problem.b, (size_t)items * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)p->matrix_problem.sides, (int)n,
                (int)n, -1.0, p->found.x, (int)n, p->matrix_problem.a, (int)n, 1.0, rest, (int)n);
    double error = dense_norm(items, rest) /
                   (dense_norm(items, p->found.x) * dense_norm(n * n, p->matrix_problem.a));
    return error;
}

static void check_errors(const posed *p, int c)
{
    assert_int_equal(p->found.outcome.kind, BB_OUTCOME_OK);
    const double factor = factor_error(p);
    const double result = result_error(p);
    print_message("n %td, %s, block %td: factor %.1e, result %.1e\n", p->matrix_problem.n,
                  bb_variant_describe(cases[c].plan.arithmetic)->name, cases[c].plan.block, factor,
                  result);
    check_close(factor, 0.0, cases[c].factor, 1.0);
    check_close(result, 0.0, cases[c].result, 1.0);
}

TEST(every_arithmetic_factors_and_solves)
{
    static const bb_index sizes[] = {1, 2, 127, 128, 129, 500, 1000, 1153, 2100};
    for (size_t s = few ? 4 : 0; s < (few ? 6 : sizeof sizes / sizeof *sizes); ++s) {
        for (int c = 0; c < CASES; ++c) {
            autocall(finish) posed p;
            start(&p, sizes[s], sizes[s] % 3 == 0 ? 0 : 1 + sizes[s] / 4, cases[c].noise);
            solve(&p, &cases[c].plan);
            check_errors(&p, c);
        }
    }
}

TEST(results_repeat_bit_for_bit)
{
    const bb_index n = few ? 400 : 1500;
    for (int c = 0; c < CASES; ++c) {
        autocall(finish) posed p, again;
        if (left_out(c)) {
            continue;
        }
        start(&p, n, 200, cases[c].noise);
        start(&again, n, 200, cases[c].noise);
        solve(&p, &cases[c].plan);
        solve(&again, &cases[c].plan);
        assert_memory_equal(p.found.lower, again.found.lower, (size_t)(n * n) * sizeof(double));
        assert_memory_equal(p.found.x, again.found.x, (size_t)(200 * n) * sizeof(double));
    }
}

TEST(a_map_chooses_the_products_of_every_block)
{
    static const bb_variant variants[] = {BB_VARIANT_HP1, BB_VARIANT_HP2, BB_VARIANT_HP3};
    static unsigned char mixed[36];
    if (few) {
        skip();
    }
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 6; ++j) {
            mixed[i * 6 + j] = BB_VARIANT_X3;
        }
    }
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        for (int i = 0; i < 6; ++i) {
            for (int j = 0; j < i - 1; ++j) {
                mixed[i * 6 + j] = (unsigned char)variants[v];
            }
        }
        const bb_panel_plan plans[] = {
            {.arithmetic = BB_VARIANT_X3, .block = 256},
            {.arithmetic = variants[v], .block = 256, .variants = mixed},
            {.arithmetic = variants[v], .block = 256},
        };
        double errors[3];
        autocall(finish) posed p;
        start(&p, 1500, 64, 0.5);
        for (int i = 0; i < 3; ++i) {
            solve(&p, &plans[i]);
            assert_int_equal(p.found.outcome.kind, BB_OUTCOME_OK);
            errors[i] = factor_error(&p);
        }
        print_message("%s: x3 %.1e, mixed %.1e, uniform %.1e\n",
                      bb_variant_describe(variants[v])->name, errors[0], errors[1], errors[2]);
        assert_true(errors[0] < 0.1 * errors[1] && errors[1] < errors[2]);
    }
}

enum { ZONED_N = 3000, ZONED_BLOCK = 256, ZONED_BLOCKS = 12 };

// Variant by distance of a block from the diagonal: `zones` for 1, for 2 to 4, and for 5 or more.
static void fill_zones(const bb_variant zones[3], unsigned char *variants)
{
    for (int i = 0; i < ZONED_BLOCKS; ++i) {
        for (int j = 0; j < ZONED_BLOCKS; ++j) {
            const int zone = i - j < 2 ? 0 : i - j < 5 ? 1 : 2;
            variants[i * ZONED_BLOCKS + j] = (unsigned char)zones[zone];
        }
    }
}

// A map of one variant: the same kernels in the same order as without a map.
TEST(a_map_of_one_variant_changes_no_bit)
{
    static const bb_variant variants[] = {BB_VARIANT_X3, BB_VARIANT_HP1, BB_VARIANT_HP2,
                                          BB_VARIANT_HP3};
    static unsigned char map[ZONED_BLOCKS * ZONED_BLOCKS];
    const size_t bytes = (size_t)(ZONED_N * (bb_index)ZONED_N) * sizeof(double);
    if (few) {
        skip();
    }
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        autocall(finish) posed p, mapped;
        bb_panel_plan plan = {.arithmetic = variants[v], .block = ZONED_BLOCK};
        start(&p, ZONED_N, 64, 0.5);
        start(&mapped, ZONED_N, 64, 0.5);
        solve(&p, &plan);
        const bb_variant zones[3] = {variants[v], variants[v], variants[v]};
        fill_zones(zones, map);
        plan.variants = map;
        solve(&mapped, &plan);
        assert_int_equal(p.found.outcome.kind, BB_OUTCOME_OK);
        assert_memory_equal(p.found.lower, mapped.found.lower, bytes);
        assert_memory_equal(p.found.x, mapped.found.x, 64 * ZONED_N * sizeof(double));
    }
}

// True if all values of block (i, j) of L are fp16 values.
static bool is_fp16(const double *lower, bb_index i, bb_index j)
{
    for (bb_index r = i * ZONED_BLOCK; r < (i + 1) * ZONED_BLOCK && r < ZONED_N; ++r) {
        for (bb_index c = j * ZONED_BLOCK; c < (j + 1) * ZONED_BLOCK; ++c) {
            const double value = lower[r * ZONED_N + c];
            if (bb_format_round(BB_FORMAT_FP16, value) != value) {
                return false;
            }
        }
    }
    return true;
}

// Three variants in one factorization: each block is stored in its own format, each zone uses its
// own products, and results repeat. Errors are within five times those of the tile Cholesky on the
// CPU (2.9e-5, 3.0e-5, 1.8e-4, 8.1e-6, 3.7e-5), which does not truncate its sums.
TEST(three_zones_stand_in_one_factorization)
{
    static const bb_variant zones[][3] = {
        {BB_VARIANT_X3, BB_VARIANT_HP1, BB_VARIANT_HP2},
        {BB_VARIANT_HP1, BB_VARIANT_HP1, BB_VARIANT_HP2},
        {BB_VARIANT_X3, BB_VARIANT_HP2, BB_VARIANT_HP2},
        {BB_VARIANT_X3, BB_VARIANT_HP1, BB_VARIANT_HP1},
        {BB_VARIANT_X3, BB_VARIANT_HP1, BB_VARIANT_HP3},
        {BB_VARIANT_X3, BB_VARIANT_HP1, BB_VARIANT_HP2},
    };
    static const double errors[] = {1.5e-4, 1.5e-4, 9e-4, 4e-5, 1.9e-4, 1.5e-4};
    enum { ZONED = sizeof zones / sizeof *zones };
    static unsigned char map[ZONED_BLOCKS * ZONED_BLOCKS];
    const size_t bytes = (size_t)(ZONED_N * (bb_index)ZONED_N) * sizeof(double);
    double *found[ZONED];
    autocall(finish) posed p;
    if (few) {
        skip();
    }
    start(&p, ZONED_N, 64, 0.5);
    for (int z = 0; z < ZONED; ++z) {
        const bb_panel_plan plan = {
            .arithmetic = BB_VARIANT_HP1, .block = ZONED_BLOCK, .variants = map};
        fill_zones(zones[z], map);
        solve(&p, &plan);
        assert_int_equal(p.found.outcome.kind, BB_OUTCOME_OK);
        print_message("zones %s, %s, %s: factor %.1e, result %.1e\n", bb_variant_names[zones[z][0]],
                      bb_variant_names[zones[z][1]], bb_variant_names[zones[z][2]],
                      factor_error(&p), result_error(&p));
        check_close(factor_error(&p), 0.0, errors[z], 1.0);
        check_close(result_error(&p), 0.0, 6e-5, 1.0);
        for (int i = 1; i < ZONED_BLOCKS; ++i) {
            for (int j = 0; j < i; ++j) {
                const bb_variant variant = (bb_variant)map[i * ZONED_BLOCKS + j];
                const bool half = bb_variant_describe(variant)->output == BB_FORMAT_FP16;
                assert_int_equal(is_fp16(p.found.lower, i, j), half);
            }
        }
        found[z] = dense_new(ZONED_N * (bb_index)ZONED_N);
        memcpy(found[z], p.found.lower, bytes);
    }
    for (int z = 1; z < ZONED - 1; ++z) {
        assert_memory_not_equal(found[z], found[0], bytes);
    }
    assert_memory_equal(found[ZONED - 1], found[0], bytes);
    for (int z = 0; z < ZONED; ++z) {
        BB_RELEASE(&found[z]);
    }
}

// ||B - X L L^T|| / (||X|| ||L||^2): error of the sweeps only.
static double sweep_error(const posed *p)
{
    const bb_index n = p->matrix_problem.n;
    const int sides = (int)p->matrix_problem.sides;
    autofree double *half = dense_new(sides * n);
    autofree double *rest = dense_new(sides * n);
    memcpy(rest, p->matrix_problem.b, (size_t)(sides * n) * sizeof *rest);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, sides, (int)n, (int)n, 1.0, p->found.x,
                (int)n, p->found.lower, (int)n, 0.0, half, (int)n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, sides, (int)n, (int)n, -1.0, half, (int)n,
                p->found.lower, (int)n, 1.0, rest, (int)n);
    const double norm = dense_norm(n * n, p->found.lower);
    return dense_norm(sides * n, rest) / (dense_norm(sides * n, p->found.x) * norm * norm);
}

// Sweeps with a factor in fp32 by three products of half planes: the same factor and errors of fp32
// size.
TEST(split_sweeps_have_the_errors_of_fp32)
{
    static const bb_variant variants[] = {BB_VARIANT_TF32, BB_VARIANT_BF16, BB_VARIANT_FP8};
    const bb_index n = few ? 700 : 2100;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        autocall(finish) posed wide, split;
        bb_panel_plan plan = {.arithmetic = variants[v], .block = 128};
        start(&wide, n, 200, 4.0);
        start(&split, n, 200, 4.0);
        solve(&wide, &plan);
        plan.unit_diagonal = true;
        solve(&split, &plan);
        assert_memory_equal(wide.found.lower, split.found.lower, (size_t)(n * n) * sizeof(double));
        assert_memory_not_equal(wide.found.x, split.found.x, (size_t)(200 * n) * sizeof(double));
        print_message("%s: sweeps in fp32 %.1e, in half planes %.1e\n",
                      bb_variant_names[variants[v]], sweep_error(&wide), sweep_error(&split));
        check_close(sweep_error(&wide), 0.0, 1e-6, 1.0);
        check_close(sweep_error(&split), 0.0, 1e-6, 1.0);
    }
}

// With all blocks light, sweeps are those of `follow`; with none light, those by three products:
// the same bits.
TEST(light_sweeps_are_between_the_others)
{
    const bb_panel_plan plans[] = {
        {.arithmetic = BB_VARIANT_HP1, .block = 128},
        {.arithmetic = BB_VARIANT_HP1, .block = 128, .sweeps = BB_POLICY_SWEEPS_LIGHT},
        {.arithmetic = BB_VARIANT_HP1,
         .block = 128,
         .sweeps = BB_POLICY_SWEEPS_LIGHT,
         .sweep_energy = 0.02},
        {.arithmetic = BB_VARIANT_HP1,
         .block = 128,
         .sweeps = BB_POLICY_SWEEPS_LIGHT,
         .sweep_energy = 1.0},
        {.arithmetic = BB_VARIANT_HP1, .block = 128, .sweeps = BB_POLICY_SWEEPS_FOLLOW},
    };
    const bb_index n = few ? 400 : 1500;
    const size_t bytes = (size_t)(200 * n) * sizeof(double);
    double *found[5];
    autocall(finish) posed p;
    start(&p, n, 200, 0.05);
    for (int i = 0; i < 5; ++i) {
        solve(&p, &plans[i]);
        assert_int_equal(p.found.outcome.kind, BB_OUTCOME_OK);
        found[i] = dense_new(200 * n);
        memcpy(found[i], p.found.x, bytes);
    }
    assert_memory_equal(found[1], found[0], bytes);
    assert_memory_not_equal(found[2], found[0], bytes);
    assert_memory_not_equal(found[2], found[3], bytes);
    assert_memory_equal(found[3], found[4], bytes);
    for (int i = 0; i < 5; ++i) {
        BB_RELEASE(&found[i]);
    }
}

static void check_breakdown(posed *p, const bb_panel_plan *plan, bb_index row, double pivot,
                            bb_outcome_kind kind)
{
    char place[32];
    snprintf(place, sizeof place, "row %td:", row);
    p->given[row * p->matrix_problem.n + row] = pivot;
    solve(p, plan);
    assert_int_equal(p->found.outcome.kind, kind);
    assert_non_null(strstr(p->found.outcome.detail, place));
}

TEST(a_breakdown_names_its_row)
{
    static const bb_index rows[] = {0, 700, 1499};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int c = 0; c < CASES; ++c) {
            posed p;
            if (left_out(c)) {
                continue;
            }
            start(&p, 1500, 10, cases[c].noise);
            check_breakdown(&p, &cases[c].plan, rows[i], -1.0, BB_OUTCOME_NOT_SPD);
            check_breakdown(&p, &cases[c].plan, rows[i], NAN, BB_OUTCOME_NON_FINITE);
            finish(&p);
        }
    }
}

TEST(impossible_plans_are_refused)
{
    bb_panel_cholesky *factor = NULL;
    bb_panel_plan plan = {.n = 1000, .block = 100, .arithmetic = BB_VARIANT_SP};
    check_fails(bb_panel_cholesky_create(1, &gpu, &plan, &factor), BB_INVALID, "multiple of 128");
    plan = (bb_panel_plan){.n = 1000, .block = 128, .arithmetic = BB_VARIANT_COUNT};
    check_fails(bb_panel_cholesky_create(1, &gpu, &plan, &factor), BB_INVALID, "a variant");
    plan = (bb_panel_plan){.n = 1000000, .block = 1024, .arithmetic = BB_VARIANT_X3};
    check_fails(bb_panel_cholesky_create(1, &gpu, &plan, &factor), BB_MEMORY, "free");
    assert_true(bb_panel_plan_need(&plan, 1).device_bytes > 2e12);
}

// Allocated memory equals the plan to 1 %.
TEST(memory_is_planned)
{
    static const bb_variant variants[] = {BB_VARIANT_SP, BB_VARIANT_HP1, BB_VARIANT_HP2,
                                          BB_VARIANT_FP8};
    if (few) {
        skip();
    }
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        const bb_panel_plan plan = {
            .n = 30000, .block = 1024, .sides = 2000, .arithmetic = variants[v]};
        check_panel_memory(1, &gpu, &plan);
    }
}

TEST_GROUP(.begin = open_devices, .end = close_devices);

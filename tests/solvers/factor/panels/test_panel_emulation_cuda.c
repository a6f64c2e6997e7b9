// SPDX-License-Identifier: Apache-2.0
//
// Backward errors ||A - L L^T||_F / ||A||_F of the factorization by panels against those of the
// tile Cholesky on the CPU, which emulates the arithmetic: within a factor of three. Also where
// sums of hp3 start and how often they are rounded, found with sums that stagnate if rounded to
// fp16.
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/factor/panels/panel_problem.h"

static double backward_error(bb_index n, const double *a, const double *lower)
{
    autofree double *rest = remainder_of(n, a, lower);
    double error = dense_norm(n * n, rest) / dense_norm(n * n, a);
    return error;
}

// With one variant throughout, or with a map.
static double emulated_error(bb_index n, bb_index tile, bb_variant variant,
                             const bb_policy_map *map, double *a)
{
    bb_outcome outcome = {0};
    bb_view view = bb_view_matrix(a, n, n);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = tile, .arithmetic = variant, .map = map};
    autofree double *lower = dense_new(n * n);
    autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j <= i; ++j) {
            const bb_tile *t = bb_tile_matrix_at(matrix, i / tile, j / tile);
            const bb_index index = i % tile * t->columns + j % tile;
            lower[i * n + j] = t->f64 != NULL ? t->f64[index] : (double)t->f32[index];
        }
    }
    double error = backward_error(n, a, lower);
    return error;
}

TEST(the_cpu_emulates_the_errors)
{
    enum { N = 1000, BLOCK = 128 };
    int apart = 0; // counted, so that one run reports all of them
    const bb_variant variants[] = {BB_VARIANT_SP,  BB_VARIANT_BF16, BB_VARIANT_HP1, BB_VARIANT_HP2,
                                   BB_VARIANT_HP3, BB_VARIANT_X3,   BB_VARIANT_FP8};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; ++v) {
        for (int which = 0; which < 2; ++which) {
            const bb_panel_plan arithmetic = {.arithmetic = variants[v], .block = BLOCK};
            spd_matrix matrix;
            autocall(release_solved) solved found;
            autofree double *scale = dense_new(N);
            const double roundoff = bb_variant_unit_roundoff(variants[v]);
            spd_create(6, N, roundoff, &matrix);
            if (which == 1) { // every block contributes; definite in fp8 too
                dense_covariance(N, 200.0, fmax(0.3, 50.0 * roundoff), matrix.a);
            }
            scale_matrix(N, matrix.a, scale);
            const problem task = {.n = N, .a = matrix.a};
            run(&task, &arithmetic, &found);
            assert_int_equal(found.outcome.kind, BB_OUTCOME_OK);
            const double error = backward_error(N, matrix.a, found.lower);
            const double emulated = emulated_error(N, BLOCK, variants[v], NULL, matrix.a);
            print_message("%s, %s: %.2e on the GPU, %.2e emulated\n",
                          bb_variant_describe(variants[v])->name,
                          which == 1 ? "covariance" : "type 6", error, emulated);
            apart += !(error < 3.0 * emulated && emulated < 3.0 * error);
            BB_RELEASE(&matrix.a);
        }
    }
    assert_int_equal(apart, 0);
}

// sp (x3 on the GPU), hp1 and hp2 by distance of a block from the diagonal.
TEST(the_cpu_emulates_three_zones)
{
    enum { N = 1000, BLOCK = 128, BLOCKS = 8 };
    bb_variant table[BLOCKS * (BLOCKS + 1) / 2];
    unsigned char blocks[BLOCKS * BLOCKS] = {0};
    autofree double *a = dense_new(N * N);
    autofree double *scale = dense_new(N);
    autocall(release_solved) solved found;
    for (int i = 0; i < BLOCKS; ++i) {
        for (int j = 0; j <= i; ++j) {
            const bb_variant variant = i - j < 2   ? BB_VARIANT_SP
                                       : i - j < 4 ? BB_VARIANT_HP1
                                                   : BB_VARIANT_HP2;
            table[i * (i + 1) / 2 + j] = variant;
            blocks[i * BLOCKS + j] = (unsigned char)bb_variant_describe(variant)->in_halves;
        }
    }
    const bb_policy_config policy = {.kind = BB_POLICY_TABLE};
    const bb_policy_facts facts = {.tile_rows = BLOCKS, .tile_size = BLOCK, .table = table};
    autoptr(bb_policy_map) map = new_object(bb_policy_map, &policy, BB_VARIANT_HP2, &facts);
    dense_covariance(N, 200.0, 0.3, a);
    scale_matrix(N, a, scale);
    const problem task = {.n = N, .a = a};
    const bb_panel_plan plan = {.arithmetic = BB_VARIANT_HP1, .block = BLOCK, .variants = blocks};
    run(&task, &plan, &found);
    assert_int_equal(found.outcome.kind, BB_OUTCOME_OK);
    const double error = backward_error(N, a, found.lower);
    const double emulated = emulated_error(N, BLOCK, BB_VARIANT_HP2, map, a);
    print_message("three zones: %.2e on the GPU, %.2e emulated\n", error, emulated);
    assert_true(error < 3.0 * emulated && emulated < 3.0 * error);
}

enum { DEPTH = 1024, PANEL = DEPTH, COUNT = DEPTH + 2 * PANEL };

// c - sum of DEPTH products in hp3 on the GPU: the first product is -first, the others -part each.
// Entry (r, s) of the last two panels of a matrix whose other rows are those of I.
static double half_sum(double c, double first, double part)
{
    const bb_index s = DEPTH + 5;
    const bb_index r = DEPTH + PANEL + 9;
    const bb_panel_plan arithmetic = {.arithmetic = BB_VARIANT_HP3, .block = PANEL};
    const double wide = ldexp(1.0, -(-ilogb(part) / 2)); // both factors are powers of two
    autofree double *a = dense_new((bb_index)COUNT * COUNT);
    autocall(release_solved) solved found;
    for (bb_index i = 0; i < COUNT; ++i) {
        a[i * COUNT + i] = i < DEPTH ? 1.0 : 16384.0;
    }
    for (bb_index k = 0; k < DEPTH; ++k) {
        const double edge = k == 0 ? 64.0 : wide;
        const double right = -(k == 0 ? first : part) / edge;
        a[s * COUNT + k] = a[k * COUNT + s] = edge;
        a[r * COUNT + k] = a[k * COUNT + r] = right;
    }
    a[r * COUNT + s] = a[s * COUNT + r] = c;
    const problem posed = {.n = COUNT, .a = a};
    run(&posed, &arithmetic, &found);
    assert_int_equal(found.outcome.kind, BB_OUTCOME_OK);
    const double sum = found.lower[r * COUNT + s] * found.lower[s * COUNT + s];
    return sum;
}

// Near 2048, fp16 has a spacing of 2, so an addend up to 1 is lost. DEPTH parts of 1/32 sum to 64:
// they survive if they are summed separately, and are lost if each run of up to 32 is added to
// 2048.
TEST(sums_of_hp3_start_from_zero)
{
    const double kept = half_sum(2048.0, 1.0 / 32, 1.0 / 32);
    print_message("2048 + %d/32 = %.1f\n", DEPTH, kept);
    check_relative(kept, 2048.0 + DEPTH / 32.0, 1e-3);
    // With 2048 as the first addend, the smallest part that is not lost gives the number of addends
    // between two roundings.
    double least = INFINITY;
    for (int e = 1; e <= 10; ++e) {
        const double part = ldexp(1.0, -e);
        const double sum = half_sum(0.0, 2048.0, part);
        print_message("2048 first, then %d/2^%d: %.1f\n", DEPTH - 1, e, sum);
        least = sum > 2048.0 + 0.5 * DEPTH * part ? fmin(least, part) : least;
    }
    print_message("the least part that counts is 1/%.0f\n", 1.0 / least);
    assert_true(least == 1.0 / 8); // 16 of 1/16 are 1, a tie that rounds to 2048; 16 of 1/8 survive
}

TEST_GROUP(.begin = open_devices, .end = close_devices, .threads = 4);

// SPDX-License-Identifier: Apache-2.0
//
// Flops, certificates and selected products of factorizations small enough for hand arithmetic.
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/dense.h"

// Factors a [n][n] and returns the matrix; `map` may be NULL.
static bb_tile_matrix *factored(bb_index n, double *a, bb_index tile, bb_variant variant,
                                const bb_policy_map *map)
{
    bb_outcome outcome = {0};
    bb_view view = bb_view_matrix(a, n, n);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = tile,
                               .arithmetic = variant,
                               .policy = {.diagonal = BB_POLICY_FOLLOW},
                               .map = map};
    bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    return matrix;
}

// Two rows of 2 x 2 tiles: [[I, B^T], [B, B B^T + I]], so L_10 = B and the one product is B B^T.
static void two_tile_rows(double b, double a[16])
{
    const double values[16] = {
        1.0,
        0.0,
        b,
        b, //
        0.0,
        1.0,
        b,
        b, //
        b,
        b,
        1.0 + 2.0 * b * b,
        2.0 * b * b, //
        b,
        b,
        2.0 * b * b,
        1.0 + 2.0 * b * b, //
    };
    memcpy(a, values, sizeof values);
}

// With b = 1/2: ||B||_F = 1, ||A||_F = sqrt(2 + 2 + 5) = 3, every number exact in every format.
// Operands of a product have relative error u each, so e = 2 u + u^2 (x3: 2^-21), and half a
// subnormal spacing s per value; 4 values: s/2 sqrt(4) = s. The certificate is (e + 2 s + s^2) / 3.
TEST(certificates_of_two_tile_rows_are_those_by_hand)
{
    const struct {
        bb_variant variant;
        double product_error, spacing;
    } cases[] = {
        {BB_VARIANT_TF32, (2.0 + 0x1p-11) * 0x1p-11, 0x1p-136},
        {BB_VARIANT_BF16, (2.0 + 0x1p-8) * 0x1p-8, 0x1p-133},
        {BB_VARIANT_HP1, (2.0 + 0x1p-11) * 0x1p-11, 0x1p-24},
        {BB_VARIANT_X3, 0x1p-21, 0x1p-24 * 0x1p-11},               // that of the lower plane
        {BB_VARIANT_FP8, (2.0 + 0x1p-4) * 0x1p-4, 0x1p-9 / 224.0}, // the norm, 1, at 224
    };
    double a[16];
    two_tile_rows(0.5, a);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        autoptr(bb_tile_matrix) matrix = factored(4, a, 2, cases[k].variant, NULL);
        double lost = cases[k].spacing;
        double expected = (cases[k].product_error + 2.0 * lost + lost * lost) / 3.0;
        check_relative(matrix->norm, 3.0, 1e-15);
        check_relative(matrix->work.certificate, expected, 1e-12);
    }
}

// Values of 2^-26 are zero in fp16: ||B||_F = 2^-25, s = 2^-24, so 2 s ||B|| + s^2 = 2^-47. A bound
// without underflow would be e ||B||^2 = 2^-60 + 2^-72. The lost product, B B^T, has norm 2^-50.
TEST(underflow_is_most_of_a_small_tiles_certificate)
{
    double a[16];
    two_tile_rows(0x1p-26, a);
    autoptr(bb_tile_matrix) matrix = factored(4, a, 2, BB_VARIANT_HP1, NULL);
    double expected = 0x1p-47 + (2.0 + 0x1p-11) * 0x1p-11 * 0x1p-50;
    check_relative(matrix->work.certificate * matrix->norm, expected, 1e-12);
    assert_true(matrix->work.certificate * matrix->norm > 0x1p-50);
}

// L = [1; 1/2 1; 1/4 1/2 1] in tiles of one value: products of norm 1/4 into (1, 1), 1/8 into
// (2, 1), 1/16 and 1/4 into (2, 2).
static const double three[9] = {1.0, 0.5, 0.25, 0.5, 1.25, 0.625, 0.25, 0.625, 1.3125};

// Errors within one tile add up. Errors of tiles are summed by squares, an off-diagonal tile's
// twice, because it represents two tiles of A.
TEST(certificates_add_products_and_count_the_upper_triangle)
{
    double a[9];
    memcpy(a, three, sizeof a);
    autoptr(bb_tile_matrix) matrix = factored(3, a, 1, BB_VARIANT_BF16, NULL);
    double error = (2.0 + 0x1p-8) * 0x1p-8;
    double squares = 1.0 / 16.0 + 2.0 / 64.0 + 25.0 / 256.0;
    double norm = sqrt(1.0 + 1.5625 + 1.72265625 + 2.0 * (0.25 + 0.0625 + 0.390625));
    check_relative(matrix->work.certificate, error * sqrt(squares) / norm, 1e-12);
}

// Every rounding of a product at its largest and of one sign: b = 1 + u is halfway and rounds to 1,
// so the error of b^2 is (2 u + u^2), which is the bound. x3 represents 1 + 2^-12 of 1 + 2^-12 +
// 2^-23, in the tile too, and omits the product of the lower planes.
TEST(certificates_are_tight_where_roundings_agree)
{
    const struct {
        bb_variant variant;
        double b, kept; // of b^2
    } cases[] = {
        {BB_VARIANT_TF32, 1.0 + 0x1p-11, 1.0},
        {BB_VARIANT_BF16, 1.0 + 0x1p-8, 1.0},
        {BB_VARIANT_HP1, 1.0 + 0x1p-11, 1.0},
        {BB_VARIANT_FP8, 1.0 + 0x1p-4, 1.0},
        {BB_VARIANT_X3, 1.0 + 0x1p-12 + 0x1p-23, 1.0 + 0x1p-11},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        double b = cases[k].b;
        double a[4] = {1.0, b, b, 1.0 + cases[k].kept}; // L_11 = 1
        autoptr(bb_tile_matrix) matrix = factored(2, a, 1, cases[k].variant, NULL);
        double l10 = (double)bb_tile_matrix_at(matrix, 1, 0)->f32[0];
        double l11 = (double)bb_tile_matrix_at(matrix, 1, 1)->f32[0];
        assert_true(l11 == 1.0);
        double off = l10 - b;
        double corner = l10 * l10 + l11 * l11 - a[3];
        double error = sqrt(2.0 * off * off + corner * corner) / dense_norm(4, a);
        double certificate = matrix->work.certificate;
        print_message("%s: certificate %.2f times the error\n",
                      bb_variant_describe(cases[k].variant)->name, certificate / error);
        assert_true(error <= certificate && certificate <= 4.0 * error);
    }
}

// Of the n^3 / 3 operations of a factorization, potrf has t^3 / 3 per diagonal tile and trsm t^3
// per tile below it; the rest are products. Two rows: (8 - 2 - 3) t^3 / 3 = t^3. Three: 27/3 - 1 -
// 3 = 5, of which (2, 1) has 2 and the diagonal 3.
TEST(flops_are_those_of_n_cubed_over_three)
{
    enum { TILE = 5 };
    double a[9 * TILE * TILE];
    const double cube = TILE * TILE * TILE;
    for (bb_index rows = 2; rows <= 3; ++rows) {
        bb_index n = rows * TILE;
        dense_covariance(n, 3.0, 0.5, a);
        autoptr(bb_tile_matrix) matrix = factored(n, a, TILE, BB_VARIANT_HP1, NULL);
        double panels = (double)rows / 3.0 + (double)(rows * (rows - 1) / 2);
        double products = bb_tile_cholesky_flops(n, 0) - panels * cube;
        check_relative(products, (rows == 2 ? 1.0 : 5.0) * cube, 1e-14);
        check_relative(matrix->work.flops[BB_VARIANT_HP1], products, 1e-14);
        assert_true(matrix->work.flops[BB_VARIANT_SP] == 0.0);
    }
}

// The product of norm 1/8 has 2 u / 8 = 2^-13 in hp1: at exactly this bound hp1 is selected, just
// below it is not.
TEST(products_change_variant_at_two_roundoffs)
{
    const double bounds[2] = {0x1p-13, nextafter(0x1p-13, 0.0)};
    bb_variant variants[6] = {BB_VARIANT_SP, BB_VARIANT_X3, BB_VARIANT_SP,
                              BB_VARIANT_X3, BB_VARIANT_X3, BB_VARIANT_SP};
    for (int k = 0; k < 2; ++k) {
        double a[9];
        memcpy(a, three, sizeof a);
        const bb_policy_map map = {.tile_rows = 3,
                                   .variants = variants,
                                   .product_bound = bounds[k],
                                   .product_variant = BB_VARIANT_HP1};
        autoptr(bb_tile_matrix) matrix = factored(3, a, 1, BB_VARIANT_HP1, &map);
        assert_true(matrix->work.flops[BB_VARIANT_HP1] == (k == 0 ? 2.0 : 0.0));
        assert_true(matrix->work.flops[BB_VARIANT_X3] == (k == 0 ? 0.0 : 2.0));
        assert_true(matrix->work.flops[BB_VARIANT_SP] == 3.0);
    }
}

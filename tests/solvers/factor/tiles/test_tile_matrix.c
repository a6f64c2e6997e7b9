// SPDX-License-Identifier: Apache-2.0
#include "precision/scaling.h"
#include "solvers/factor/tiles/tile_matrix.h"
#include "tests/solvers/dense.h"

enum { N = 25, TILE = 10 };

static double values[N * N];

static bb_tile_matrix *load(const double *scale, bb_variant arithmetic, bb_policy_config policy)
{
    bb_tile_plan plan = {.tile_size = TILE, .arithmetic = arithmetic, .policy = policy};
    bb_view view = bb_view_matrix(values, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    dense_covariance(N, 5.0, 0.3, values);
    bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, scale, &plan);
    return matrix;
}

TEST(tiles_hold_rounded_values_of_their_place)
{
    bb_tile_matrix *matrix = load(NULL, BB_VARIANT_HP2, (bb_policy_config){0});
    const bb_tile *tile = bb_tile_matrix_at(matrix, 2, 1);
    assert_int_equal(tile->rows, 5);
    assert_int_equal(tile->columns, 10);
    for (bb_index i = 0; i < tile->rows; ++i) {
        for (bb_index j = 0; j < tile->columns; ++j) {
            double expected = bb_format_round(BB_FORMAT_FP16, values[(20 + i) * N + 10 + j]);
            assert_true((double)tile->f32[i * 10 + j] == expected);
        }
    }
    bb_tile_matrix_destroy(&matrix);
    assert_null(matrix);
}

TEST(scale_is_applied_before_rounding)
{
    double diagonal[N], scale[N];
    fill_array(diagonal, N, i, 1.3);
    check_ok(bb_scaling_unit_diagonal(diagonal, N, scale));
    autoptr(bb_tile_matrix) matrix = load(scale, BB_VARIANT_SP, (bb_policy_config){0});
    const bb_tile *tile = bb_tile_matrix_at(matrix, 1, 1);
    check_close(tile->f32[3 * 10 + 3], 1.0, 1e-7, 1.0);
}

TEST(policy_gives_each_tile_its_variant)
{
    bb_policy_config band = {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_DP};
    autoptr(bb_tile_matrix) matrix = load(NULL, BB_VARIANT_HP3, band);
    assert_int_equal(bb_tile_matrix_at(matrix, 0, 0)->variant, BB_VARIANT_DP);
    assert_int_equal(bb_tile_matrix_at(matrix, 1, 0)->variant, BB_VARIANT_DP);
    assert_int_equal(bb_tile_matrix_at(matrix, 2, 0)->variant, BB_VARIANT_HP3);
    assert_non_null(bb_tile_matrix_at(matrix, 1, 0)->f64);
    assert_non_null(bb_tile_matrix_at(matrix, 2, 0)->f32);
    assert_int_equal(bb_tile_matrix_bytes(matrix), 8 * (100 + 100 + 25 + 100 + 50) + 2 * 50);
    bb_tile_matrix_destroy(&matrix);
    // A diagonal tile is never narrower than fp32.
    matrix = load(NULL, BB_VARIANT_HP3, (bb_policy_config){0});
    assert_int_equal(bb_tile_matrix_at(matrix, 2, 2)->variant, BB_VARIANT_SP);
}

TEST(tiles_larger_than_the_matrix_are_the_matrix)
{
    bb_tile_plan plan = {.tile_size = 65536, .arithmetic = BB_VARIANT_SP};
    bb_view view = bb_view_matrix(values, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    assert_int_equal(matrix->tile_size, N);
    assert_int_equal(matrix->tile_rows, 1);
}

TEST(sources_that_are_not_square_are_refused)
{
    bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_SP};
    bb_tile_matrix *matrix = NULL;
    bb_view view = bb_view_matrix(values, 5, 6);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    check_fails(bb_tile_matrix_create(&source, NULL, &plan, &matrix), BB_INVALID,
                "matrix A is 5 x 6; it must be square");
    plan.tile_size = 0;
    view = bb_view_matrix(values, 5, 5);
    source = bb_matrix_source_dense(&view, "A", "1");
    check_fails(bb_tile_matrix_create(&source, NULL, &plan, &matrix), BB_INVALID, "tile of 0 rows");
}

static uint64_t digest_of(const bb_tile_matrix *matrix)
{
    uint64_t digest = 0;
    check_ok(bb_tile_matrix_digest(matrix, &digest));
    return digest;
}

static bool is_even(const void *context, bb_index row, bb_index column)
{
    return (row + column) % 2 == *(const bb_index *)context;
}

// Values of the owned tiles, formats and sizes of all tiles; with all norms, two shares form one
// matrix.
TEST(shares_add_up_to_the_matrix)
{
    autoptr(bb_tile_matrix) complete = load(NULL, BB_VARIANT_HP2, (bb_policy_config){0});
    bb_view view = bb_view_matrix(values, N, N);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_HP2};
    double norms[6] = {0.0};
    uint64_t digest = 0;
    for (bb_index part = 0; part < 2; ++part) {
        const bb_tile_share share = {.holds = is_even, .context = &part};
        autoptr(bb_tile_matrix) matrix = NULL;
        check_ok(bb_tile_matrix_create_share(&source, NULL, &plan, &share, &matrix));
        for (bb_index t = 0; t < 6; ++t) {
            norms[t] += matrix->tiles[t].norm;
        }
        assert_null(bb_tile_matrix_at(matrix, 1, part)->f32);
        assert_int_equal(bb_tile_matrix_at(matrix, 2, 1)->rows, 5);
        assert_int_equal(bb_tile_matrix_bytes(matrix), bb_tile_matrix_bytes(complete));
        digest ^= digest_of(matrix);
        bb_tile_matrix_set_norms(matrix, norms);
        assert_true(part == 0 || matrix->norm == complete->norm);
    }
    assert_true(digest == digest_of(complete));
    // Values above the diagonal are not part of the matrix; those on it and in another tile are.
    bb_tile_matrix_at(complete, 1, 1)->f32[3] += 1.0F;
    assert_true(digest == digest_of(complete));
    bb_tile_matrix_at(complete, 1, 1)->f32[0] += 1.0F;
    assert_true(digest != digest_of(complete));
    digest = digest_of(complete);
    bb_tile_matrix_at(complete, 2, 0)->f32[3] += 1.0F;
    assert_true(digest != digest_of(complete));
}

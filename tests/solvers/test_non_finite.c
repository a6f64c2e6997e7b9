// SPDX-License-Identifier: Apache-2.0
//
// NaN and infinities in inputs of the solvers: each causes an outcome or a non-finite value, in the
// stage and at the place where it belongs, and never a finite result.
#include "core/outcome.h"
#include "solvers/factor/reconstructor.h"
#include "solvers/factor/residual_covariance.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "solvers/operator/coded_operator.h"
#include "solvers/step/stepper.h"
#include "tests/first_device.h"
#include "tests/precision/codec_rows.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { N = 72, TILE = 16, TILES = 5, M = 40, PLANTS = 3 };

static const double plants[PLANTS] = {NAN, INFINITY, -INFINITY};

static void expect_in(const bb_outcome *outcome, const char *words)
{
    if (outcome->kind != BB_OUTCOME_NON_FINITE || strstr(outcome->detail, words) == NULL) {
        print_error("%s, '%s': expected non_finite with '%s'\n", bb_outcome_name(outcome->kind),
                    outcome->detail, words);
        fail();
    }
}

static bb_tile_matrix *load(double *a, bb_variant variant)
{
    const bb_tile_plan plan = {
        .tile_size = TILE,
        .arithmetic = variant,
        .policy = {.kind = variant == BB_VARIANT_DP ? BB_POLICY_UNIFORM : BB_POLICY_BAND,
                   .width = 1,
                   .inside = BB_VARIANT_SP}};
    bb_view view = bb_view_matrix(a, N, N);
    bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    return matrix;
}

// A value in tile (i, j) of the lower triangle reaches the diagonal of row i and is found there at
// the latest.
TEST(matrices)
{
    autofree double *a = dense_new(N * N);
    char words[64];
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        for (bb_index tile = 1; tile < TILES; ++tile) {
            for (bb_index other = 0; other < tile; ++other) {
                bb_index row = tile * TILE + (tile + other) % 8;
                bb_index column = other * TILE + 5;
                for (int p = 0; p < PLANTS; ++p) {
                    bb_outcome outcome = {0};
                    dense_covariance(N, 8.0, 0.1, a);
                    a[row * N + column] = a[column * N + row] = plants[p];
                    autoptr(bb_tile_matrix) matrix = load(a, (bb_variant)v);
                    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
                    (void)snprintf(words, sizeof words, "tile (%td, %td), row %td", tile, tile,
                                   row);
                    expect_in(&outcome, words);
                }
            }
        }
    }
}

// A right-hand side with a non-finite value is lost, wherever the value is; the others are
// unchanged.
static void check_right_side(const bb_tile_matrix *factor, const double *right, const double *clean,
                             bb_index row, bb_index column, double plant)
{
    autofree double *x = dense_new(M * N);
    bb_outcome outcome = {0};
    memcpy(x, right, (size_t)(M * N) * sizeof *x);
    x[row * N + column] = plant;
    check_ok(bb_tile_cholesky_solve(factor, M, x));
    assert_true(bb_outcome_first_non_finite(x + row * N, N) >= 0);
    for (bb_index i = 0; i < M; ++i) {
        assert_true(i == row || memcmp(x + i * N, clean + i * N, N * sizeof *x) == 0);
    }
    memcpy(x, right, (size_t)(M * N) * sizeof *x);
    x[row * N + column] = plant;
    check_ok(bb_reconstructor_solve(factor, NULL, NULL, M, x, &outcome));
    char words[32];
    (void)snprintf(words, sizeof words, "reconstructor: entry (%td, ", row);
    expect_in(&outcome, words);
}

TEST(right_hand_sides)
{
    autofree double *a = dense_new(N * N);
    autofree double *right = dense_new(M * N);
    autofree double *clean = dense_new(M * N);
    dense_covariance(N, 8.0, 0.1, a);
    dense_random(M * N, 3, right);
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        bb_outcome outcome = {0};
        autoptr(bb_tile_matrix) factor = load(a, (bb_variant)v);
        check_ok(bb_tile_cholesky_factor(factor, 4, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_OK);
        memcpy(clean, right, (size_t)(M * N) * sizeof *clean);
        check_ok(bb_tile_cholesky_solve(factor, M, clean));
        for (int p = 0; p < PLANTS; ++p) {
            for (bb_index column = 0; column < N; column += 17) {
                check_right_side(factor, right, clean, (column + 5 * p) % M, column, plants[p]);
            }
            // An fp64 value outside the range of fp32 is not finite either.
            if (v != BB_VARIANT_DP) {
                check_right_side(factor, right, clean, 3, 4, 1e39);
            }
        }
    }
}

TEST(low_rank_parts)
{
    autofree double *a = dense_new(N * N);
    autofree double *u = dense_new(N);
    const double variance = 2.0;
    bb_outcome total = {0};
    dense_covariance(N, 8.0, 0.1, a);
    autoptr(bb_tile_matrix) factor = load(a, BB_VARIANT_HP1);
    check_ok(bb_tile_cholesky_factor(factor, 4, &total));
    for (int p = 0; p < PLANTS; ++p) {
        bb_outcome outcome = {0};
        const bb_low_rank part = {1, u, &variance};
        dense_random(N, 5, u);
        u[31] = plants[p];
        autoptr(bb_low_rank_update) update =
            new_object(bb_low_rank_update, factor, NULL, &part, &outcome);
        expect_in(&outcome, "low-rank update: the core is not finite");
    }
}

// In R, Cmm, Ctm or Ctt of a score.
TEST(residual_covariances)
{
    enum { TARGETS = 6, OPERANDS = 4 };
    double *operands[OPERANDS];
    const bb_index rows[OPERANDS] = {TARGETS, N, TARGETS, TARGETS};
    const bb_index columns[OPERANDS] = {N, N, N, TARGETS};
    autofree double *cee = dense_new(TARGETS * TARGETS);
    for (int k = 0; k < OPERANDS; ++k) {
        operands[k] = dense_new(rows[k] * columns[k]);
        dense_random(rows[k] * columns[k], (uint64_t)k, operands[k]);
    }
    dense_covariance(N, 8.0, 0.1, operands[1]);
    dense_covariance(TARGETS, 2.0, 0.1, operands[3]);
    for (int k = 0; k < OPERANDS; ++k) {
        for (int p = 0; p < PLANTS; ++p) {
            bb_index index = 4 * columns[k] + 2;
            double kept = operands[k][index];
            operands[k][index] = plants[p];
            bb_view views[OPERANDS];
            bb_matrix_source sources[OPERANDS];
            for (int i = 0; i < OPERANDS; ++i) {
                views[i] = bb_view_matrix(operands[i], rows[i], columns[i]);
                sources[i] = bb_matrix_source_dense(&views[i], "", "1");
            }
            sources[1].symmetric = sources[3].symmetric = true;
            const bb_residual_task task = {
                .r = operands[0], .ctm = &sources[2], .ctt = &sources[3], .cee = cee};
            check_ok(bb_residual_covariance(&sources[1], 1, &task));
            assert_true(bb_outcome_first_non_finite(cee, TARGETS * TARGETS) >= 0);
            operands[k][index] = kept;
        }
    }
    for (int k = 0; k < OPERANDS; ++k) {
        BB_RELEASE(&operands[k]);
    }
}

// A non-finite heat input remains at its place and spreads; it never decays.
TEST(steps_in_time)
{
    enum { POINTS = 9 };
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) matrix = {0};
    double b[POINTS];
    for (bb_index i = 0; i < POINTS; ++i) {
        b[i] = 1.0;
        check_ok(bb_triplets_add(&list, i, i, 0.5));
        if (i > 0) {
            check_ok(bb_triplets_add(&list, i, i - 1, 0.25));
        }
    }
    check_ok(bb_csr_assemble(POINTS, POINTS, &list, &matrix));
    for (int p = 0; p < PLANTS; ++p) {
        const int32_t where = 3;
        autoptr(bb_stepper) stepper = new_object(bb_stepper, &matrix, b);
        check_ok(bb_stepper_step(stepper, 1, &where, &plants[p]));
        for (bb_index step = 0; step < 4; ++step) {
            assert_int_equal(bb_outcome_first_non_finite(bb_stepper_state(stepper), POINTS), 3);
            assert_false(isfinite(bb_stepper_state(stepper)[3 + step]));
            check_ok(bb_stepper_step(stepper, 0, NULL, NULL));
        }
    }
}

// Products with every plain format and codec, with a block of zeros for which a codec stores
// nothing.
enum { ROWS = 8, COLUMNS = 160, MESH = 16, ZEROS = 64 };

static const bb_matrix_layout layout = {
    .rows = ROWS, .columns = COLUMNS, .mesh_columns = MESH, .row_columns = 4, .range = 4.0};
static const bb_gemv_arithmetic kinds[] = {{BB_FORMAT_FP64, BB_FORMAT_FP64},
                                           {BB_FORMAT_FP32, BB_FORMAT_FP64},
                                           {BB_FORMAT_FP32, BB_FORMAT_FP32}};

// Parameters of the rows of the codec table, one number each.
static codec_rows coded = {.width = {.brief = true}};

static int list_codecs(void)
{
    codec_rows_list(&coded);
    return 0;
}

static bb_coded_matrix *encode(int k, bb_index row, bb_index column, double value)
{
    static double c[ROWS * COLUMNS];
    const bb_codec_config config = coded.configs[k];
    dense_random((bb_index)ROWS * COLUMNS, 1, c);
    for (bb_index i = 0; i < ROWS; ++i) {
        memset(c + i * COLUMNS + MESH, 0, ZEROS * sizeof *c);
    }
    c[row * COLUMNS + column] = value;
    return coded_matrix(&config, BB_ROW_SCALE_NONE, &layout, c);
}

static void apply(bb_device *device, const bb_coded_matrix *matrix, bb_gemv_arithmetic arithmetic,
                  const double *x, double *y)
{
    double seconds = 0.0;
    autoptr(bb_coded_operator) operation =
        new_object(bb_coded_operator, device, matrix, arithmetic);
    check_ok(bb_coded_operator_apply(operation, 0, ROWS, x, y, &seconds));
}

// In x, also at zeros of the matrix: every row of the product is non-finite.
TEST(inputs_of_products)
{
    static const bb_index places[] = {0, MESH, MESH + ZEROS / 2 + 3, COLUMNS - 1};
    double x[COLUMNS];
    double y[ROWS];
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    for (int k = 0; k < coded.count; ++k) {
        autoptr(bb_coded_matrix) matrix = encode(k, 0, 0, 1.0);
        for (size_t run = 0; run < 3 * PLANTS * sizeof places / sizeof places[0]; ++run) {
            dense_random(COLUMNS, 2, x);
            x[places[run / 9]] = plants[run / 3 % 3];
            apply(device, matrix, kinds[run % 3], x, y);
            for (bb_index i = 0; i < ROWS; ++i) {
                if (isfinite(y[i])) {
                    char codec[64];
                    const bb_codec_config config = coded.configs[k];
                    bb_codec_describe(&config, codec, sizeof codec);
                    print_error("%s: x[%td] = %g gives y[%td] = %g\n", codec, places[run / 9],
                                plants[run / 3 % 3], i, y[i]);
                    fail();
                }
            }
        }
    }
}

// In the matrix: the value is counted, and the row's product is not finite.
TEST(values_of_matrices)
{
    double x[COLUMNS];
    double y[ROWS];
    autoclose(bb_device) device = open_device(BB_DEVICE_CPU);
    dense_random(COLUMNS, 2, x);
    for (int k = 0; k < coded.count; ++k) {
        char codec[64];
        const bb_codec_config config = coded.configs[k];
        bb_codec_describe(&config, codec, sizeof codec);
        for (int p = 0; p < PLANTS; ++p) {
            autoptr(bb_coded_matrix) matrix = encode(k, 5, 40, plants[p]);
            bb_index counted =
                bb_coded_matrix_non_finite(matrix) + bb_coded_matrix_saturated(matrix);
            for (int a = 0; a < 3; ++a) {
                apply(device, matrix, kinds[a], x, y);
                if (isfinite(y[5]) && counted == 0) {
                    print_error("%s: %g in row 5 gives %g, and nothing is counted\n", codec,
                                plants[p], y[5]);
                    fail();
                }
                if (isnan(plants[p])) {
                    assert_false(isfinite(y[5]));
                }
            }
        }
    }
}

TEST_GROUP(.begin = list_codecs);

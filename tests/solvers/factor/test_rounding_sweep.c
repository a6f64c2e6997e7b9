// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "core/thread.h"
#include "solvers/factor/rounding_sweep.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/spd_matrices.h"

#include <lapacke.h>

enum { N = 90, M = 37, TILE = 32 };

// Rounds to whole multiples of a row's step, clipped to a number of multiples.
typedef struct grid {
    double steps[M];
    double limit;
} grid;

static double round_to_grid(const void *context, bb_index row, bb_index column, double value)
{
    const grid *words = context;
    const double word = rint(value / words->steps[row]);
    (void)column;
    return words->steps[row] * fmax(-words->limit, fmin(words->limit, word));
}

static double round_to_nothing(const void *context, bb_index row, bb_index column, double value)
{
    (void)context;
    (void)row;
    (void)column;
    return value;
}

static void make_factor(const double *a, bb_index tile_size, bb_tile_matrix **out)
{
    bb_view view = bb_view_matrix((double *)(uintptr_t)a, N, N);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = tile_size, .arithmetic = BB_VARIANT_DP};
    bb_outcome outcome = {0};
    check_ok(bb_tile_matrix_create(&source, NULL, &plan, out));
    check_ok(bb_tile_cholesky_factor(*out, 1, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
}

static void fill_rows(double *r, grid *words)
{
    for (int i = 0; i < M; ++i) {
        words->steps[i] = 0.05 * (1.0 + i);
        for (int j = 0; j < N; ++j) {
            r[i * N + j] = (1.0 + i) * bb_random_normal(5, (bb_stream)0, (uint64_t)(i * N + j));
        }
    }
    words->limit = INFINITY;
}

// E A E^T of one row of E = Q - R.
static double pay_row(const double *a, const double *q, const double *r, int row)
{
    double sum = 0.0;
    q += row * N;
    r += row * N;
    for (int j = 0; j < N; ++j) {
        for (int k = 0; k < N; ++k) {
            sum += (q[j] - r[j]) * a[j * N + k] * (q[k] - r[k]);
        }
    }
    return sum;
}

// Their sum, tr(E A E^T).
static double pay(const double *a, const double *q, const double *r)
{
    double sum = 0.0;
    for (int i = 0; i < M; ++i) {
        sum += pay_row(a, q, r, i);
    }
    return sum;
}

static void check_told(const double *excess, const double *a, const double *q, const double *r)
{
    for (int i = 0; i < M; ++i) {
        check_relative(excess[i], pay_row(a, q, r, i), 1e-9);
    }
}

static double sum_of(const double *excess)
{
    double sum = 0.0;
    for (int i = 0; i < M; ++i) {
        sum += excess[i];
    }
    return sum;
}

// The reported cost equals the actual one row by row, and is far below that of rounding to nearest.
TEST(excess_is_that_of_the_errors)
{
    grid words;
    autofree double *a = dense_new((bb_index)N * N);
    autofree double *r = dense_new((bb_index)M * N);
    autofree double *q = dense_new((bb_index)M * N);
    autofree double *nearest = dense_new((bb_index)M * N);
    double excess[M];
    autoptr(bb_tile_matrix) factor = NULL;
    dense_covariance(N, 5.0, 1e-3, a);
    make_factor(a, TILE, &factor);
    fill_rows(r, &words);
    memcpy(q, r, sizeof *q * M * N);
    fill_array(nearest, M * N, i, round_to_grid(&words, i / N, i % N, r[i]));
    const bb_rounding_step step = {.round = round_to_grid, .context = &words};
    check_ok(bb_rounding_sweep(factor, &step, M, q, excess));
    check_told(excess, a, q, r);
    check_relative(sum_of(excess), pay(a, q, r), 1e-10);
    for (int i = 0; i < M * N; ++i) {
        const double word = q[i] / words.steps[i / N];
        check_close(word, rint(word), 1e-9, 1.0);
    }
    // Errors are uniform over a step: s^2 / 12 times L_kk^2 with the sweep, A_kk without.
    double squares = 0.0;
    double pivots = 0.0;
    double diagonal = 0.0;
    for (int i = 0; i < M; ++i) {
        squares += words.steps[i] * words.steps[i] / 12.0;
    }
    for (int k = 0; k < N; ++k) {
        const bb_tile *tile = bb_tile_matrix_at(factor, k / TILE, k / TILE);
        const double pivot = tile->f64[(k % TILE) * (tile->columns + 1)];
        pivots += pivot * pivot;
        diagonal += a[k * N + k];
    }
    check_relative(sum_of(excess), squares * pivots, 0.1);
    check_relative(pay(a, nearest, r), squares * diagonal, 0.1);
    assert_true(pivots < 0.1 * diagonal);
}

// A step that represents every value changes none; one that clips leaves the remainder to later
// columns.
TEST(clipped_values_are_made_up_for)
{
    grid words;
    autofree double *a = dense_new((bb_index)N * N);
    autofree double *r = dense_new((bb_index)M * N);
    autofree double *q = dense_new((bb_index)M * N);
    double excess[M];
    autoptr(bb_tile_matrix) factor = NULL;
    spd_spectrum(N, 1e3, 4, a);
    make_factor(a, TILE, &factor);
    fill_rows(r, &words);
    memcpy(q, r, sizeof *q * M * N);
    const bb_rounding_step exact = {.round = round_to_nothing};
    check_ok(bb_rounding_sweep(factor, &exact, M, q, excess));
    assert_memory_equal(q, r, sizeof *q * M * N);
    for (int i = 0; i < M; ++i) {
        assert_true(excess[i] == 0.0);
    }
    words.limit = 40.0; // of deviations of 20 steps
    const bb_rounding_step clipping = {.round = round_to_grid, .context = &words};
    check_ok(bb_rounding_sweep(factor, &clipping, M, q, excess));
    check_told(excess, a, q, r);
}

// GPTQ feedback, from the last column on: with M = L^-1, A^-1 = M^T M, the error of column k is
// added to columns j < k with weight M_kj / M_kk.
TEST(codes_are_those_of_feedback_by_the_inverse)
{
    grid words;
    autofree double *a = dense_new((bb_index)N * N);
    autofree double *inverse = dense_new((bb_index)N * N);
    autofree double *r = dense_new((bb_index)M * N);
    autofree double *q = dense_new((bb_index)M * N);
    autoptr(bb_tile_matrix) factor = NULL;
    spd_spectrum(N, 1e5, 9, a);
    make_factor(a, 16, &factor);
    fill_rows(r, &words);
    words.limit = 127.0;
    memcpy(q, r, sizeof *q * M * N);
    const bb_rounding_step step = {.round = round_to_grid, .context = &words};
    check_ok(bb_rounding_sweep(factor, &step, M, q, NULL));
    memcpy(inverse, a, sizeof *inverse * N * N);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', N, inverse, N), 0);
    assert_int_equal(LAPACKE_dtrtri(LAPACK_ROW_MAJOR, 'L', 'N', N, inverse, N), 0);
    for (int i = 0; i < M; ++i) {
        double row[N];
        memcpy(row, r + i * N, sizeof row);
        for (int k = N - 1; k >= 0; --k) {
            const double stored = round_to_grid(&words, i, k, row[k]);
            const double error = (stored - row[k]) / inverse[k * N + k];
            for (int j = 0; j < k; ++j) {
                row[j] += error * inverse[k * N + j];
            }
            check_close(q[i * N + k], stored, 1e-12, words.steps[i]);
        }
    }
}

// Tiles only block one loop, and threads take rows: the same words.
TEST(words_do_not_depend_on_tiles_or_threads)
{
    static const bb_index sizes[] = {8, 32, 90, 128};
    grid words;
    autofree double *a = dense_new((bb_index)N * N);
    autofree double *r = dense_new((bb_index)M * N);
    autofree double *first = dense_new((bb_index)M * N);
    autofree double *q = dense_new((bb_index)M * N);
    spd_spectrum(N, 1e5, 3, a);
    fill_rows(r, &words);
    const bb_rounding_step step = {.round = round_to_grid, .context = &words};
    for (int i = 0; i < 4; ++i) {
        autoptr(bb_tile_matrix) factor = NULL;
        check_ok(bb_threads_set(i % 3 + 1));
        make_factor(a, sizes[i], &factor);
        memcpy(q, r, sizeof *q * M * N);
        check_ok(bb_rounding_sweep(factor, &step, M, q, NULL));
        for (int k = 0; i > 0 && k < M * N; ++k) {
            check_close(q[k], first[k], 1e-12, words.steps[k / N]);
        }
        memcpy(first, i == 0 ? q : first, sizeof *q * M * N);
    }
}

// Values that a block received, and whether it is rounded from its last column on.
typedef struct blocks {
    const grid *words;
    double told[M][N];  // by the last call for a column
    double asked[M][N]; // by round
    int calls;
} blocks;

static double round_in_block(const void *context, bb_index row, bb_index column, double value)
{
    blocks *seen = (blocks *)(uintptr_t)context;
    seen->asked[row][column] = value;
    return round_to_grid(seen->words, row, column, value);
}

static void tell_of_block(const void *context, bb_index row, bb_index column, bb_index count,
                          const double *values)
{
    blocks *seen = (blocks *)(uintptr_t)context;
    assert_true(column % 24 == 0 && (count == 24 || column + count == N));
    memcpy(seen->told[row] + column, values, (size_t)count * sizeof *values);
    ++seen->calls;
}

// Each block is passed once per row, before its last column. That column is final, and the others
// differ only by the feedback of the block's own columns, for any tile size.
TEST(blocks_are_told_of_what_they_want)
{
    static const bb_index sizes[] = {128, 32, 10};
    static blocks first, seen;
    grid words;
    autofree double *a = dense_new((bb_index)N * N);
    autofree double *r = dense_new((bb_index)M * N);
    autofree double *q = dense_new((bb_index)M * N);
    dense_covariance(N, 5.0, 1e-3, a);
    fill_rows(r, &words);
    for (int i = 0; i < 3; ++i) {
        autoptr(bb_tile_matrix) factor = NULL;
        memset(&seen, 0, sizeof seen);
        seen.words = &words;
        const bb_rounding_step step = {
            .round = round_in_block, .context = &seen, .block = 24, .enter = tell_of_block};
        make_factor(a, sizes[i], &factor);
        memcpy(q, r, sizeof *q * M * N);
        check_ok(bb_rounding_sweep(factor, &step, M, q, NULL));
        assert_int_equal(seen.calls, M * 4);
        for (int k = 0; k < M * N; ++k) {
            const int column = k % N;
            const double told = seen.told[k / N][column];
            if (column % 24 == 23 || column == N - 1) {
                check_close(told, seen.asked[k / N][column], 1e-12, words.steps[k / N]);
            }
            check_close(told, i == 0 ? told : first.told[k / N][column], 1e-10, words.steps[k / N]);
        }
        memcpy(&first, i == 0 ? &seen : &first, sizeof first);
    }
}

static double round_to_whole(const void *context, bb_index row, bb_index column, double value)
{
    const double step = *(const double *)context;
    (void)row;
    (void)column;
    return step * rint(value / step);
}

// Columns scaled by the rest of their deviations: M N s^2 / 12; a common scale of all columns acts
// as a scale of the step.
TEST(columns_are_rounded_under_their_scales)
{
    static double scales[N];
    const double width = 0.01;
    autofree double *a = dense_new((bb_index)N * N);
    autofree double *r = dense_new((bb_index)M * N);
    autofree double *q = dense_new((bb_index)M * N);
    autofree double *even = dense_new((bb_index)M * N);
    grid words;
    double excess[M];
    autoptr(bb_tile_matrix) factor = NULL;
    dense_covariance(N, 5.0, 1e-3, a);
    make_factor(a, TILE, &factor);
    fill_rows(r, &words);
    for (int k = 0; k < N; ++k) {
        const bb_tile *tile = bb_tile_matrix_at(factor, k / TILE, k / TILE);
        scales[k] = tile->f64[(k % TILE) * (tile->columns + 1)];
    }
    fill_array(q, M * N, k, r[k] * scales[k % N]);
    const bb_rounding_step step = {.round = round_to_whole, .context = &width, .scales = scales};
    check_ok(bb_rounding_sweep(factor, &step, M, q, excess));
    check_relative(sum_of(excess), M * N * width * width / 12.0, 0.03);
    for (int k = 0; k < M * N; ++k) {
        check_close(q[k] / width, rint(q[k] / width), 1e-9, 1.0);
        q[k] /= scales[k % N];
    }
    check_told(excess, a, q, r);
    fill_array(scales, N, k, 4.0);
    for (int k = 0; k < M * N; ++k) {
        q[k] = 4.0 * r[k];
        even[k] = r[k];
    }
    const double quarter = width / 4.0;
    const bb_rounding_step finer = {.round = round_to_whole, .context = &quarter};
    check_ok(bb_rounding_sweep(factor, &step, M, q, NULL));
    check_ok(bb_rounding_sweep(factor, &finer, M, even, NULL));
    for (int k = 0; k < M * N; ++k) {
        assert_true(q[k] == 4.0 * even[k]);
    }
}

TEST(a_factor_in_fp32_is_refused)
{
    autofree double *a = dense_new((bb_index)N * N);
    double r[N] = {0.0};
    spd_spectrum(N, 10.0, 3, a);
    bb_view view = bb_view_matrix(a, N, N);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = 32, .arithmetic = BB_VARIANT_SP};
    autoptr(bb_tile_matrix) factor = new_object(bb_tile_matrix, &source, NULL, &plan);
    const bb_rounding_step step = {.round = round_to_nothing};
    check_fails(bb_rounding_sweep(factor, &step, 1, r, NULL), BB_INVALID, "is not fp64");
    bb_tile_matrix_destroy(&factor);
    bb_tile_plan stored = {.tile_size = 32, .arithmetic = BB_VARIANT_DP, .memory_limit = 1};
    stored.memory_limit = bb_tile_plan_least_memory(&stored, N);
    check_ok(bb_tile_matrix_create(&source, NULL, &stored, &factor));
    check_fails(bb_rounding_sweep(factor, &step, 1, r, NULL), BB_UNSUPPORTED,
                "some tiles of the factor are not in memory");
    bb_tile_matrix_destroy(&factor);
    make_factor(a, 32, &factor);
    const bb_rounding_step wide = {.round = round_to_nothing, .block = 65, .enter = tell_of_block};
    check_fails(bb_rounding_sweep(factor, &wide, 1, r, NULL), BB_INVALID,
                "blocks of 65 columns, expected at most 64");
}

// SPDX-License-Identifier: Apache-2.0
//
// Rounding in a norm, compared with the column-by-column formula computed plainly.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "tests/check.h"

enum { M = 5, N = 150 };

static double *make_rows(void)
{
    double *r = new_array(double, M *N);
    fill_array(r, M * N, i, (1.0 + (double)(i / N)) * sin(0.9 * (double)i));
    return r;
}

// Neighbours are correlated: errors of one column can compensate those of others.
static double *make_covariance(void)
{
    double *a = new_array(double, N *N);
    fill_array(a, N * N, i,
               exp(-fabs((double)(i / N - i % N)) / 20.0) + (i / N == i % N ? 0.01 : 0.0));
    return a;
}

// tr(E A E^T) by plain sums.
static double sum_loss(const double *q, const double *r, const double *a)
{
    double loss = 0.0;
    for (bb_index i = 0; i < M; ++i) {
        for (bb_index j = 0; j < N; ++j) {
            for (bb_index k = 0; k < N; ++k) {
                loss +=
                    (q[i * N + j] - r[i * N + j]) * a[j * N + k] * (q[i * N + k] - r[i * N + k]);
            }
        }
    }
    return loss;
}

// Lower factor of A by the textbook's loops.
static void factor(const double *a, double *lower)
{
    memset(lower, 0, N * N * sizeof *lower);
    for (bb_index j = 0; j < N; ++j) {
        for (bb_index i = j; i < N; ++i) {
            double sum = a[i * N + j];
            for (bb_index k = 0; k < j; ++k) {
                sum -= lower[i * N + k] * lower[j * N + k];
            }
            lower[i * N + j] = i == j ? sqrt(sum) : sum / lower[j * N + j];
        }
    }
}

// Columns from the last to the first.
static void sweep_plainly(const double *a, const double *r, double *q)
{
    autofree double *lower = new_array(double, N *N);
    factor(a, lower);
    for (bb_index i = 0; i < M; ++i) {
        for (bb_index k = N - 1; k >= 0; --k) {
            double t = r[i * N + k];
            for (bb_index j = k + 1; j < N; ++j) {
                t -= (q[i * N + j] - r[i * N + j]) * lower[j * N + k] / lower[k * N + k];
            }
            double value[1] = {t};
            check_ok(bb_storage_quantise("bf16", 1, 1, value, &q[i * N + k], NULL));
        }
    }
}

TEST(the_sweep_follows_its_formula)
{
    autofree double *r = make_rows();
    autofree double *a = make_covariance();
    autofree double *expected = new_array(double, M *N);
    autofree double *got = new_array(double, M *N);
    autoptr(bb_storage) storage = NULL;
    bb_rounding_report report;
    sweep_plainly(a, r, expected);
    check_ok(bb_storage_round("bf16", M, N, r, a, NULL, &report, &storage));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_OK);
    check_ok(bb_storage_decode(storage, 0, M, got));
    check_all_close(got, expected, M * N, 0.0, 1.0);
    check_relative(report.loss, sum_loss(expected, r, a), 1e-9);
}

TEST(losses_are_less_than_nearest)
{
    static const char *const texts[] = {
        "integer bits=5", "integer bits=4 clip=best", "mx element=e4m3",         "e4m3 scale=row",
        "bfp bits=6",     "fp16 rounding=sweep",      "quantiser tolerance=0.01"};
    autofree double *r = make_rows();
    autofree double *a = make_covariance();
    autofree double *q = new_array(double, M *N);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t) {
        autoptr(bb_storage) storage = NULL;
        bb_rounding_report report;
        check_ok(bb_storage_round(texts[t], M, N, r, a, "cpu", &report, &storage));
        check_ok(bb_storage_decode(storage, 0, M, q));
        check_relative(report.loss, sum_loss(q, r, a), 1e-9);
        assert_true(report.loss < 0.3 * report.loss_nearest);
        assert_true(report.seconds >= 0.0);
        check_ok(bb_storage_quantise(texts[t], M, N, r, q, NULL));
        check_relative(report.loss_nearest, sum_loss(q, r, a), 1e-9);
    }
}

TEST(the_identity_rounds_to_nearest)
{
    autofree double *r = make_rows();
    autofree double *expected = new_array(double, M *N);
    autofree double *got = new_array(double, M *N);
    autoptr(bb_storage) storage = NULL;
    bb_rounding_report report;
    double squares = 0.0;
    check_ok(bb_storage_quantise("e4m3", M, N, r, expected, NULL));
    check_ok(bb_storage_round("e4m3", M, N, r, NULL, NULL, &report, &storage));
    check_ok(bb_storage_decode(storage, 0, M, got));
    assert_memory_equal(got, expected, M * N * sizeof *got);
    for (bb_index i = 0; i < M * N; ++i) {
        squares += (got[i] - r[i]) * (got[i] - r[i]);
    }
    check_relative(report.loss, squares, 1e-13);
    assert_true(report.loss == report.loss_nearest);
}

TEST(failures_are_outcomes)
{
    autofree double *r = make_rows();
    autofree double *a = make_covariance();
    bb_storage *storage = NULL;
    bb_rounding_report report;
    a[3 * N + 3] = -1.0;
    check_ok(bb_storage_round("fp16", M, N, r, a, NULL, &report, &storage));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_non_null(strstr(report.outcome.detail, "row 3"));
    assert_null(storage);
    assert_true(isnan(report.loss) && isnan(report.loss_nearest));
    a[2 * N + 7] = NAN; // above the diagonal
    check_ok(bb_storage_round("fp16", M, N, r, a, NULL, &report, &storage));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_NON_FINITE);
    assert_non_null(strstr(report.outcome.detail, "row 2, column 7"));
    r[N + 2] = NAN;
    check_ok(bb_storage_round("fp16", M, N, r, NULL, NULL, &report, &storage));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_NON_FINITE);
    assert_non_null(strstr(report.outcome.detail, "row 1, column 2"));
    assert_null(storage);
}

// 1e6 is infinite in fp16 if it is rounded to nearest.
TEST(an_overflow_is_an_infinite_loss)
{
    autofree double *r = make_rows();
    autofree double *a = make_covariance();
    autoptr(bb_storage) storage = NULL;
    bb_rounding_report report;
    r[7] = 1e6;
    r[9] = -1e6;
    check_ok(bb_storage_round("fp16", M, N, r, a, NULL, &report, &storage));
    assert_true(isinf(report.loss_nearest) && report.loss_nearest > 0.0);
}

TEST(an_asymmetric_norm_is_refused)
{
    autofree double *r = make_rows();
    autofree double *a = make_covariance();
    bb_storage *storage = NULL;
    bb_rounding_report report;
    a[2 * N + 7] += 1e-6;
    a[140 * N + 33] += 0.5;
    check_fails(bb_storage_round("fp16", M, N, r, a, NULL, &report, &storage), BB_INVALID,
                "covariance is not symmetric: [140][33] = 0.504");
    assert_null(storage);
}

TEST(codecs_that_cannot_are_refused)
{
    const double r[4] = {0};
    bb_storage *storage = NULL;
    bb_rounding_report report;
    check_fails(bb_storage_round("zfp mode=rate bits=8 mesh_columns=4", 1, 4, r, NULL, NULL,
                                 &report, &storage),
                BB_UNSUPPORTED, "does not round columns");
    check_fails(bb_storage_round("fp16 rounding=diffused", 1, 4, r, NULL, NULL, &report, &storage),
                BB_UNSUPPORTED, "does not round columns");
    check_fails(bb_storage_round("fp16", 1, 4, r, NULL, "opencl", &report, &storage),
                BB_UNSUPPORTED, "does not run there");
    assert_null(storage);
}

// SPDX-License-Identifier: Apache-2.0
//
// Factorizations of the library, compared with LAPACK in fp64.
#include "core/outcome.h"
#include "lib/bitbudget.h"
#include "tests/check.h"
#include "tests/solvers/spd_matrices.h"

#include <lapacke.h>

enum { N = 150, SIDES = 3 };

static double *make_matrix(double condition)
{
    double *a = new_array(double, N *N);
    spd_spectrum(N, condition, 3, a);
    return a;
}

static double *make_sides(void)
{
    double *b = new_array(double, SIDES *N);
    fill_array(b, SIDES * N, i, cos(0.3 * (double)i) + 0.1);
    return b;
}

// X A^-1 by LAPACK; returns the largest magnitude.
static double solve_plainly(const double *a, double *x)
{
    autofree double *factor = new_array(double, N *N);
    double largest = 0.0;
    memcpy(factor, a, N * N * sizeof *factor);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', N, factor, N), 0);
    for (bb_index i = 0; i < SIDES; ++i) {
        assert_int_equal(LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', N, 1, factor, N, x + i * N, 1), 0);
    }
    for (bb_index i = 0; i < SIDES * N; ++i) {
        largest = fmax(largest, fabs(x[i]));
    }
    return largest;
}

static void check_solve(const char *options, double tolerance, double backward)
{
    autofree double *a = make_matrix(100.0);
    autofree double *expected = make_sides();
    autofree double *x = make_sides();
    autoptr(bb_factorization) factorization = NULL;
    bb_solve_report report;
    const double scale = solve_plainly(a, expected);
    check_ok(bb_factorization_create(N, a, options, &factorization));
    check_ok(bb_factorization_solve(factorization, SIDES, x, 1, &report));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_OK);
    check_all_close(x, expected, SIDES * N, tolerance, scale);
    assert_true(report.backward_error >= 0.0 && report.backward_error < backward);
    assert_true(report.seconds >= 0.0);
}

// Tolerances: about u times the condition of 100, and a margin.
TEST(solutions_are_those_of_lapack)
{
    check_solve(NULL, 1e-13, 1e-15);
    check_solve("dp tile=32 scale=none", 1e-13, 1e-15);
    check_solve("sp", 1e-4, 1e-6);
    check_solve("hp1 tile=32", 1e-1, 1e-3);
    check_solve("hp2 tile=32 refine=ir refine.tolerance=1e-13", 1e-11, 1e-14);
    check_solve("fp8 tile=32 refine=gmres refine.tolerance=1e-13 refine.iterations=100", 1e-11,
                1e-14);
    check_solve("arithmetic=hp1 policy=band policy.width=2 tile=32", 1e-1, 1e-3);
    check_solve("hp1 policy=three_zones policy.widths=1,3 policy.zones=sp,hp1,hp1 tile=32", 1e-1,
                1e-3);
}

// D A D = L L^T, and the backward error of a wrong solution is large.
TEST(the_factor_reproduces_the_matrix)
{
    autofree double *a = make_matrix(100.0);
    autofree double *lower = new_array(double, N *N);
    double scale[N];
    for (int scaled = 0; scaled < 2; ++scaled) {
        autoptr(bb_factorization) factorization = NULL;
        check_ok(bb_factorization_create(N, a, scaled ? "dp tile=64" : "dp tile=64 scale=none",
                                         &factorization));
        check_ok(bb_factorization_lower(factorization, lower, scale));
        for (bb_index i = 0; i < N; ++i) {
            assert_true(scaled ? scale[i] * scale[i] * a[i * N + i] < 1.0 + 1e-15
                               : scale[i] == 1.0);
            for (bb_index j = 0; j <= i; ++j) {
                double sum = 0.0;
                for (bb_index k = 0; k < N; ++k) {
                    sum += lower[i * N + k] * lower[j * N + k];
                }
                check_close(sum, scale[i] * a[i * N + j] * scale[j], 1e-14, 1.0);
            }
            assert_true(i == N - 1 || lower[i * N + i + 1] == 0.0);
        }
    }
}

// ||A - L L^T||_F <= certificate ||A||_F up to the rounding of fp32, and the bound is not vacuous.
TEST(the_certificate_bounds_the_factor)
{
    autofree double *a = make_matrix(100.0);
    autofree double *lower = new_array(double, N *N);
    double scale[N];
    double error = 0.0, norm = 0.0;
    autoptr(bb_factorization) factorization = NULL;
    bb_factorization_report report;
    check_ok(bb_factorization_create(
        N, a, "hp1 tile=32 policy=tile_norm policy.tolerance=1e-3 policy.diagonal=follow",
        &factorization));
    check_ok(bb_factorization_describe(factorization, &report));
    check_ok(bb_factorization_lower(factorization, lower, scale));
    for (bb_index i = 0; i < N; ++i) {
        for (bb_index j = 0; j < N; ++j) {
            double sum = 0.0;
            for (bb_index k = 0; k < N; ++k) {
                sum += lower[i * N + k] * lower[j * N + k];
            }
            const double scaled = scale[i] * a[i * N + j] * scale[j];
            error += (sum - scaled) * (sum - scaled);
            norm += scaled * scaled;
        }
    }
    assert_true(report.certificate < 0.1 && report.tolerance == 1e-3);
    assert_true(sqrt(error / norm) < report.certificate + 1e-6);
    assert_true(report.relative_cost > 0.0 && report.relative_cost < 1.0);
    assert_int_equal(report.tile, 32);
    assert_int_equal(report.n, N);
}

// The policy's tolerance is 0.5 floor / ||D A D||_F with the floor of D A D, which no unit changes.
TEST(the_noise_floor_is_scaled_with_the_matrix)
{
    autofree double *a = make_matrix(100.0);
    double tolerances[2];
    for (int scaled = 0; scaled < 2; ++scaled) {
        autoptr(bb_factorization) factorization = NULL;
        bb_factorization_report report;
        fill_array(a, N * N, i, (scaled ? 16.0 : 1.0) * a[i]);
        check_ok(bb_factorization_create(
            N, a,
            scaled ? "hp1 tile=32 policy=tile_norm dither=0 noise_floor=0.16"
                   : "hp1 tile=32 policy=tile_norm dither=0 noise_floor=0.01",
            &factorization));
        check_ok(bb_factorization_describe(factorization, &report));
        tolerances[scaled] = report.tolerance;
    }
    assert_true(tolerances[0] > 1e-4 && tolerances[0] < 1e-2);
    check_relative(tolerances[1], tolerances[0], 1e-12);
}

TEST(digests_tell_factors_apart)
{
    autofree double *a = make_matrix(100.0);
    char digests[4][24];
    static const char *const options[] = {"hp2 tile=32", "hp2 tile=32", "hp2 tile=32 seed=2",
                                          "hp1 tile=32"};
    for (int i = 0; i < 4; ++i) {
        autoptr(bb_factorization) factorization = NULL;
        bb_factorization_report report;
        check_ok(bb_set_threads(1 + i % 2));
        check_ok(bb_factorization_create(N, a, options[i], &factorization));
        check_ok(bb_factorization_describe(factorization, &report));
        assert_int_equal(strlen(report.digest), 16);
        memcpy(digests[i], report.digest, sizeof digests[i]);
        assert_true(isnan(report.certificate) == (i < 3)); // hp2 rounds its products
    }
    check_ok(bb_set_threads(0));
    assert_string_equal(digests[0], digests[1]);
    assert_string_not_equal(digests[0], digests[2]);
    assert_string_not_equal(digests[0], digests[3]);
}

// Automatic tiles are so small that products between tiles use the arithmetic.
TEST(small_matrices_are_narrowed)
{
    static const char *const options[] = {"dp", "sp", "bf16", "fp8"};
    enum { COUNT = sizeof options / sizeof *options };
    autofree double *a = make_matrix(100.0);
    for (bb_index n = 40; n <= N; n += 55) { // leading submatrices
        autofree double *part = new_array(double, n *n);
        bb_factorization_report reports[COUNT];
        fill_array(part, n * n, i, a[i / n * N + i % n]);
        for (int i = 0; i < COUNT; ++i) {
            autoptr(bb_factorization) factorization = NULL;
            check_ok(bb_factorization_create(n, part, options[i], &factorization));
            check_ok(bb_factorization_describe(factorization, &reports[i]));
            assert_int_equal(reports[i].outcome.kind, BB_OUTCOME_OK);
            assert_int_equal(reports[i].tile, n < 128 ? 8 : 16);
            assert_true(i < 2 ? reports[i].certificate == 0.0
                              : reports[i].certificate > reports[i - 1].certificate);
            for (int j = 0; j < i; ++j) {
                assert_string_not_equal(reports[i].digest, reports[j].digest);
            }
        }
    }
}

TEST(failures_are_outcomes)
{
    autofree double *a = make_matrix(100.0);
    autofree double *x = make_sides();
    autoptr(bb_factorization) factorization = NULL;
    bb_factorization_report report;
    bb_solve_report solved;
    a[70 * N + 70] = -1.0;
    for (int scaled = 0; scaled < 2; ++scaled) {
        check_ok(bb_factorization_create(N, a, scaled ? "" : "scale=none", &factorization));
        check_ok(bb_factorization_describe(factorization, &report));
        assert_int_equal(report.outcome.kind, BB_OUTCOME_NOT_SPD);
        assert_non_null(strstr(report.outcome.detail, "70"));
        assert_string_equal(report.digest, "");
        check_fails(bb_factorization_solve(factorization, 1, x, 0, NULL), BB_INVALID,
                    "there is no factor, not_spd");
        bb_factorization_destroy(&factorization);
    }
    check_ok(bb_factor_and_solve(N, a, NULL, NULL, 1, x, 0, &report, &solved));
    assert_int_equal(solved.outcome.kind, BB_OUTCOME_NOT_SPD);
    a[70 * N + 70] = INFINITY;
    check_ok(bb_factor_and_solve(N, a, NULL, NULL, 1, x, 0, &report, NULL));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_NON_FINITE);
}

TEST(refinement_that_stops_and_bad_sides_are_outcomes)
{
    autofree double *a = make_matrix(1e6);
    autofree double *x = make_sides();
    bb_factorization_report factored;
    bb_solve_report report;
    check_ok(bb_factor_and_solve(N, a,
                                 "sp tile=32 refine=ir refine.tolerance=1e-14 "
                                 "refine.iterations=1",
                                 "cpu", SIDES, x, 1, &factored, &report));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_NOT_CONVERGED);
    assert_int_equal(report.iterations_most, 1);
    assert_true(report.worst_residual > 1e-14 && isnan(report.backward_error));
    assert_int_equal(strlen(factored.digest), 16);
    x[N + 4] = NAN;
    check_ok(bb_factor_and_solve(N, a, NULL, NULL, SIDES, x, 0, NULL, &report));
    assert_int_equal(report.outcome.kind, BB_OUTCOME_NON_FINITE);
    assert_non_null(strstr(report.outcome.detail, "right-hand side 1, column 4"));
}

TEST(bad_options_name_the_key)
{
    static const struct {
        const char *text, *message;
        bb_status code;
    } bad[] = {
        {"hp9", "did you mean hp1?", BB_INVALID},
        {"hp1 policy=band policy.tolerance=1e-3", "policy.tolerance has no effect", BB_INVALID},
        {"hp1 refine.iterations=3", "refine.iterations has no effect", BB_INVALID},
        {"hp1 scale=none dither=0.1", "dither has no effect", BB_INVALID},
        {"hp1 noise_floor=1", "noise_floor has no effect", BB_INVALID},
        {"hp1 policy=three_zones", "0 widths and 0 zones", BB_INVALID},
        {"hp1 policy=three_zones policy.widths=1,,2", "an item of the list is empty", BB_INVALID},
        {"hp1 policy=table", "reads no files", BB_UNSUPPORTED},
        {"hp2 policy=product policy.tolerance=1e-3", "hp2 with inside sp is not supported",
         BB_INVALID},
        {"hp1 policy=tile_norm", "tolerance is required", BB_INVALID},
        {"tile=4", "tile = 4: expected >= 8", BB_INVALID},
        {"polcy=band", "did you mean policy?", BB_INVALID},
    };
    autofree double *a = make_matrix(10.0);
    bb_factorization *factorization = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        check_fails(bb_factorization_create(N, a, bad[i].text, &factorization), bad[i].code,
                    bad[i].message);
        assert_null(factorization);
    }
    a[5] += 1e-3;
    check_fails(bb_factorization_create(N, a, NULL, &factorization), BB_INVALID,
                "matrix is not symmetric: [5][0]");
    check_fails(bb_factorization_create(0, a, NULL, &factorization), BB_INVALID, "0 rows");
    check_fails(bb_factor_and_solve(N, a, NULL, "opencl", 1, a, 0, NULL, NULL), BB_UNSUPPORTED,
                "does not run there");
}

// SPDX-License-Identifier: Apache-2.0
//
// Rounds a reconstructor to few bits so that the error of the estimate is small, tr(E A E^T) with
// the covariance A of the measurements, and multiplies with the result.
#include <bitbudget.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 64, N = 300 };

// Covariance of measurements along a line, with noise.
static double covariance(int i, int j)
{
    return exp(-abs(i - j) / 25.0) + (i == j ? 0.02 : 0.0);
}

static int check(bb_status status)
{
    if (status != BB_OK) {
        fprintf(stderr, "round_reconstructor: %s\n", bb_status_message());
    }
    return status == BB_OK;
}

static int round_to(const char *storage, const double *r, const double *a, const double *x)
{
    bb_storage *stored = NULL;
    bb_operator *product = NULL;
    bb_rounding_report report;
    bb_storage_report size;
    double y[M], coding[M], rounding[M];
    int ok = check(bb_storage_round(storage, M, N, r, a, "cpu", &report, &stored));
    if (ok && report.outcome.kind != BB_OUTCOME_OK) { // such as a covariance with a zero eigenvalue
        fprintf(stderr, "round_reconstructor: %s\n", report.outcome.detail);
        ok = 0;
    }
    ok = ok && check(bb_storage_describe(stored, &size));
    ok = ok && check(bb_operator_create(stored, "multiply=fp32 accumulate=fp64", "cpu", &product));
    ok = ok && check(bb_operator_apply(product, 1, x, y, NULL));
    ok = ok && check(bb_operator_bound(product, x, coding, rounding));
    if (ok) {
        printf("%-18s %5.2f bits: loss %.3e, to nearest %.3e; y[0] = %+.4f, within %.1e\n", storage,
               size.bits_per_value, report.loss, report.loss_nearest, y[0],
               coding[0] + rounding[0]);
    }
    bb_operator_destroy(&product);
    bb_storage_destroy(&stored);
    return ok;
}

int main(void)
{
    double *a = (double *)malloc(sizeof *a * N * N);
    double *r = (double *)malloc(sizeof *r * M * N);
    double x[N];
    int ok = a != NULL && r != NULL;
    for (int i = 0; i < N * N && ok; ++i) {
        a[i] = covariance(i / N, i % N);
    }
    // Minimum-variance estimator of phases between the measurements: R = C A^-1.
    for (int i = 0; i < M * N && ok; ++i) {
        r[i] = exp(-fabs(i / N * (double)N / M - i % N) / 25.0);
    }
    for (int i = 0; i < N; ++i) {
        x[i] = sin(0.05 * i);
    }
    ok = ok && check(bb_factor_and_solve(N, a, "dp", "cpu", M, r, 0, NULL, NULL));
    static const char *const storages[] = {"fp16", "e4m3 scale=row", "integer bits=5",
                                           "integer bits=4"};
    for (int i = 0; i < 4 && ok; ++i) {
        ok = round_to(storages[i], r, a, x);
    }
    free(a);
    free(r);
    return ok ? 0 : 1;
}

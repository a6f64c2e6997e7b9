// SPDX-License-Identifier: Apache-2.0
//
// Factors a covariance in several arithmetics and policies, solves with the factor, and reports the
// certificate of the factor and the backward error of the solution. A matrix that a narrow format
// makes indefinite is an outcome.
#include <bitbudget.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400, SIDES = 4 };

static const char *const options[] = {
    "dp",
    "sp tile=64",
    "hp1 tile=64",
    "hp1 tile=64 policy=tile_norm policy.tolerance=1e-4",
    "hp2 tile=64 refine=ir refine.tolerance=1e-12",
    "hp3 tile=64",
};

int main(void)
{
    double *a = (double *)malloc(sizeof *a * N * N);
    double *x = (double *)malloc(sizeof *x * SIDES * N);
    int failed = a == NULL || x == NULL;
    for (int i = 0; i < N * N && !failed; ++i) {
        a[i] = exp(-abs(i / N - i % N) / 60.0) + (i / N == i % N ? 1e-3 : 0.0);
    }
    printf("%-54s %-8s %10s %10s %8s\n", "options", "outcome", "bound", "backward", "cost");
    for (size_t k = 0; k < sizeof options / sizeof *options && !failed; ++k) {
        bb_factorization *factor = NULL;
        bb_factorization_report report;
        bb_solve_report solved;
        memset(&solved, 0, sizeof solved);
        solved.backward_error = NAN;
        for (int i = 0; i < SIDES * N; ++i) {
            x[i] = cos(0.01 * i);
        }
        failed = bb_factorization_create(N, a, options[k], &factor) != BB_OK ||
                 bb_factorization_describe(factor, &report) != BB_OK;
        if (!failed && report.outcome.kind == BB_OUTCOME_OK) {
            failed = bb_factorization_solve(factor, SIDES, x, 1, &solved) != BB_OK;
        }
        if (!failed) {
            printf("%-54s %-8s %10.1e %10.1e %8.2f\n", options[k],
                   bb_outcome_name(report.outcome.kind), report.certificate, solved.backward_error,
                   report.relative_cost);
        } else {
            fprintf(stderr, "factor_certified: %s\n", bb_status_message());
        }
        bb_factorization_destroy(&factor);
    }
    free(a);
    free(x);
    return failed;
}

// SPDX-License-Identifier: Apache-2.0
//
// Solves with a factorization, their certificates, and factorization and solve in one call.
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "lib/factorization.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { ROWS = 32 };

// CUDA form, NULL in builds without CUDA.
static bb_status (*const solve_panels)(
    const bb_factor_config *config, const bb_matrix_source *matrix, const double *scale,
    bb_index ordinal, bb_index count, double *x,
    bb_factorization_report *report) = BB_CUDA_TWIN(bb_factor_config_solve_panels);

// Backward errors of ranges of right-hand sides.
typedef struct certifying {
    bb_index n;
    const double *matrix, *b, *x;
    double norm;
    double *errors; // [ranges] the largest
} certifying;

static bb_status certify_rows(void *context, bb_index first, bb_index end)
{
    bb_status status = BB_OK;
    const certifying *work = context;
    const bb_index n = work->n;
    double *residual = NULL; // [end - first][n] B - X A
    double largest = 0.0;
    BB_TRY(BB_ALLOCATE((end - first) * n, &residual));
    memcpy(residual, work->b + first * n, (size_t)((end - first) * n) * sizeof *residual);
    cblas_dsymm(CblasRowMajor, CblasRight, CblasLower, (int)(end - first), (int)n, -1.0,
                work->matrix, (int)n, work->x + first * n, (int)n, 1.0, residual, (int)n);
    for (bb_index i = first; i < end; ++i) {
        const double error = cblas_dnrm2((int)n, residual + (i - first) * n, 1);
        const double size = work->norm * cblas_dnrm2((int)n, work->x + i * n, 1) +
                            cblas_dnrm2((int)n, work->b + i * n, 1);
        const double relative = error == 0.0 ? 0.0 : error / size;
        largest = isnan(relative) || relative > largest ? relative : largest;
    }
    work->errors[first / ROWS] = largest;
done:
    BB_RELEASE(&residual);
    return status;
}

static bb_status certify(const bb_factorization *self, bb_index count, const double *b,
                         const double *x, double *out)
{
    bb_status status = BB_OK;
    const bb_index ranges = (count + ROWS - 1) / ROWS;
    certifying work = {
        .n = self->report.n, .matrix = self->view.data, .b = b, .x = x, .norm = self->norm};
    BB_TRY(BB_ALLOCATE(ranges, &work.errors));
    BB_TRY(bb_thread_ranges(count, ROWS, certify_rows, &work));
    *out = 0.0;
    for (bb_index i = 0; i < ranges; ++i) {
        *out = isnan(work.errors[i]) || work.errors[i] > *out ? work.errors[i] : *out;
    }
done:
    BB_RELEASE(&work.errors);
    return status;
}

// Solves on one device; the seconds of the report are set by the caller.
typedef bb_status (*solver)(void *context, bb_index count, double *x, bb_solve_report *report);

static bb_status solve_tiles(void *context, bb_index count, double *x, bb_solve_report *report)
{
    bb_status status = BB_OK;
    bb_factorization *self = context;
    bb_factor_inverse direct = {self->factor, self->scale};
    bb_refinement refined = {.matrix = &self->matrix,
                             .scale = self->scale,
                             .factor = self->factor,
                             .config = self->config.refine};
    const bool refines = self->config.refine.method != (int)BB_REFINE_NONE;
    const bb_inverse inverse =
        refines ? bb_inverse_of_refinement(&refined) : bb_inverse_of_factor(&direct);
    BB_TRY(bb_reconstructor_make(&inverse, NULL, count, x, &report->outcome));
    if (refines) {
        report->iterations_mean = (double)refined.report.iterations / (double)refined.report.rows;
        report->iterations_most = refined.report.slowest;
        report->worst_residual = refined.report.worst;
    }
done:
    return status;
}

// Checks the right-hand sides, solves with the given function and computes the certificate.
static bb_status solve(bb_factorization *self, solver run, void *context, bb_index count, double *x,
                       int certifies, bb_solve_report *report)
{
    bb_status status = BB_OK;
    double *b = NULL;
    const bb_index n = self->report.n;
    bb_solve_report found = {
        .iterations_mean = NAN, .worst_residual = NAN, .backward_error = NAN, .seconds = NAN};
    BB_REQUIRE(count > 0 && count <= INT32_MAX, BB_INVALID,
               "%td right-hand sides: expected at least 1", count);
    const bb_index bad = bb_outcome_first_non_finite(x, count * n);
    if (bad >= 0) {
        bb_outcome_set(&found.outcome, BB_OUTCOME_NON_FINITE,
                       "right-hand side %td, column %td: %g, expected a finite value", bad / n,
                       bad % n, x[bad]);
        goto report;
    }
    if (certifies) {
        BB_TRY(BB_ALLOCATE(count * n, &b));
        memcpy(b, x, (size_t)(count * n) * sizeof *b);
    }
    const double start = bb_clock_seconds();
    BB_TRY(run(context, count, x, &found));
    found.seconds = bb_clock_seconds() - start;
    if (certifies && found.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(certify(self, count, b, x, &found.backward_error));
    }
report:
    if (report != NULL) {
        *report = found;
    }
done:
    BB_RELEASE(&b);
    return status;
}

bb_status bb_factorization_solve(bb_factorization *factorization, bb_index count, double *x,
                                 int certifies, bb_solve_report *report)
{
    bb_status status = BB_OK;
    BB_REQUIRE_POINTER(factorization);
    BB_REQUIRE_POINTER(x);
    BB_TRY(bb_library_prepare());
    BB_REQUIRE(factorization->factor != NULL, BB_INVALID,
               "bb_factorization_solve: there is no factor, %s: %s",
               bb_outcome_name(factorization->report.outcome.kind),
               factorization->report.outcome.detail);
    BB_TRY(solve(factorization, solve_tiles, factorization, count, x, certifies, report));
done:
    return status;
}

// A solve by panels on a GPU.
typedef struct panel_solve {
    bb_factorization *self;
    bb_index ordinal;
} panel_solve;

static bb_status solve_there(void *context, bb_index count, double *x, bb_solve_report *report)
{
    bb_status status = BB_OK;
    const panel_solve *work = context;
    bb_factorization *self = work->self;
    BB_REQUIRE(solve_panels != NULL, BB_UNSUPPORTED,
               "a factorization on cuda: this build has no CUDA");
    BB_TRY(solve_panels(&self->config, &self->matrix, self->scale, work->ordinal, count, x,
                        &self->report));
    report->outcome = self->report.outcome;
done:
    return status;
}

static bb_status choose_device(const char *text, bb_device_kind *kind, bb_index *ordinal)
{
    static const unsigned offered = 1U << BB_DEVICE_CPU | 1U << BB_DEVICE_CUDA;
    bb_status status = BB_OK;
    bb_device *device = NULL;
    BB_TRY(bb_library_open_device(text, offered, "a factorization", ordinal, &device));
    *kind = bb_device_kind_of(device);
done:
    bb_device_close(&device);
    return status;
}

bb_status bb_factor_and_solve(bb_index n, const double *matrix, const char *options,
                              const char *device, bb_index count, double *x, int certifies,
                              bb_factorization_report *factored, bb_solve_report *solved)
{
    bb_status status = BB_OK;
    bb_factorization *self = NULL;
    bb_device_kind kind = BB_DEVICE_CPU;
    bb_index ordinal = 0;
    BB_REQUIRE_POINTER(x);
    BB_TRY(bb_library_prepare());
    BB_TRY(choose_device(device, &kind, &ordinal));
    BB_TRY(kind == BB_DEVICE_CUDA ? bb_factorization_begin(n, matrix, options, &self)
                                  : bb_factorization_create(n, matrix, options, &self));
    if (self->report.outcome.kind == BB_OUTCOME_OK) {
        panel_solve work = {self, ordinal};
        BB_TRY(kind == BB_DEVICE_CUDA
                   ? solve(self, solve_there, &work, count, x, certifies, solved)
                   : solve(self, solve_tiles, self, count, x, certifies, solved));
    } else if (solved != NULL) {
        *solved = (bb_solve_report){.outcome = self->report.outcome,
                                    .iterations_mean = NAN,
                                    .worst_residual = NAN,
                                    .backward_error = NAN,
                                    .seconds = NAN};
    }
    if (factored != NULL) {
        *factored = self->report;
    }
done:
    bb_factorization_destroy(&self);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Rounding of a matrix in the norm of a covariance, and the loss in it.
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "lib/storage.h"
#include "lib/symmetry.h"
#include "solvers/factor/coded_rounding.h"
#include "solvers/factor/panels/norm_panels.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { ROWS = 32, TILE = 128 };

static const char work_name[] = "rounding in a norm";
static const unsigned offered = 1U << BB_DEVICE_CPU | 1U << BB_DEVICE_CUDA;

// CUDA functions, NULL in builds without CUDA.
static const struct {
    bb_status (*create)(const bb_matrix_source *source, const bb_panel_plan *plan, bb_index ordinal,
                        bb_outcome *outcome, bb_norm_panels **out);
    void (*destroy)(bb_norm_panels **panels);
    bb_status (*sweep)(bb_norm_panels *panels, const bb_rounding_step *step, bb_index m, double *r,
                       double *excess);
} panels = {BB_CUDA_TWIN(bb_norm_panels_create), BB_CUDA_TWIN(bb_norm_panels_destroy),
            BB_CUDA_TWIN(bb_norm_panels_sweep)};

// Losses of ranges of rows.
typedef struct losing {
    const bb_coded_matrix *matrix;
    const double *r, *covariance;
    double *losses; // [ranges]
} losing;

static bb_status sum_losses(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const losing *work = context;
    const bb_index n = bb_coded_matrix_columns(work->matrix);
    const bb_index count = (end - begin) * n;
    double *errors = NULL;   // [end - begin][n] E
    double *products = NULL; // [end - begin][n] E A
    double sum = 0.0;
    BB_TRY(BB_ALLOCATE(count, &errors));
    BB_TRY(BB_ALLOCATE(count, &products));
    for (bb_index i = begin; i < end; ++i) {
        double *row = errors + (i - begin) * n;
        const double inverse = 1.0 / bb_coded_matrix_row_scale(work->matrix, i);
        bb_coded_matrix_decode(work->matrix, i, 0, n, row);
        for (bb_index j = 0; j < n; ++j) {
            row[j] = inverse * row[j] - work->r[i * n + j];
        }
    }
    if (work->covariance != NULL) {
        cblas_dsymm(CblasRowMajor, CblasRight, CblasLower, (int)(end - begin), (int)n, 1.0,
                    work->covariance, (int)n, errors, (int)n, 0.0, products, (int)n);
    } else {
        memcpy(products, errors, (size_t)count * sizeof *products);
    }
    for (bb_index i = 0; i < count; ++i) {
        sum += errors[i] * products[i];
    }
    work->losses[begin / ROWS] = sum;
done:
    BB_RELEASE(&errors);
    BB_RELEASE(&products);
    return status;
}

// tr(E A E^T) for E = stored - r; covariance NULL: the identity. Infinite if a value overflows.
static bb_status find_loss(const bb_coded_matrix *matrix, const double *r, const double *covariance,
                           double *loss)
{
    bb_status status = BB_OK;
    losing work = {.matrix = matrix, .r = r, .covariance = covariance};
    const bb_index rows = bb_coded_matrix_rows(matrix);
    BB_TRY(BB_ALLOCATE((rows + ROWS - 1) / ROWS, &work.losses));
    BB_TRY(bb_thread_ranges(rows, ROWS, sum_losses, &work));
    *loss = 0.0;
    for (bb_index i = 0; i * ROWS < rows; ++i) {
        *loss += work.losses[i];
    }
    *loss = isnan(*loss) ? INFINITY : *loss; // r and A are finite: inf - inf, or a poisoned block
done:
    BB_RELEASE(&work.losses);
    return status;
}

// Factor of a norm on one device.
typedef struct norm {
    bb_device *device;
    bb_index ordinal;
    bb_tile_matrix *tiles;
    bb_norm_panels *panels;
} norm;

static void release(norm *self)
{
    bb_tile_matrix_destroy(&self->tiles);
    if (self->panels != NULL && panels.destroy != NULL) {
        panels.destroy(&self->panels);
    }
    bb_device_close(&self->device);
}

static bb_status sweep(const void *context, const bb_rounding_step *step, bb_index m, double *r,
                       double *excess)
{
    const norm *self = context;
    return self->panels != NULL && panels.sweep != NULL
               ? panels.sweep(self->panels, step, m, r, excess)
               : bb_rounding_sweep(self->tiles, step, m, r, excess);
}

static bb_status factor(const double *covariance, bb_index n, norm *self, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_view view = bb_view_matrix((double *)(uintptr_t)covariance, n, n);
    bb_matrix_source source = bb_matrix_source_dense(&view, "covariance", "1");
    source.symmetric = true;
    if (bb_device_kind_of(self->device) == BB_DEVICE_CUDA) {
        const bb_panel_plan plan = {.n = n, .block = TILE, .arithmetic = BB_VARIANT_DP};
        BB_REQUIRE(panels.create != NULL, BB_UNSUPPORTED, "%s on cuda: this build has no CUDA",
                   work_name);
        BB_TRY(panels.create(&source, &plan, self->ordinal, outcome, &self->panels));
    } else {
        const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_DP};
        BB_TRY(bb_tile_matrix_create(&source, NULL, &plan, &self->tiles));
        BB_TRY(bb_tile_cholesky_factor(self->tiles, 1, outcome));
    }
done:
    return status;
}

// Sweeps a copy of r and encodes it.
static bb_status round_in_norm(const norm *self, const double *r, bb_coded_matrix *matrix,
                               double *loss)
{
    bb_status status = BB_OK;
    const bb_rounding_in_norm rounding = {.sweep = sweep, .context = self};
    const bb_index m = bb_coded_matrix_rows(matrix);
    const bb_index count = m * bb_coded_matrix_columns(matrix);
    double *copy = NULL;
    double *excess = NULL;
    BB_TRY(BB_ALLOCATE(count, &copy));
    BB_TRY(BB_ALLOCATE(m, &excess));
    BB_TRY(bb_thread_copy(copy, r, (size_t)count * sizeof *copy));
    BB_TRY(bb_coded_rounding_run(&rounding, matrix, copy, excess));
    *loss = 0.0;
    for (bb_index i = 0; i < m; ++i) {
        *loss += excess[i];
    }
    *loss = isnan(*loss) ? INFINITY : *loss;
done:
    BB_RELEASE(&copy);
    BB_RELEASE(&excess);
    return status;
}

// Operands of a call.
typedef struct rounding {
    const char *text;
    bb_storage_config config;
    bb_matrix_layout layout;
    const double *r, *covariance;
    const char *device;
} rounding;

static bb_status round_matrix(const rounding *work, bb_rounding_report *report, bb_storage **out)
{
    bb_status status = BB_OK;
    norm self = {0};
    bb_coded_matrix *nearest = NULL;
    bb_coded_matrix *matrix = NULL;
    bb_coding_loss unused = {0};
    const bb_index columns = work->layout.columns;
    const bb_index bad =
        bb_outcome_first_non_finite(work->r, work->layout.rows * work->layout.columns);
    BB_TRY(bb_library_open_device(work->device, offered, work_name, &self.ordinal, &self.device));
    if (bad >= 0) {
        bb_outcome_set(&report->outcome, BB_OUTCOME_NON_FINITE,
                       "row %td, column %td: %g, expected a finite value", bad / columns,
                       bad % columns, work->r[bad]);
        goto done;
    }
    if (work->covariance != NULL) {
        BB_TRY(bb_symmetry_check(work->covariance, columns, "covariance", NULL, &report->outcome));
    }
    if (work->covariance != NULL && report->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(factor(work->covariance, columns, &self, &report->outcome));
    }
    if (report->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(bb_status_prefix(
        bb_storage_config_encode(&work->config, &work->layout, work->r, NULL, &unused, &nearest),
        "storage '%.80s'", work->text));
    BB_TRY(find_loss(nearest, work->r, work->covariance, &report->loss_nearest));
    report->loss = report->loss_nearest;
    if (work->covariance != NULL) {
        BB_TRY(bb_coded_matrix_create(&work->config.codec, (bb_row_scale)work->config.scale,
                                      &work->layout, &matrix));
        BB_TRY(round_in_norm(&self, work->r, matrix, &report->loss));
    }
    BB_TRY(bb_storage_of_matrix(matrix != NULL ? &matrix : &nearest, work->r, out));
done:
    release(&self);
    bb_coded_matrix_destroy(&nearest);
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_storage_round(const char *text, bb_index rows, bb_index columns, const double *r,
                           const double *covariance, const char *device, bb_rounding_report *report,
                           bb_storage **out)
{
    bb_status status = BB_OK;
    rounding work = {.text = text, .r = r, .covariance = covariance, .device = device};
    const double begin = bb_clock_seconds();
    BB_REQUIRE_POINTER(out);
    *out = NULL;
    BB_REQUIRE_POINTER(r);
    BB_REQUIRE_POINTER(report);
    *report = (bb_rounding_report){.loss_nearest = NAN, .loss = NAN, .seconds = NAN};
    BB_TRY(bb_library_prepare());
    BB_TRY(bb_storage_config_read(text, &work.config));
    BB_REQUIRE(bb_codec_rounds_columns(&work.config.codec), BB_UNSUPPORTED,
               "storage '%.80s' does not round columns one by one; use a plain format, bfp, mx, "
               "integer or quantiser with rounding nearest or sweep",
               text);
    BB_TRY(bb_storage_config_layout(&work.config, rows, columns, r, &work.layout));
    BB_TRY(round_matrix(&work, report, out));
    report->seconds = bb_clock_seconds() - begin;
done:
    return status;
}

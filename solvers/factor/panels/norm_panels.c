// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/panels/norm_panels.h"

#include "core/log.h"
#include "core/memory.h"
#include "precision/scaling.h"
#include "solvers/factor/panels/panel_cholesky.h"

#include <math.h>

struct bb_norm_panels {
    bb_index n;
    bb_device *device;
    bb_device_source *matrix;
    bb_panel_cholesky *factor;
    double *pivots; // [n]
};

// Computes the scale to the unit diagonal; an outcome if there is none.
static bb_status make_scale(const bb_matrix_source *source, double *scale, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_index n = source->rows;
    double *diagonal = NULL;
    BB_TRY(BB_ALLOCATE(n, &diagonal));
    BB_TRY(bb_matrix_source_diagonal(source, diagonal));
    for (bb_index i = 0; i < n; ++i) {
        if (!(diagonal[i] > 0.0) || isinf(diagonal[i])) {
            bb_outcome_set(outcome,
                           isfinite(diagonal[i]) ? BB_OUTCOME_NOT_SPD : BB_OUTCOME_NON_FINITE,
                           "%s, diagonal %td: %g, expected a finite positive value", source->name,
                           i, diagonal[i]);
            goto done;
        }
    }
    BB_TRY(bb_scaling_unit_diagonal(diagonal, n, scale));
done:
    BB_RELEASE(&diagonal);
    return status;
}

static bb_status factor_matrix(bb_norm_panels *panels, const bb_panel_plan *plan,
                               const double *scale, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    bb_panel_times times = {0};
    const bb_panel_sources sources = {.matrix = panels->matrix};
    BB_TRY(bb_panel_cholesky_create(1, &panels->device, plan, &panels->factor));
    BB_TRY(bb_panel_cholesky_factor(panels->factor, &sources, scale, outcome, &times));
    bb_log_detail("norm of rounding: factored in %s on the GPU in %.3f s, filled in %.3f s",
                  bb_variant_names[plan->arithmetic], times.factor_s, times.fill_s);
    if (outcome->kind == BB_OUTCOME_OK) {
        BB_TRY(BB_ALLOCATE(panels->n, &panels->pivots));
        BB_TRY(bb_panel_cholesky_pivots(panels->factor, panels->pivots));
    }
done:
    return status;
}

bb_status bb_norm_panels_create(const bb_matrix_source *source, const bb_panel_plan *plan,
                                bb_index ordinal, bb_outcome *outcome, bb_norm_panels **out)
{
    bb_status status = BB_OK;
    bb_norm_panels *panels = NULL;
    double *scale = NULL;
    *out = NULL;
    BB_TRY(BB_ALLOCATE(source->rows, &scale));
    BB_TRY(make_scale(source, scale, outcome));
    if (outcome->kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &panels));
    panels->n = source->rows;
    BB_TRY(bb_device_open(BB_DEVICE_CUDA, ordinal, &panels->device));
    BB_TRY(bb_device_source_create(source, panels->device, &panels->matrix));
    BB_TRY(factor_matrix(panels, plan, scale, outcome));
    bb_device_source_destroy(&panels->matrix);
    if (outcome->kind == BB_OUTCOME_OK) {
        *out = panels;
        panels = NULL;
    }
done:
    bb_norm_panels_destroy(&panels);
    BB_RELEASE(&scale);
    return status;
}

void bb_norm_panels_destroy(bb_norm_panels **panels)
{
    if (*panels == NULL) {
        return;
    }
    bb_panel_cholesky_destroy(&(*panels)->factor);
    bb_device_source_destroy(&(*panels)->matrix);
    bb_device_close(&(*panels)->device);
    BB_RELEASE(&(*panels)->pivots);
    BB_RELEASE(panels);
}

const double *bb_norm_panels_pivots(const bb_norm_panels *panels)
{
    return panels->pivots;
}

bb_status bb_norm_panels_sweep(bb_norm_panels *panels, const bb_rounding_step *step, bb_index m,
                               double *r, double *excess)
{
    return bb_rounding_sweep_panels(panels->device, panels->factor, panels->n, step, m, r, excess);
}

// SPDX-License-Identifier: Apache-2.0
//
// Factor of the norm of a rounding (rounding_sweep.h) by panels on a CUDA device, and sweeps with
// it.
#ifndef BB_SOLVERS_FACTOR_PANELS_NORM_PANELS_H
#define BB_SOLVERS_FACTOR_PANELS_NORM_PANELS_H

#include "core/matrix_source.h"
#include "core/outcome.h"
#include "solvers/factor/panels/panel_plan.h"
#include "solvers/factor/rounding_sweep.h"

typedef struct bb_norm_panels bb_norm_panels;

/// Factors a source scaled to unit diagonal on GPU `ordinal`; a breakdown or a diagonal that cannot
/// be scaled is an outcome. CUDA builds only. Errors: BB_MEMORY, BB_DEVICE, the source's. Owner:
/// the caller; the source must outlive it.
BB_CHECKED bb_status bb_norm_panels_create(const bb_matrix_source *source,
                                           const bb_panel_plan *plan, bb_index ordinal,
                                           bb_outcome *outcome, bb_norm_panels **out);
void bb_norm_panels_destroy(bb_norm_panels **panels);

/// Pivots L_kk of the source's factor, [n].
const double *bb_norm_panels_pivots(const bb_norm_panels *panels);

/// bb_rounding_sweep_panels with the factor. Errors: as there.
BB_CHECKED bb_status bb_norm_panels_sweep(bb_norm_panels *panels, const bb_rounding_step *step,
                                          bb_index m, double *r, double *excess);

#endif
